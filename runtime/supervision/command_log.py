"""Where a Supervisor's commands are written down, so that another process can go on with its accounts."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock
from typing import Protocol

from ...protocols.codec import decode, encode
from ...protocols.errors import FleetError
from ...protocols.ids import Incarnation
from ..errors import Fenced, JournalUnavailable, RecordInvalid
from ..journal.stream_writer import StreamWriter
from ..ports import Clock
from .commands import Command, Tell

__all__ = ("CommandLog", "JournaledCommands", "Noted", "Unrecorded")

log = logging.getLogger(__name__)

LAST_WORDS = 1.0
"""Seconds that what is left has to be written at the end."""


class CommandLog(Protocol):
    """Takes each command, in order, while the Supervisor's lock is held.

    Attributes:
        replaying: The commands are those of an earlier process; whom they concern was told then.
    """

    replaying: bool

    @property
    def waits(self) -> str:
        """Why nothing is written now, for people; empty while it is."""
        ...

    def note(self, command: Command) -> float:
        """Keep a command; gives when it was asked, in Unix seconds."""
        ...

    async def written(self) -> None:
        """Wait until all commands so far are written.

        Raises:
            Fenced: Another process has gone on with the accounts; this Supervisor must answer nobody any more.
        """
        ...


class Unrecorded:
    """Keeps nothing: the accounts end with the process."""

    replaying = False
    waits = ""

    def __init__(self, now: Callable[[], float]) -> None:
        """`now` gives Unix seconds."""
        self._now = now

    def note(self, _: Command) -> float:
        """The time."""
        return self._now()

    async def written(self) -> None:
        """At once."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A command, and when it was asked (Unix seconds)."""

    command: Command
    at: float


class JournaledCommands:
    """Writes commands into a stream, those that come together with one append. Any thread may use it once it is open.

    Attributes:
        replaying: As in `CommandLog`.
        epoch: Number of the process that writes: each that goes on with the accounts has a higher one.
    """

    def __init__(self, writer: StreamWriter, clock: Clock) -> None:
        """Nothing is read or written before `open`."""
        self.replaying = False
        self.epoch = Incarnation(writer.incarnation)
        self._writer = writer
        self._clock = clock
        self._lock = Lock()
        self._pending: list[bytes] = []
        self._noted = 0
        self._done = 0
        self._waiting: list[tuple[int, Future[None]]] = []
        self._failed: FleetError | None = None
        self._at = 0.0

    async def open(self, perform: Callable[[Command], None]) -> None:
        """Perform what an earlier process was asked, then begin to write, in the running loop.

        Raises:
            Fenced: A newer process has the stream.
            JournalUnavailable: The journal cannot be reached.
            RecordInvalid: A record cannot be read.
        """
        self.replaying = True
        for record in await self._writer.open():
            try:
                noted = decode(record.data, Noted)
            except FleetError as error:
                raise RecordInvalid(stream=self._writer.stream, number=record.number, reason=str(error)) from error
            self._at = noted.at
            perform(noted.command)
        self.replaying = False
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._task = self._loop.create_task(self._write())

    def note(self, command: Command) -> float:
        """Keep a command for the next append; a report without news is not worth one."""
        if self.replaying:
            return self._at
        at = self._clock.now()
        if isinstance(command, Tell) and not command.notices:
            return at
        with self._lock:
            self._pending.append(encode(Noted(command, at)))
            self._noted += 1
        self._loop.call_soon_threadsafe(self._news.set)
        return at

    async def written(self) -> None:
        """Wait until all commands so far are written, from any loop; see `CommandLog.written`."""
        with self._lock:
            if self._failed is not None:
                raise self._failed
            if self._done >= self._noted:
                return
            told: Future[None] = Future()
            self._waiting.append((self._noted, told))
        await asyncio.wrap_future(told)

    @property
    def waits(self) -> str:
        """Why nothing is written now, for people; empty while it is."""
        return self._writer.note

    async def aclose(self) -> None:
        """Write what is left, if the journal can be reached at once, and stop."""
        try:
            async with asyncio.timeout(LAST_WORDS):
                await self.written()
        except TimeoutError:
            log.warning("%d commands are lost: %s", self._noted - self._done, self._writer.note)
        except Fenced as error:
            log.info("%s", error)
        self._writer.close()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._end(JournalUnavailable(where=f"of {self._writer.stream}", reason="the fleet is closed"))

    async def _write(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            with self._lock:
                records, self._pending = tuple(self._pending), []
            if not records:
                continue
            try:
                await self._writer.append(*records)
            except FleetError as error:
                self._end(error)
                return
            self._tell(len(records))

    def _tell(self, count: int) -> None:
        with self._lock:
            self._done += count
            ready = [told for number, told in self._waiting if number <= self._done]
            self._waiting = [(number, told) for number, told in self._waiting if number > self._done]
        for told in ready:
            if told.set_running_or_notify_cancel():
                told.set_result(None)

    def _end(self, error: FleetError) -> None:
        with self._lock:
            self._failed, waiting, self._waiting = error, self._waiting, []
        for _, told in waiting:
            if told.set_running_or_notify_cancel():
                told.set_exception(error)
