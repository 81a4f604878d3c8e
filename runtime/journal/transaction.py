"""What a journal is asked, as SQL inside one transaction that its caller begins and commits.

Several askers share a transaction, so the heads of streams are read once and kept, and what is to be written is
gathered and written in as few statements as there are tables.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, or_, select, text, update

from ..ports import Record, Stored
from .rules import Head, Retention, claimed, next_life, unwritten
from .schema import RECORD, STREAM
from .statements import executed

__all__ = ("Transaction",)

# Statements are made once: to make one takes as long as to execute it.
HEADS = select(STREAM.c.stream, STREAM.c.incarnation, STREAM.c.last, STREAM.c.snapshot).with_for_update()
LOCK_HEAD = HEADS.where(STREAM.c.stream == bindparam("name"))  # a list of one takes half as long again
LOCK_HEADS = HEADS.where(STREAM.c.stream.in_(bindparam("names", expanding=True))).order_by(STREAM.c.stream)

INSERT_RECORD = insert(RECORD)

INSERT_HEAD = text(
    "INSERT INTO amrita_stream (stream, incarnation, last, snapshot) VALUES (:stream, 0, 0, 0) ON CONFLICT DO NOTHING"
)

UPDATE_HEAD = (
    update(STREAM)
    .where(STREAM.c.stream == bindparam("name"))
    .values(last=bindparam("newest"), snapshot=bindparam("summary"), written=bindparam("now"))
)

CLAIM = (
    update(STREAM)
    .where(STREAM.c.stream == bindparam("name"))
    .values(incarnation=bindparam("life"), written=bindparam("now"))
)


class Transaction:
    """The journal's operations. A stream's row is locked when its head is read, until the transaction ends.

    An operation that raises an error of the tree has changed nothing.
    """

    def __init__(self, connection: Connection, retention: Retention, now: float) -> None:
        """Begin with nothing known.

        Args:
            connection: In a transaction.
            retention: How long records before the newest snapshot are kept.
            now: Unix seconds.
        """
        self._connection = connection
        self._retention = retention
        self._now = now
        self._heads: dict[str, Head] = {}
        self._records: list[dict[str, Any]] = []
        self._changed: dict[str, Head] = {}

    def lock(self, streams: Iterable[str]) -> None:
        """Lock these streams, if they are there, and read their heads: all at once and in one order for everybody.

        Two who lock the same rows in different orders would wait for each other for ever.
        """
        names = sorted(set(streams) - self._heads.keys())
        if names:
            if names[1:]:
                found: Sequence[Sequence[Any]] = self._connection.execute(LOCK_HEADS, {"names": names}).all()
            else:
                found = executed(self._connection, LOCK_HEAD, {"name": names[0]})
            self._heads |= dict.fromkeys(names, Head()) | {name: Head(*head) for name, *head in found}

    def claim(self, stream: str) -> int:
        """Claim a stream for a life newer than all before."""
        return self._claim(stream, next_life(self._begun(stream))).incarnation

    def open(self, stream: str, incarnation: int) -> tuple[Record, ...]:
        """Claim a stream and read it from its newest snapshot on."""
        self._begun(stream)
        return self.read(stream, self._claim(stream, incarnation).snapshot - 1)

    def append(self, stream: str, incarnation: int, offered: tuple[Record, ...]) -> None:
        """Add records to a stream."""
        head = self._head(stream)
        kept: dict[int, Record] = {}
        if offered and offered[0].number <= head.last:
            kept = {each.number: each for each in self.read(stream, offered[0].number - 1, offered[-1].number)}
        fresh = unwritten(stream, head, incarnation, offered, kept)
        if fresh:
            self._records += [{"stream": stream, "written": self._now, **record._asdict()} for record in fresh]
            newest, snapshot = fresh[-1].number, fresh[-1].snapshot
            self._heads[stream] = head._replace(last=newest, snapshot=newest if snapshot else head.snapshot)
            self._changed[stream] = self._heads[stream]
            if snapshot:
                self._forget(stream, newest)

    def read(self, stream: str, after: int, until: int | None = None) -> tuple[Record, ...]:
        """The records of a stream with numbers above `after`, up to `until`."""
        self.flush()
        columns = (RECORD.c.number, RECORD.c.incarnation, RECORD.c.data, RECORD.c.snapshot)
        asked = select(*columns).where(RECORD.c.stream == stream, RECORD.c.number > after).order_by(RECORD.c.number)
        rows = self._connection.execute(asked if until is None else asked.where(RECORD.c.number <= until))
        return tuple([Record(*row) for row in rows])

    def streams(self, prefix: str) -> tuple[str, ...]:
        """The names of streams, in the order of their characters, whatever the database's language."""
        return tuple(sorted(self._connection.execute(select(STREAM.c.stream).where(begins(prefix))).scalars()))

    def stored(self, prefix: str) -> tuple[Stored, ...]:
        """What there is of each stream, in the same order as `streams`."""
        self.flush()
        size = func.coalesce(func.sum(func.length(RECORD.c.data)), 0)
        asked = (
            select(STREAM.c.stream, func.count(RECORD.c.number), size, STREAM.c.written)
            .outerjoin(RECORD, RECORD.c.stream == STREAM.c.stream)
            .where(begins(prefix))
            .group_by(STREAM.c.stream, STREAM.c.written)
        )
        found = self._connection.execute(asked)
        return tuple(sorted(Stored(name, int(records), int(size), written) for name, records, size, written in found))

    def drop(self, stream: str) -> None:
        """Forget a stream."""
        self.lock([stream])
        self.flush()
        self._connection.execute(delete(RECORD).where(RECORD.c.stream == stream))
        self._connection.execute(delete(STREAM).where(STREAM.c.stream == stream))
        self._heads[stream] = Head()

    def drop_all(self, prefix: str, before: float | None) -> int:
        """Forget all streams whose names begin so, unless one of them was written to since."""
        self.flush()
        asked = select(STREAM.c.stream, STREAM.c.written).where(begins(prefix)).order_by(STREAM.c.stream)
        found = self._connection.execute(asked.with_for_update()).all()
        if before is not None and any(written >= before for _, written in found):
            return 0
        for name, _ in found:
            self.drop(name)
        return len(found)

    def flush(self) -> None:
        """Write what was gathered."""
        if self._changed:
            executed(self._connection, INSERT_RECORD, *self._records)
            heads = [
                {"name": name, "newest": it.last, "summary": it.snapshot, "now": self._now}
                for name, it in self._changed.items()
            ]
            executed(self._connection, UPDATE_HEAD, *heads)
            self._records, self._changed = [], {}

    def _head(self, stream: str) -> Head:
        """The head of a stream, which is locked from now on if it is there."""
        if stream not in self._heads:
            self.lock([stream])
        return self._heads[stream]

    def _begun(self, stream: str) -> Head:
        """The head of a stream that is there from now on; somebody else may have made it since it was looked for."""
        if self._head(stream).incarnation == 0:
            self._connection.execute(INSERT_HEAD, {"stream": stream})
            del self._heads[stream]
        return self._head(stream)

    def _claim(self, stream: str, incarnation: int) -> Head:
        """The head of a stream that is there, and this life's from now on."""
        self._heads[stream] = head = claimed(stream, self._head(stream), incarnation)
        self._connection.execute(CLAIM, {"name": stream, "life": head.incarnation, "now": self._now})
        return head

    def _forget(self, stream: str, snapshot: int) -> None:
        """Delete what retention does not keep: every record up to the newest that is too old, or too much."""
        self.flush()
        size = func.sum(func.length(RECORD.c.data)).over(order_by=RECORD.c.number.desc())
        before = (
            select(RECORD.c.number, RECORD.c.written, size.label("size"))
            .where(RECORD.c.stream == stream, RECORD.c.number < snapshot)
            .subquery()
        )
        surplus = or_(before.c.size > self._retention.size, before.c.written < self._now - self._retention.age)
        newest = select(func.max(before.c.number)).where(surplus).scalar_subquery()
        self._connection.execute(delete(RECORD).where(RECORD.c.stream == stream, RECORD.c.number <= newest))


def begins(prefix: str) -> ColumnElement[bool]:
    """The condition that a stream's name begins so, whatever the database's language."""
    return func.substr(STREAM.c.stream, 1, len(prefix)) == prefix
