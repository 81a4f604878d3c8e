"""A SQLite file as the journal's database."""

import os
import sqlite3
from contextlib import closing, suppress
from errno import ENAMETOOLONG
from pathlib import Path
from tempfile import mkstemp

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from ..journal_errors import JournalInvalid, JournalUnavailable
from .schema import JOURNAL

__all__ = ("BUSY", "SqliteFile")

BUSY = 5.0
"""Seconds to wait for another process that writes to the same file."""

NO_JOURNAL = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT)


class SqliteFile:
    """One file, and the two beside it that SQLite makes. One process writes at a time; others wait.

    It is in WAL mode with `synchronous=FULL`: what a commit wrote is on the disk before it returns, so nothing that was
    acknowledged is lost when the power fails, if the disk does what it says. (With `NORMAL`, which is faster, the file
    would stay whole, but the last commits could be gone.) It belongs on a local disk: locks of network file systems
    cannot be trusted.

    Attributes:
        where: The path.
        known: It was a journal before, also where this process has not seen it: while it is missing, it is away.
    """

    known = False

    def __init__(self, path: Path) -> None:
        """Name the file; nothing is opened yet."""
        self.where = str(path)
        self._path = path
        self._file: tuple[int, int] | None = None
        self._engine = create_engine("sqlite://", creator=self._open, poolclass=NullPool)
        event.listen(self._engine, "begin", begin)

    def connect(self, *, create: bool) -> Connection:
        """Open the file.

        Args:
            create: Whether it is made if it is missing, with its folders, readable by this user alone.

        Raises:
            JournalInvalid: There can be no such file, or it is missing, should be there, and was never seen.
            JournalUnavailable: The file that was there is gone, or it cannot be made now.
        """
        if create:
            self._create()
        elif self._now() is None:
            raise self._missing()
        connection = self._engine.connect()
        self._file = self._now()
        return connection

    @property
    def missing(self) -> bool:
        """Whether there is no file now, or none to be seen."""
        return self._now() is None or not self._path.is_file()

    def check(self) -> None:
        """Look whether the file that was opened is still there: one that was deleted could still be written to.

        Raises:
            JournalUnavailable: It is gone, or another one is in its place.
        """
        if self._file is not None and self._now() != self._file:
            raise self._missing()

    def prepare(self, connection: Connection) -> None:
        """Nothing: every transaction excludes all others."""

    def in_use(self) -> bool:
        """Whether somebody has the file open: SQLite lets nobody have it alone while another connection is there.

        Processes that were killed do not count: their locks ended with them. Nothing is written, so that the file stays
        as old as what is in it.
        """
        try:
            with closing(sqlite3.connect(f"{self._path.as_uri()}?mode=rw", uri=True, timeout=0)) as connection:
                connection.execute("PRAGMA locking_mode=EXCLUSIVE")
                connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
                return True
            raise JournalUnavailable(where=self.where, reason=str(error)) from None
        except sqlite3.DatabaseError as error:
            raise JournalInvalid(where=self.where, reason=str(error)) from None
        return False

    def trouble(self, error: DBAPIError) -> JournalInvalid | JournalUnavailable:
        """What an error of SQLite's means for us."""
        reason = str(error.orig)
        if getattr(error.orig, "sqlite_errorcode", 0) & 0xFF in NO_JOURNAL:
            reason = f"{reason}: it is a file of something else, or damaged; name another one, or put a copy back"
            return JournalInvalid(where=self.where, reason=reason)
        return JournalUnavailable(where=self.where, reason=reason)

    def _open(self) -> sqlite3.Connection:
        """What SQLAlchemy opens the file by; `rw` makes no file. Transactions are begun by `begin`.

        WAL mode stays with a file, so it is not set in one that may be somebody else's.
        """
        connection = sqlite3.connect(
            f"{self._path.as_uri()}?mode=rw", uri=True, timeout=BUSY, isolation_level=None, check_same_thread=False
        )
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        if not tables or JOURNAL.name in tables:
            connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        return connection

    def _create(self) -> None:
        """Make the file and its folders, where they are missing."""
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._now() is None:
                with suppress(FileExistsError):  # somebody else made it just now
                    make_empty(self._path)
        except (PermissionError, NotADirectoryError, FileExistsError) as error:
            raise JournalInvalid(where=self.where, reason=f"it cannot be made: {error.strerror}") from None
        except OSError as error:
            kind = JournalInvalid if error.errno == ENAMETOOLONG else JournalUnavailable
            raise kind(where=self.where, reason=f"it cannot be made: {error.strerror}") from None
        except sqlite3.Error as error:
            raise JournalUnavailable(where=self.where, reason=f"it cannot be made: {error}") from None
        if not self._path.is_file():
            raise JournalInvalid(where=self.where, reason="it is no file; name another path")

    def _now(self) -> tuple[int, int] | None:
        """Which file is there now; None when there is none, or none to be seen."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _missing(self) -> JournalInvalid | JournalUnavailable:
        """The error for a file that should be there."""
        if self._file is None and not self.known:
            return JournalInvalid(where=self.where, reason="there is no such file; if there was one, put it back")
        return JournalUnavailable(where=self.where, reason="the file is gone: put it back")


def make_empty(path: Path) -> None:
    """Make an empty database that only this user may read.

    It gets its name when it is complete: two who open it at once would be in each other's way while it becomes one in
    WAL mode. And closed: who closes a file that SQLite has open in the same process gives up SQLite's locks on it.

    Raises:
        FileExistsError: There is something of that name.
    """
    descriptor, unnamed = mkstemp(dir=path.parent, prefix=f"{path.name}.")
    os.close(descriptor)
    try:
        with closing(sqlite3.connect(unnamed)) as made:
            made.execute("PRAGMA journal_mode=WAL")
        os.link(unnamed, path)
    finally:
        Path(unnamed).unlink()


def begin(connection: Connection) -> None:
    """Begin as one who will write: who only reads at first may find, when it wants to write, that others did."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")
