"""A fleet's notices in a file, to be looked at where no fleet is: JSON Lines, one notice a line.

The first line says what the file is and of which fleet: `{"recording": 1, "fleet": NAME}`. Each further one is a notice
as `GET /api/notices` gives it. Numbers rise; one that is left out is a notice that was forgotten.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

from ...protocols.ids import AgentId, RunId
from ...protocols.notices import Notice, NoticeType
from .errors import RecordingInvalid
from .shapes import plain

__all__ = ("VERSION", "Recording", "recorded_head", "recorded_line")

VERSION = 1
"""Of the format."""

MOST_LINE = 2**24
"""Bytes that no line has. What agents, tools and people write is far shorter in each notice."""

MOST_DIGITS = 20
"""Characters of the longest whole number of 64 bits."""

LATEST = 10**12
"""Unix seconds before which everything happens."""

FIELDS: Mapping[str, tuple[type, ...]] = {
    "type": (str,),
    "extra_type": (str,),
    "agent": (str,),
    "text": (str,),
    "run": (str, type(None)),
    "step": (int,),
    "data": (dict,),
    "number": (int,),
    "at": (int, float),
}
"""What a notice's line has, all of it."""


class NumberTooLarge(Exception):
    """A whole number has more than 64 bits."""


@dataclass(frozen=True, slots=True)
class Recording:
    """What happened in a fleet.

    Attributes:
        fleet: Its name.
        notices: In order.
    """

    fleet: str
    notices: tuple[Notice, ...]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file. It blocks.

        Raises:
            RecordingInvalid: It cannot be read, or is none; which line of it, and why.
        """
        try:
            with path.open("rb") as file:
                lines = lines_of(path, file)
                fleet = fleet_of(path, next(lines, b""))
                return cls(fleet, tuple(notices_of(path, lines)))
        except OSError as error:
            raise RecordingInvalid(path=str(path), line=0, reason=str(error.strerror)) from None

    def write(self, path: Path) -> None:
        """Write a file, in the place of one that is there. It blocks.

        Raises:
            OSError: It cannot be written.
        """
        path.write_text("".join([recorded_head(self.fleet), *map(recorded_line, self.notices)]), encoding="ascii")


def recorded_head(fleet: str) -> str:
    """The first line of a fleet's recording, with its end."""
    return f"{json.dumps({'recording': VERSION, 'fleet': fleet})}\n"


def recorded_line(notice: Notice) -> str:
    """A notice's line, with its end."""
    return f"{json.dumps(plain(notice), allow_nan=False)}\n"


def lines_of(path: Path, file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, none of which is read as a whole that no recording has: there are files without an end.

    Raises:
        RecordingInvalid: One is too long.
    """
    number = 0
    while text := file.readline(MOST_LINE):
        number += 1
        if len(text) == MOST_LINE:
            raise RecordingInvalid(path=str(path), line=number, reason=f"it has more than {MOST_LINE:,} bytes")
        yield text


def fleet_of(path: Path, text: bytes) -> str:
    """Whose recording it is, by its first line.

    Raises:
        RecordingInvalid: It is none, or of another version.
    """
    head = mapping(path, 1, text) if text else {}
    version, fleet = head.get("recording"), head.get("fleet")
    if not isinstance(fleet, str) or type(version) is not int:
        reason = 'it does not begin with {"recording": 1, "fleet": ...}, so it is a file of something else'
        raise RecordingInvalid(path=str(path), line=1, reason=reason)
    if version != VERSION:
        reason = f"it has version {version} of the format, and this program reads {VERSION}"
        raise RecordingInvalid(path=str(path), line=1, reason=reason)
    return fleet


def notices_of(path: Path, lines: Iterator[bytes]) -> Iterator[Notice]:
    """The notices in the lines behind the first one.

    Raises:
        RecordingInvalid: A line is none, or their numbers do not rise.
    """
    last = 0
    for line, text in enumerate(lines, start=2):
        notice = notice_of(path, line, mapping(path, line, text))
        if line > 2 and notice.number <= last:  # noqa: PLR2004  the first notice's line
            raise RecordingInvalid(path=str(path), line=line, reason=f"number {notice.number} comes after {last}")
        last = notice.number
        yield notice


def whole_number(digits: str) -> int:
    """A number that a fleet can have told.

    Raises:
        NumberTooLarge: No message of a fleet, and no page that shows one, could carry it.
    """
    if len(digits) > MOST_DIGITS or not -(2**63) <= (number := int(digits)) < 2**64:
        raise NumberTooLarge
    return number


def mapping(path: Path, line: int, text: bytes) -> dict[str, Any]:
    """A line's JSON object.

    Raises:
        RecordingInvalid: It is none.
    """
    try:
        found: object = plain(json.loads(text, parse_int=whole_number))
    except NumberTooLarge:
        raise RecordingInvalid(path=str(path), line=line, reason="it has a number of more than 64 bits") from None
    except (ValueError, RecursionError):
        raise RecordingInvalid(path=str(path), line=line, reason="it is no JSON; the file may be cut off") from None
    if not isinstance(found, dict):
        raise RecordingInvalid(path=str(path), line=line, reason="it is no JSON object")
    return cast("dict[str, Any]", found)


def notice_of(path: Path, line: int, found: dict[str, Any]) -> Notice:
    """A line's notice.

    Raises:
        RecordingInvalid: It is none.
    """
    for name, kinds in FIELDS.items():
        if name not in found or not is_one_of(found[name], kinds):
            raise RecordingInvalid(path=str(path), line=line, reason=f"its {name!r} is missing, or of another type")
    if found["type"] not in tuple(NoticeType):
        reason = f"there are no notices of the type {found['type']!r}; a newer version may have written it"
        raise RecordingInvalid(path=str(path), line=line, reason=reason)
    if not 0 <= found["at"] < LATEST:
        raise RecordingInvalid(path=str(path), line=line, reason=f"its time is no Unix seconds: {found['at']!s:.40}")
    if found["number"] < 1:
        raise RecordingInvalid(path=str(path), line=line, reason="notices are numbered from 1")
    run = None if found["run"] is None else RunId(found["run"])
    return Notice(
        type=NoticeType(found["type"]),
        extra_type=found["extra_type"],
        agent=AgentId(found["agent"]),
        text=found["text"],
        run=run,
        step=found["step"],
        data=found["data"],
        number=found["number"],
        at=float(found["at"]),
    )


def is_one_of(value: object, kinds: tuple[type, ...]) -> bool:
    """Whether a value is of one of these types; a truth value is no number."""
    return isinstance(value, kinds) and not isinstance(value, bool)
