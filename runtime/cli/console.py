"""The two streams a command writes to. Colours are for terminals, and never when `NO_COLOR` is set.

All that a command prints goes through here, so that nothing in a text that somebody else wrote steers the terminal.
"""

import json
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from .status import NAME
from .visible import harmless, harmless_json

__all__ = ("HarmlessConsole", "complain", "list_problems", "print_json", "say", "stdout")


class HarmlessConsole(Console):
    """A console that takes texts as they are: no markup in them, no names of pictures, and nothing that is obeyed."""

    def __init__(self, *, width: int | None = None) -> None:
        """Write to standard output.

        Args:
            width: Columns; None: those of the terminal.
        """
        super().__init__(width=width, markup=False, emoji=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What Rich makes of something; the control codes in it are Rich's own alone."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(harmless(text), style)


def stdout() -> Console:
    """For what was asked for; the full width where nobody's terminal sets one."""
    console = HarmlessConsole()
    return console if console.is_terminal else HarmlessConsole(width=PIPE_WIDTH)


PIPE_WIDTH = 160
"""Columns of a table that is written to a file or a pipe."""


def say(text: str) -> None:
    """Write a text as it is to standard output, on lines of its own."""
    sys.stdout.write(f"{harmless(text)}\n")
    sys.stdout.flush()


def print_json(value: dict[str, Any]) -> None:
    """Write one JSON object on one line to standard output."""
    sys.stdout.write(f"{harmless_json(json.dumps(value, ensure_ascii=False))}\n")
    sys.stdout.flush()


def complain(sentence: str, see: str = "") -> None:
    """Say on standard error why a command could not do its work, and where it is told what to do about it."""
    list_problems([f"{NAME}: {' '.join(sentence.split())}"], see)


def list_problems(lines: Iterable[str], see: str) -> None:
    """Say on standard error what is wrong with a file, in lines that begin with the place, as editors expect it."""
    sys.stderr.writelines(f"{harmless(line)}\n" for line in lines)
    if see:
        sys.stderr.write(f"See {see}\n")
