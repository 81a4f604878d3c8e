"""The text of a fleet file."""

import re
from pathlib import Path

from .errors import FleetFileInvalid, Problem

__all__ = ("MOST_BYTES", "position_of", "read_source")

MOST_BYTES = 2**20
"""Bytes of the largest fleet file. Long instructions have files of their own."""

BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""What ends a line in YAML 1.1."""


def read_source(path: Path, shown: str = "") -> str:
    """The text in a file.

    Args:
        path: Where it is.
        shown: What it is called in errors; empty: as the path says.

    Raises:
        FleetFileInvalid: It cannot be read, is no plain file, is too large, or is not UTF-8.
    """
    shown = shown or str(path)
    try:
        if path.exists() and not path.is_file():
            what = "a folder: name the file in it" if path.is_dir() else "no plain file"
            raise FleetFileInvalid(path=shown, problems=(Problem(f"This is {what}."),))
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, FleetFileInvalid):
            raise
        reason = getattr(error, "strerror", None) or error
        raise FleetFileInvalid(path=shown, problems=(Problem(f"The file cannot be read: {reason}."),)) from None
    if len(data) > MOST_BYTES:
        text = f"The file has more than {MOST_BYTES:,} bytes: put long texts into files of their own."
        raise FleetFileInvalid(path=shown, problems=(Problem(text),))
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line, column = position_of(data[: error.start].decode(), None)
        problem = Problem(f"The byte 0x{data[error.start]:02x} is not UTF-8: save the file as UTF-8.", "", line, column)
        raise FleetFileInvalid(path=shown, problems=(problem,)) from None


def position_of(text: str, index: int | None) -> tuple[int, int]:
    """Line and column, both from 1, of a character of the text; None: of what would follow it."""
    before = text[:index]
    ends = [found.end() for found in BREAK.finditer(before)]
    return len(ends) + 1, len(before) - (ends[-1] if ends else 0) + 1
