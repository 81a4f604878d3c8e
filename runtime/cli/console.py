"""The two streams a command writes to. Colours are for terminals, and never when `NO_COLOR` is set."""

import json
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console

from .status import NAME

__all__ = ("complain", "list_problems", "print_json", "stdout")


def stdout() -> Console:
    """For what was asked for; the full width where nobody's terminal sets one."""
    console = Console()
    return console if console.is_terminal else Console(width=PIPE_WIDTH)


PIPE_WIDTH = 160
"""Columns of a table that is written to a file or a pipe."""


def print_json(value: dict[str, Any]) -> None:
    """Write one JSON object on one line to standard output."""
    sys.stdout.write(f"{json.dumps(value, ensure_ascii=False)}\n")


def complain(sentence: str, see: str = "") -> None:
    """Say on standard error why a command could not do its work, and where it is told what to do about it."""
    list_problems([f"{NAME}: {' '.join(sentence.split())}"], see)


def list_problems(lines: Iterable[str], see: str) -> None:
    """Say on standard error what is wrong with a file, in lines that begin with the place, as editors expect it."""
    sys.stderr.writelines(f"{line}\n" for line in lines)
    if see:
        sys.stderr.write(f"See {see}\n")
