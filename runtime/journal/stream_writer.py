"""One life's hand on one stream: it numbers what it writes, and waits while the journal cannot be reached."""

import asyncio
import logging

from ..journal_errors import JournalUnavailable
from ..ports import Clock, Journal, Record
from ..whole import GivenUp, WholeWork

__all__ = ("StreamWriter",)

log = logging.getLogger(__name__)

PAUSE = 1.0
"""Seconds between two tries while the journal cannot be reached."""


class StreamWriter:
    """Writes a stream that it has claimed. It belongs to one event loop.

    Whoever waits for an append may be cancelled; the append goes on. Else nobody would know under which number the next
    one belongs.

    Attributes:
        stream: The stream's name.
        incarnation: The life that writes.
        note: Why it waits, for people; empty while it does not.
    """

    def __init__(self, journal: Journal, stream: str, incarnation: int, clock: Clock) -> None:
        """Nothing is claimed before `open`."""
        self.stream = stream
        self.note = ""
        self._journal = journal
        self.incarnation = incarnation
        self._clock = clock
        self._next = 1
        self._turn = asyncio.Lock()
        self._work = WholeWork()
        self._closed = False

    async def open(self) -> tuple[Record, ...]:
        """Claim the stream and read it: the newest snapshot, if there is one, and all after it.

        Raises:
            Fenced: A newer life has it.
            JournalUnavailable: It cannot be reached.
        """
        records = await self._journal.open(self.stream, self.incarnation)
        self._next = records[-1].number + 1 if records else 1
        return records

    async def append(self, *records: bytes, snapshot: bool = False) -> None:
        """Write records after those before, and wait until they are written, however long that takes.

        Raises:
            Fenced: A newer life has the stream.
            JournalConflict: Somebody else wrote there under this very life.
            JournalUnavailable: The writer was closed; whether they were written is unknown.
        """
        try:
            await self._work.run(self.write(*records, snapshot=snapshot))
        except GivenUp:
            raise self._over() from None

    def close(self) -> None:
        """Write nothing more, and give up what waits for the journal; from any thread. Safe to call twice."""
        self._closed = True
        self._work.give_up()

    def _over(self) -> JournalUnavailable:
        return JournalUnavailable(where=f"of {self.stream}", reason="whoever writes there has ended")

    async def write(self, *records: bytes, snapshot: bool = False) -> None:
        """Do what `append` does, for one whose own work nobody cuts short: then this is cut nowhere either.

        Raises:
            Fenced: A newer life has the stream.
            JournalConflict: Somebody else wrote there under this very life.
            JournalUnavailable: The writer was closed.
        """
        if self._closed:
            raise self._over()
        async with self._turn:
            while True:
                try:
                    await self._journal.append(self.stream, self.incarnation, self._next, records, snapshot=snapshot)
                except JournalUnavailable as error:  # the same bytes under the same numbers are asked for again
                    if not self.note:
                        log.warning("%s waits for its journal: %s", self.stream, error)
                    self.note = f"waits for its journal: {error.reason.rstrip('.')} ({error.where})"
                    await self._clock.sleep(PAUSE)
                else:
                    self._next += len(records)
                    self.note = ""
                    return
