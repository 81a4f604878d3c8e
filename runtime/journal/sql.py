"""A journal in SQLite or PostgreSQL.

SQLAlchemy is heavy: import this module only where such a journal is made (`choose.open_journal` does).
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from functools import partial
from pathlib import Path
from typing import TypeVar, cast
from urllib.parse import unquote

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from ..clock import SystemClock
from ..journal_errors import JournalInvalid, JournalUnavailable
from ..ports import Clock, Record, Stored
from .postgres import PostgresDatabase
from .rules import RETENTION, Retention, check_number, check_stream, numbered
from .scribe import Database, Job, Scribe
from .sqlite import SqliteFile
from .transaction import Transaction

__all__ = ("GROUP", "PATIENCE", "SqlJournal")

GROUP = 1000
"""The most jobs that share a transaction."""

PATIENCE = 15.0
"""Seconds after which callers no longer wait for a database that does not answer at all."""

Answer = TypeVar("Answer")


class SqlJournal:
    """Keeps its streams in a database. It belongs to one event loop, and writes in a thread of its own.

    What is asked while a transaction is being committed shares the next one (*group commit*): the more write at once,
    the less a record costs, and everybody is answered after their own commit.
    """

    def __init__(
        self,
        url: str | Path,
        *,
        create: bool = True,
        known: bool = False,
        retention: Retention = RETENTION,
        clock: Clock | None = None,
        patience: float = PATIENCE,
    ) -> None:
        """Name the database; nothing is opened before the first call.

        Args:
            url: A path, `sqlite:///path`, or `postgresql://user:password@host:port/database`.
            create: Whether a missing file or an empty database becomes a journal. Not where one must be there already.
            known: It was a journal before, so that a file that is missing is awaited, and no error for good.
            retention: How long records before the newest snapshot are kept.
            clock: Time; None: the machine's.
            patience: Seconds to wait for a database that does not answer at all.

        Raises:
            JournalInvalid: The URL is none, or of something else.
        """
        database = database_of(url)
        self.where = database.where
        if isinstance(database, SqliteFile):
            database.known = known
        self._scribe = Scribe(database, retention, clock or SystemClock(), create=create)
        self._patience = patience
        self._thread = ThreadPoolExecutor(1, "journal")
        self._waiting: list[Job] = []
        self._silence: asyncio.TimerHandle | None = None
        self._rest = asyncio.Event()
        self._rest.set()
        self._closed = False

    def __repr__(self) -> str:
        """Where it is, without a password."""
        return f"SqlJournal({self.where!r})"

    async def claim(self, stream: str) -> int:
        """Claim the stream for a life newer than all before; see `Journal.claim`."""
        check_stream(stream)
        return await self._ask(stream, lambda asked: asked.claim(stream))

    async def open(self, stream: str, incarnation: int) -> tuple[Record, ...]:
        """Claim the stream for this life and read it; see `Journal.open`."""
        check_stream(stream)
        check_number(incarnation)
        return await self._ask(stream, lambda asked: asked.open(stream, incarnation))

    async def append(
        self, stream: str, incarnation: int, first: int, records: tuple[bytes, ...], *, snapshot: bool = False
    ) -> None:
        """Add records, all or none; see `Journal.append`."""
        check_stream(stream)
        offered = numbered(incarnation, first, records, snapshot=snapshot)
        await self._ask(stream, lambda asked: asked.append(stream, incarnation, offered))

    async def read(self, stream: str, after: int = 0) -> tuple[Record, ...]:
        """All records that are still there with numbers above `after`."""
        check_stream(stream)
        check_number(after, least=0)
        return await self._ask(None, lambda asked: asked.read(stream, after))

    async def streams(self, prefix: str = "") -> tuple[str, ...]:
        """The names of all streams, in order."""
        return await self._ask(None, lambda asked: asked.streams(prefix)) if prefix.isprintable() else ()

    async def stored(self, prefix: str = "") -> tuple[Stored, ...]:
        """What there is of each stream."""
        return await self._ask(None, lambda asked: asked.stored(prefix)) if prefix.isprintable() else ()

    async def drop(self, stream: str) -> None:
        """Forget a stream and whose it is."""
        check_stream(stream)
        await self._ask(stream, lambda asked: asked.drop(stream))

    async def drop_all(self, prefix: str, *, before: float | None = None) -> int:
        """Forget all streams whose names begin so, or none; see `Journal.drop_all`."""
        return await self._ask(None, lambda asked: asked.drop_all(prefix, before)) if prefix.isprintable() else 0

    async def in_use(self) -> bool:
        """Whether another journal, of this or another process, has the database open, as a running fleet has.

        Raises:
            JournalUnavailable: It cannot be asked now.
            JournalInvalid: This is no journal, or not one for us.
        """
        if self._closed:
            raise JournalUnavailable(where=self.where, reason="it was closed")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._scribe.in_use)

    async def aclose(self) -> None:
        """Finish what was asked for, and let go of the database."""
        if self._closed:
            return
        self._closed = True
        await self._rest.wait()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._scribe.close)
        self._thread.shutdown(wait=False)

    async def _ask(self, stream: str | None, work: Callable[[Transaction], Answer]) -> Answer:
        """Put a job into the next transaction and wait for its answer."""
        if self._closed:
            raise JournalUnavailable(where=self.where, reason="it was closed")
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        self._waiting.append(Job(stream, work, answer))
        if self._rest.is_set():
            self._rest.clear()
            loop.call_soon(self._begin, loop)
        return cast("Answer", await answer)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give the thread the next group, if anybody waits. No task: each of its turns would delay the answers."""
        group, self._waiting = self._waiting[:GROUP], self._waiting[GROUP:]
        if not group:
            self._rest.set()
            return
        self._listen(loop, group)
        self._thread.submit(self._scribe.do, group).add_done_callback(partial(self._over, loop, group))

    def _over(self, loop: asyncio.AbstractEventLoop, group: Sequence[Job], done: Future[list[object]]) -> None:
        """The thread's work is over; this is the thread. A loop that was closed has nobody left who could be told."""
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._done, loop, group, done)

    def _done(self, loop: asyncio.AbstractEventLoop, group: Sequence[Job], done: Future[list[object]]) -> None:
        """Answer a group, and go on to the next."""
        if self._silence is not None:
            self._silence.cancel()
        tell(group, done.exception() or done.result())
        loop.call_soon(self._begin, loop)  # who was answered just now may have more to write, for the same transaction

    def _listen(self, loop: asyncio.AbstractEventLoop, group: Sequence[Job]) -> None:
        """Have everybody told when there is no answer for too long."""
        self._silence = loop.call_later(self._patience, self._silent, loop, group)

    def _silent(self, loop: asyncio.AbstractEventLoop, group: Sequence[Job]) -> None:
        """Let nobody wait any longer, and listen on: the thread may have its answer yet."""
        silent = JournalUnavailable(where=self.where, reason=f"no answer within {self._patience:g} s")
        tell([*group, *self._waiting], silent)
        self._waiting = []
        self._listen(loop, group)


