"""A journal that is gone with its process: for tests, and for fleets that need not outlive anything."""

from dataclasses import dataclass, field

from ..clock import SystemClock
from ..journal_errors import JournalUnavailable
from ..ports import Clock, Record, Stored
from .rules import RETENTION, Head, Retention, check_number, check_stream, claimed, next_life, numbered, unwritten

__all__ = ("MemoryJournal",)


@dataclass
class Stream:
    """Its head, its records by number in order, when each was written, and when the stream was (Unix seconds)."""

    head: Head = field(default_factory=Head)
    records: dict[int, Record] = field(default_factory=dict[int, Record])
    written: dict[int, float] = field(default_factory=dict[int, float])
    touched: float = 0.0


class MemoryJournal:
    """Keeps its streams in this object, for as long as it lives, closed or not. It belongs to one thread.

    Attributes:
        broken: Why it does not answer, for tests of what happens then; while it is empty, it does.
    """

    def __init__(self, *, retention: Retention = RETENTION, clock: Clock | None = None) -> None:
        """Begin without streams.

        Args:
            retention: How long records before the newest snapshot are kept.
            clock: Time; None: the machine's.
        """
        self.broken = ""
        self._retention = retention
        self._clock = clock or SystemClock()
        self._streams: dict[str, Stream] = {}

    async def claim(self, stream: str) -> int:
        """Claim the stream for a life newer than all before; see `Journal.claim`."""
        self._answer(stream)
        return self._claimed(stream, next_life(self._streams.get(stream, Stream()).head)).head.incarnation

    async def open(self, stream: str, incarnation: int) -> tuple[Record, ...]:
        """Claim the stream for this life and read it; see `Journal.open`."""
        self._answer(stream, incarnation)
        kept = self._claimed(stream, incarnation)
        return tuple([record for record in kept.records.values() if record.number >= kept.head.snapshot])

    async def append(
        self, stream: str, incarnation: int, first: int, records: tuple[bytes, ...], *, snapshot: bool = False
    ) -> None:
        """Add records, all or none; see `Journal.append`."""
        self._answer(stream, incarnation)
        offered = numbered(incarnation, first, records, snapshot=snapshot)
        kept = self._streams.get(stream, Stream())
        fresh = unwritten(stream, kept.head, incarnation, offered, kept.records)
        if fresh:
            kept.touched = now = self._clock.now()
            last = fresh[-1].number
            kept.records |= {record.number: record for record in fresh}
            kept.written |= {record.number: now for record in fresh}
            kept.head = kept.head._replace(last=last, snapshot=last if snapshot else kept.head.snapshot)
            if snapshot:
                self._forget(kept, now)

    async def read(self, stream: str, after: int = 0) -> tuple[Record, ...]:
        """All records that are still there with numbers above `after`."""
        self._answer(stream)
        check_number(after, least=0)
        kept = self._streams.get(stream, Stream())
        return tuple([record for record in kept.records.values() if record.number > after])

    async def streams(self, prefix: str = "") -> tuple[str, ...]:
        """The names of all streams, in order."""
        self._answer()
        return tuple(sorted(name for name in self._streams if name.startswith(prefix)))

    async def stored(self, prefix: str = "") -> tuple[Stored, ...]:
        """What there is of each stream."""
        names = await self.streams(prefix)
        found = [(name, self._streams[name]) for name in names]
        return tuple([Stored(name, len(it.records), size_of(it), it.touched) for name, it in found])

    async def drop(self, stream: str) -> None:
        """Forget a stream and whose it is."""
        self._answer(stream)
        self._streams.pop(stream, None)

    async def drop_all(self, prefix: str, *, before: float | None = None) -> int:
        """Forget all streams whose names begin so, or none; see `Journal.drop_all`."""
        names = await self.streams(prefix)
        if before is not None and any(self._streams[name].touched >= before for name in names):
            return 0
        for name in names:
            del self._streams[name]
        return len(names)

    async def aclose(self) -> None:
        """Nothing: another life may want to read it."""

    def _answer(self, stream: str | None = None, incarnation: int = 1) -> None:
        """Refuse names and lives that cannot be, and every call while this is broken."""
        check_number(incarnation)
        if stream is not None:
            check_stream(stream)
        if self.broken:
            raise JournalUnavailable(where="in memory", reason=self.broken)

    def _claimed(self, stream: str, incarnation: int) -> Stream:
        """The stream, which is this life's from now on."""
        kept = self._streams.get(stream, Stream())
        kept.head = claimed(stream, kept.head, incarnation)
        kept.touched = self._clock.now()
        self._streams[stream] = kept
        return kept

    def _forget(self, kept: Stream, now: float) -> None:
        """Delete what retention does not keep: every record up to the newest that is too old, or too much."""
        size, surplus = 0, False
        for number in sorted(kept.records, reverse=True):
            if number >= kept.head.snapshot:
                continue
            size += len(kept.records[number].data)
            surplus = surplus or size > self._retention.size or kept.written[number] < now - self._retention.age
            if surplus:
                del kept.records[number], kept.written[number]


def size_of(kept: Stream) -> int:
    """Bytes of a stream's records."""
    return sum(len(record.data) for record in kept.records.values())
