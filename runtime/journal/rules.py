"""What every journal holds to, whatever it keeps its records in."""

from collections.abc import Mapping
from typing import NamedTuple

from ..journal_errors import Fenced, JournalConflict
from ..ports import Record

__all__ = (
    "NAME_LIMIT",
    "NUMBER_LIMIT",
    "RECORD_LIMIT",
    "RETENTION",
    "Head",
    "Retention",
    "check_number",
    "check_stream",
    "claimed",
    "next_life",
    "numbered",
    "unwritten",
)

NAME_LIMIT = 300
"""Characters of a stream's name."""

NUMBER_LIMIT = 2**63
"""No life and no record has a number as high as that."""

RECORD_LIMIT = 128 * 2**20
"""Bytes of one record; far below what databases refuse, far above what an agent says."""


class Retention(NamedTuple):
    """How long records before a stream's newest snapshot are kept. Nothing needs them but a curious person.

    They are looked at when a snapshot is added: what is older than `age` seconds goes, and so do the oldest of them,
    until the rest of the stream's have no more than `size` bytes.
    """

    age: float = 7 * 86_400.0
    size: int = 16 * 2**20


RETENTION = Retention()
"""A week, and 16 MiB of each stream."""


class Head(NamedTuple):
    """What a journal knows of a stream without reading it: whose it is, its newest record, its newest snapshot."""

    incarnation: int = 0
    last: int = 0
    snapshot: int = 0


def check_stream(stream: str) -> None:
    """Refuse names that not every database can hold.

    Raises:
        ValueError: It is such a name.
    """
    if not 0 < len(stream) <= NAME_LIMIT or not stream.isprintable():
        raise ValueError(f"{stream!r:.400} cannot name a stream: use up to {NAME_LIMIT} printable characters.")


def check_number(number: int, *, least: int = 1) -> None:
    """Refuse numbers of lives and records that cannot be, or that not every database can hold.

    Raises:
        ValueError: It is such a number.
    """
    if not least <= number < NUMBER_LIMIT:
        raise ValueError(f"There is no life and no record of the number {number}.")


def claimed(stream: str, head: Head, incarnation: int) -> Head:
    """The head of a stream that this life has opened.

    Raises:
        Fenced: A newer life has it.
    """
    if incarnation < head.incarnation:
        raise Fenced(stream=stream, incarnation=incarnation, newest=head.incarnation)
    return head._replace(incarnation=incarnation)


def next_life(head: Head) -> int:
    """The number of a life newer than all that ever claimed the stream.

    Raises:
        ValueError: There can be none.
    """
    check_number(head.incarnation + 1)
    return head.incarnation + 1


def numbered(incarnation: int, first: int, records: tuple[bytes, ...], *, snapshot: bool) -> tuple[Record, ...]:
    """The records that are to be added.

    Raises:
        ValueError: There can be no such records.
    """
    check_number(first)
    check_number(first + len(records))
    check_number(incarnation)
    if snapshot and len(records) != 1:
        raise ValueError(f"A snapshot is one record, not {len(records)}.")
    if any(len(data) > RECORD_LIMIT for data in records):
        raise ValueError(f"A record has at most {RECORD_LIMIT} bytes.")
    return tuple([Record(number, incarnation, data, snapshot) for number, data in enumerate(records, first)])


def unwritten(
    stream: str, head: Head, incarnation: int, offered: tuple[Record, ...], kept: Mapping[int, Record]
) -> tuple[Record, ...]:
    """Those of the records offered that are not in the stream yet.

    Args:
        stream: Its name.
        head: What is known of it.
        incarnation: The life that offers them.
        offered: Records in order of their numbers.
        kept: What the stream has under those numbers. Numbers up to `head.last` that are not in it were deleted by
            retention: there is nothing left to compare.

    Raises:
        Fenced: The stream is not this life's.
        JournalConflict: Something else has such a number, or a number before the first is missing.
    """
    if incarnation != head.incarnation:
        raise Fenced(stream=stream, incarnation=incarnation, newest=head.incarnation)
    if offered and offered[0].number > head.last + 1:
        raise JournalConflict(stream=stream, number=offered[0].number, last=head.last)
    for record in offered:
        there = kept.get(record.number, record)
        if (there.data, there.snapshot) != (record.data, record.snapshot):
            raise JournalConflict(stream=stream, number=record.number, last=head.last)
    return tuple([record for record in offered if record.number > head.last])