def tell(jobs: Sequence[Job], answers: Sequence[object] | BaseException) -> None:
    """Give each caller its answer, or all of them the same error; some may have stopped waiting."""
    if isinstance(answers, BaseException):
        answers = [copy(answers) for _ in jobs]
    for job, answer in zip(jobs, answers, strict=True):
        if job.answer.done():
            continue
        if isinstance(answer, BaseException):
            job.answer.set_exception(answer)
        else:
            job.answer.set_result(answer)


def database_of(url: str | Path) -> Database:
    """The database of a URL or a path.

    Raises:
        JournalInvalid: It is none, or one of something else.
    """
    if "\0" in str(url) or ("://" in str(url) and "%00" in str(url)):
        raise JournalInvalid(where="This path or URL", reason="there is a null character in it")
    if isinstance(url, Path) or "://" not in url:
        return SqliteFile(Path(url).absolute())
    scheme, _, rest = url.partition("://")
    match scheme.partition("+")[0]:
        case "sqlite" if rest in {"", "/", "/:memory:"} or rest[0] != "/" or "?" in rest:
            raise JournalInvalid(where="This URL", reason="a SQLite journal is sqlite:///path, and no more")
        case "sqlite":
            return SqliteFile(Path(unquote(rest[1:])).absolute())
        case "postgresql" | "postgres":
            return PostgresDatabase(parsed(url))
        case other:
            reason = f"a journal is a path, sqlite:///path or postgresql://..., not {other or 'nothing'}://..."
            raise JournalInvalid(where="This URL", reason=reason)


def parsed(url: str) -> URL:
    """The parts of a URL.

    Raises:
        JournalInvalid: It has none.
    """
    try:
        return make_url(url)
    except (ArgumentError, ValueError):  # their texts may hold the password
        raise JournalInvalid(where="This URL", reason="it cannot be read") from None
