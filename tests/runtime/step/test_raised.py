"""An exception in one line."""

import pytest

from amrita_fleet.runtime.step.raised import sentence


class Mute(Exception):
    def __str__(self) -> str:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("no\n  such thing"), "ValueError: no such thing"),
        (KeyError(), "KeyError"),
        (SystemExit(3), "SystemExit: 3"),
        (Mute(), "Mute: (its message cannot be shown)"),
        (ValueError("half \ud800"), "ValueError: half ?"),
        (ValueError("x" * 5000), f"ValueError: {'x' * 2000}"),
    ],
    ids=["lines", "no message", "exit", "mute", "surrogate", "long"],
)
def test_an_exception_is_one_line_whatever_its_class_makes_of_that(error: BaseException, line: str) -> None:
    assert sentence(error) == line
