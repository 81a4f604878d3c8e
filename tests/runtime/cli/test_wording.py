"""Numbers in words."""

import pytest

from amrita_fleet.runtime.cli.wording import plural, size_shown


@pytest.mark.parametrize(("number", "said"), [(0, "0 files"), (1, "1 file"), (2, "2 files"), (1234, "1,234 files")])
def test_only_one_thing_is_singular(number: int, said: str) -> None:
    assert plural(number, "file") == said


@pytest.mark.parametrize(
    ("size_bytes", "said"),
    [(0, "0 bytes"), (1, "1 byte"), (28, "28 bytes"), (1000, "1.0 kB"), (31_400, "31.4 kB"), (12_345_678, "12.3 MB")],
)
def test_a_small_size_is_not_told_as_nothing(size_bytes: int, said: str) -> None:
    assert size_shown(size_bytes) == said
