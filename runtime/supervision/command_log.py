"""Where a Supervisor's commands are written down, so that another process can go on with its accounts.

So that neither the record nor what has to be read of it grows with a fleet's life, all that the commands have come to
is written down as a whole from time to time: a snapshot. It has its place among the commands. It is taken when the next
command is noted, which happens under the Supervisor's lock and before anything is done about it, so it holds all
commands before it in the stream and none after it, whoever asks something while it is being written.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple, Protocol, TypeVar

from ...protocols.codec import decode, encode
from ...protocols.errors import FleetError
from ...protocols.ids import Incarnation
from ..journal.rules import RECORD_LIMIT
from ..journal.stream_writer import StreamWriter
from ..journal_errors import JournalUnavailable, RecordInvalid
from ..ports import Clock, Record
from .commands import Command, Tell
from .state import BEGINNING, SupervisorState

__all__ = ("Cadence", "CommandLog", "JournaledCommands", "Noted", "Unrecorded")

log = logging.getLogger(__name__)

T = TypeVar("T")

LAST_WORDS = 1.0
"""Seconds that what is left has to be written at the end."""

AT_ONCE = 256
"""Rows of a snapshot that are turned into bytes at once, in some milliseconds; more, and a thread does it."""


class Cadence(NamedTuple):
    """How often a snapshot is written: after so many commands, once they have so many times the bytes of the last one.

    The first holds for small fleets: a thousand commands are read in less than a tenth of a second. The second is for
    large ones, of which a snapshot may take as long as ten thousand commands: what is written is about twice what the
    commands alone are, and what is read at the start about twice what the Supervisor is.
    """

    commands: int = 1_024
    growth: float = 1.0


CADENCE = Cadence()


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

    def note(self, command: Command, state: Callable[[], SupervisorState]) -> float:
        """Keep a command; gives when it was asked, in Unix seconds.

        Args:
            command: What is asked. Nothing is done about it yet.
            state: Gives what all commands before it have come to. It is called before this returns, or not at all.
        """
        ...

    async def written(self) -> None:
        """Wait until all commands so far are written.

        Raises:
            Fenced: Another process has gone on with the accounts; this Supervisor must answer nobody any more.
            JournalConflict: So has one that wrote there under this very life.
            JournalUnavailable: Nothing is written any more.
        """
        ...


class Unrecorded:
    """Keeps nothing: the accounts end with the process."""

    replaying = False
    waits = ""

    def __init__(self, now: Callable[[], float]) -> None:
        """`now` gives Unix seconds."""
        self._now = now

    def note(self, command: Command, state: Callable[[], SupervisorState]) -> float:  # noqa: ARG002
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
    """Writes commands into a stream, those that come together with one append.

    1. `open` claims the stream and gives what an earlier process was, as its newest snapshot says.
    2. `begin` performs what that one was asked later, and begins to write. From now on any thread may use this.

    Attributes:
        replaying: As in `CommandLog`.
        epoch: Number of the process that writes: each that goes on with the accounts has a higher one.
    """

    def __init__(self, writer: StreamWriter, clock: Clock, cadence: Cadence | None = None) -> None:
        """Nothing is read or written before `open`.

        Args:
            writer: The stream, for a process newer than all before.
            clock: Time.
            cadence: How often a snapshot is written; None: as is good for most.
        """
        self.replaying = False
        self.epoch = Incarnation(writer.incarnation)
        self._writer = writer
        self._clock = clock
        self._cadence = cadence or CADENCE
        self._left: tuple[Record, ...] = ()
        self._lock = Lock()
        self._pending: list[bytes | SupervisorState] = []
        self._since = 0
        self._since_bytes = 0
        self._snapshot_bytes = 0
        self._snapshot_pending = False
        self._noted = 0
        self._done = 0
        self._waiting: list[tuple[int, Future[None]]] = []
        self._failed: FleetError | None = None
        self._at = 0.0
        self._task: asyncio.Task[None] | None = None
        self._encoding: asyncio.Future[bytes | None] | None = None
        self._closing = False

    async def open(self) -> SupervisorState:
        """Claim the stream; gives what its newest snapshot holds, or the beginning if there is none.

        Raises:
            Fenced: A newer process has the stream.
            JournalUnavailable: The journal cannot be reached.
            RecordInvalid: The snapshot cannot be read.
        """
        records = await self._writer.open()
        if not records or not records[0].snapshot:
            self._left = records
            return BEGINNING
        whole, *left = records
        self._left, self._snapshot_bytes = tuple(left), len(whole.data)
        return self._read(whole, SupervisorState)

    def begin(self, perform: Callable[[Command], None]) -> None:
        """Perform what an earlier process was asked after the snapshot, then begin to write, in the running loop.

        Raises:
            RecordInvalid: A record cannot be read.
        """
        self.replaying = True
        for record in self._left:
            noted = self._read(record, Noted)
            self._at = noted.at
            self._count(len(record.data))
            perform(noted.command)
        self.replaying, self._left = False, ()
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._task = self._loop.create_task(self._write())

    def note(self, command: Command, state: Callable[[], SupervisorState]) -> float:
        """Keep a command for the next append; a report without news is not worth one."""
        if self.replaying:
            return self._at
        at = self._clock.now()
        if isinstance(command, Tell) and not command.notices:
            return at
        record = encode(Noted(command, at))
        with self._lock:
            if self._failed is not None:
                return at
            if self._snapshot_is_due():
                self._pending.append(state())
                self._snapshot_pending, self._since, self._since_bytes = True, 0, 0
            self._pending.append(record)
            self._noted += 1
            self._count(len(record))
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
        """Write what is left, if the journal can be reached at once, and stop. There is no time for a snapshot."""
        self._closing = True
        if self._encoding is not None:
            self._encoding.cancel()
        try:
            async with asyncio.timeout(LAST_WORDS):
                await self.written()
        except TimeoutError:
            log.warning("%d commands are lost: %s", self._noted - self._done, self._writer.note)
        except FleetError as error:  # who waited was told so
            log.info("%s", error)
        self._writer.close()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._end(JournalUnavailable(where=f"of {self._writer.stream}", reason="the fleet is closed"))

    # --- what is read -------------------------------------------------------------------------------------------------

    def _read(self, record: Record, expected: type[T]) -> T:
        try:
            return decode(record.data, expected)
        except FleetError as error:
            raise RecordInvalid(stream=self._writer.stream, number=record.number, reason=str(error)) from error

    # --- what is written ----------------------------------------------------------------------------------------------

    def _count(self, size: int) -> None:
        self._since += 1
        self._since_bytes += size

    def _snapshot_is_due(self) -> bool:
        if self._snapshot_pending:  # the journal is away: who waits for it needs not wait for several of them
            return False
        grown = self._since_bytes >= self._cadence.growth * self._snapshot_bytes
        return self._since >= self._cadence.commands and grown

    async def _write(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            with self._lock:
                pending, self._pending = self._pending, []
            try:
                await self._append(pending)
            except FleetError as error:
                self._end(error)
                return
            except Exception as error:
                log.exception("%s is written no more", self._writer.stream)
                reason = f"a record could not be written: {type(error).__name__}: {error}"
                self._end(JournalUnavailable(where=f"of {self._writer.stream}", reason=reason))
                return

    async def _append(self, pending: list[bytes | SupervisorState]) -> None:
        """Write all of it in order: what stands before a snapshot, the snapshot, what stands after it."""
        records: list[bytes] = []
        for each in pending:
            if isinstance(each, bytes):
                records.append(each)
            else:
                await self._append_commands(records)
                await self._append_snapshot(each)
                records = []
        await self._append_commands(records)

    async def _append_commands(self, records: list[bytes]) -> None:
        if records:
            await self._writer.append(*records)
            self._tell(len(records))

    async def _append_snapshot(self, state: SupervisorState) -> None:
        """Write a snapshot. Without one that no record can hold, more commands have to be read, and nothing is lost."""
        data = await self._encoded(state)
        with self._lock:
            self._snapshot_pending = False
            self._snapshot_bytes = self._snapshot_bytes if data is None else len(data)
        if data is None:
            return
        if len(data) > RECORD_LIMIT:
            log.error("%s gets no snapshot, and grows: it would have %d bytes", self._writer.stream, len(data))
            return
        await self._writer.append(data, snapshot=True)

    async def _encoded(self, state: SupervisorState) -> bytes | None:
        """A snapshot's bytes, without holding the loop up; None if it has none, or nobody has time for them."""
        if self._closing:
            return None
        if state.rows <= AT_ONCE:
            return encoded(state, self._writer.stream)
        self._encoding = encoding = asyncio.ensure_future(asyncio.to_thread(encoded, state, self._writer.stream))
        await asyncio.wait((encoding,))
        return None if encoding.cancelled() else encoding.result()

    def _tell(self, count: int) -> None:
        with self._lock:
            self._done += count
            ready = [told for number, told in self._waiting if number <= self._done]
            self._waiting = [(number, told) for number, told in self._waiting if number > self._done]
        for told in ready:
            if told.set_running_or_notify_cancel():
                told.set_result(None)

    def _end(self, error: FleetError) -> None:
        """Tell all who wait, and keep nothing more; the first reason holds."""
        with self._lock:
            self._failed = self._failed or error
            self._pending = []
            waiting, self._waiting = self._waiting, []
        for _, told in waiting:
            if told.set_running_or_notify_cancel():
                told.set_exception(error)


def encoded(state: SupervisorState, stream: str) -> bytes | None:
    """A snapshot's bytes, or None and a line in the log if a sum has more than 64 bits."""
    try:
        return encode(state)
    except TypeError as error:
        log.error("%s gets no snapshot, and grows: %s", stream, error)  # noqa: TRY400
        return None
