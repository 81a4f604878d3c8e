"""The one who holds the connection and writes, in the journal's own thread."""

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from ..journal_errors import Fenced, JournalConflict, JournalInvalid, JournalUnavailable
from ..ports import Clock
from .rules import Retention
from .schema import prepare
from .transaction import Transaction

__all__ = ("Database", "Job", "Scribe")


class Database(Protocol):
    """What differs between databases."""

    where: str

    @property
    def missing(self) -> bool:
        """Whether it is a file, and that is not there."""
        ...

    def connect(self, *, create: bool) -> Connection:
        """Open it, and make it if it may be made."""
        ...

    def check(self) -> None:
        """Raise if what was opened is no longer there."""
        ...

    def prepare(self, connection: Connection) -> None:
        """Set up a new connection, in a transaction that from now on excludes others who do the same."""
        ...

    def in_use(self) -> bool:
        """Whether somebody has it open. Whoever asks has closed their own connection."""
        ...

    def trouble(self, error: DBAPIError) -> JournalInvalid | JournalUnavailable:
        """What one of its errors means for us."""
        ...


class Job(NamedTuple):
    """Something the journal was asked, which stream it may change (None: none), and where its answer goes."""

    stream: str | None
    work: Callable[[Transaction], object]
    answer: asyncio.Future[object]


class Scribe:
    """Does jobs, in groups: each group is one transaction, and its answers are those of a commit that succeeded.

    Its methods are called by one thread.
    """

    def __init__(self, database: Database, retention: Retention, clock: Clock, *, create: bool) -> None:
        """Begin without a connection.

        Args:
            database: Where the records are.
            retention: How long records before the newest snapshot are kept.
            clock: Time.
            create: Whether a missing or empty database becomes a journal, the first time.
        """
        self._database = database
        self._retention = retention
        self._clock = clock
        self._create = create
        self._connection: Connection | None = None

    def do(self, jobs: Sequence[Job]) -> list[object]:
        """Do the jobs in one transaction and give the answer to each: what its work returned, or its refusal.

        A connection may have been cut while nobody asked anything, so what fails on an old one is tried once more on a
        new one: whatever is asked can be asked twice.

        Raises:
            JournalUnavailable: The database does not answer; whether the jobs were done is unknown.
            JournalInvalid: It is no journal, or not one for us.
        """
        fresh = self._connection is None
        try:
            return self._transact(jobs)
        except DBAPIError as error:
            self.close()
            if fresh:
                raise self._database.trouble(error) from None
        except (JournalInvalid, JournalUnavailable):
            self.close()
            raise
        return self.do(jobs)

    def in_use(self) -> bool:
        """Whether another journal, of this or another process, has the database open.

        Raises:
            JournalUnavailable: The database does not answer.
            JournalInvalid: It is no journal, or not one for us.
        """
        self.close()
        try:
            return self._database.in_use()
        except DBAPIError as error:
            raise self._database.trouble(error) from None

    def close(self) -> None:
        """Let go of the connection; the next job opens another."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.close()

    def _transact(self, jobs: Sequence[Job]) -> list[object]:
        """Do the jobs and commit."""
        connection = self._connected()
        with connection.begin():
            transaction = Transaction(connection, self._retention, self._clock.now())
            transaction.lock(job.stream for job in jobs if job.stream is not None)
            answers = [answer(job, transaction) for job in jobs]
            transaction.flush()
        return answers

    def _connected(self) -> Connection:
        """The connection to a database whose tables are there."""
        self._database.check()
        if self._connection is None:
            self._connection = self._database.connect(create=self._create)
            with self._connection.begin():
                self._database.prepare(self._connection)
                now = self._clock.now()
                prepare(self._connection, self._database.where, create_tables=self._create, now=now)
            self._create = False
        return self._connection


def answer(job: Job, transaction: Transaction) -> object:
    """What a job's work returns, or why it was refused; others in the same transaction go on."""
    try:
        return job.work(transaction)
    except (Fenced, JournalConflict, ValueError) as refusal:
        return refusal
