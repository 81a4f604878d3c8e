"""What a line and a word is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.runtime.cli.census.counting import lines_of, words_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("content", "lines"),
    [(b"", 0), (b"\n", 1), (b"a", 1), (b"a\n", 1), (b"a\nb", 2), (b"\n\n", 2)],
    ids=["nothing", "an empty line", "no newline", "one line", "the last without newline", "two empty lines"],
)
def test_a_last_line_counts_without_its_newline(content: bytes, lines: int) -> None:
    assert lines_of([content]) == lines


@given(st.text(alphabet=st.sampled_from("ab\n")))
def test_lines_are_those_that_python_counts(text: str) -> None:
    assert lines_of([text.encode()]) == len(text.split("\n")) - (not text or text.endswith("\n"))


def test_words_are_runs_of_letters_and_underscores_in_small_letters() -> None:
    assert words_of([b"Self.x_1 = self._y2 + SELF  a"]) == {"self": 3, "x_": 1, "_y": 1}


def test_words_of_several_files_are_added_up() -> None:
    assert words_of([b"the end", b"the", b"\xff\xfe the"]) == {"the": 3, "end": 1}
