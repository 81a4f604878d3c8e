"""The journal's tables, and how those that an older version made become ours.

A database is a journal when it has the table `amrita_journal`; its one row says which version of the schema the other
tables have. Nothing is written into a database of which we do not know that it is one, or is empty.
"""

from collections.abc import Callable, Mapping

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    func,
    inspect,
    select,
    text,
    update,
)

from ..journal_errors import JournalInvalid

__all__ = ("JOURNAL", "RECORD", "STREAM", "VERSION", "prepare")

TABLES = MetaData()

JOURNAL = Table("amrita_journal", TABLES, Column("version", Integer, nullable=False))
"""The version of the schema."""

STREAM = Table(
    "amrita_stream",
    TABLES,
    Column("stream", Text, primary_key=True),
    Column("incarnation", BigInteger, nullable=False),
    Column("last", BigInteger, nullable=False),
    Column("snapshot", BigInteger, nullable=False),
    Column("written", Float(53), nullable=False, server_default=text("0")),  # Unix seconds; or opened
)
"""The head of each stream. Its row is locked by whoever writes to the stream."""

RECORD = Table(
    "amrita_record",
    TABLES,
    Column("stream", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("incarnation", BigInteger, nullable=False),
    Column("snapshot", Boolean, nullable=False),
    Column("written", Float(53), nullable=False),  # Unix seconds
    Column("data", LargeBinary, nullable=False),
)


def add_written(connection: Connection, now: float) -> None:
    """From version 1, whose streams did not know when they were last written, to 2.

    The newest record tells; a stream without records counts as written now.
    """
    connection.execute(text("ALTER TABLE amrita_stream ADD COLUMN written DOUBLE PRECISION NOT NULL DEFAULT 0"))
    newest = select(func.max(RECORD.c.written)).where(RECORD.c.stream == STREAM.c.stream).scalar_subquery()
    connection.execute(update(STREAM).values(written=func.coalesce(newest, now)))


MIGRATIONS: Mapping[int, Callable[[Connection, float], None]] = {1: add_written}
"""What brings a database from each version to the next. They are told the time, in Unix seconds."""

VERSION = 2
"""The version that this code reads and writes; an empty database becomes one of it at once."""


def prepare(connection: Connection, where: str, *, create_tables: bool, now: float) -> None:
    """Make sure the tables are there, as this version wants them. The caller commits.

    Args:
        connection: In a transaction that excludes others who do the same.
        where: Names the database in errors.
        create_tables: Whether an empty one may become a journal.
        now: Unix seconds.

    Raises:
        JournalInvalid: It is one of something else or of a newer version, or an empty one that may not be filled.
    """
    version = version_of(connection, where)
    if version > VERSION:
        newer = f"it was written by a newer Amrita Fleet (schema {version}; this one knows {VERSION}): use that version"
        raise JournalInvalid(where=where, reason=newer)
    if version == 0:
        if not create_tables:
            raise JournalInvalid(where=where, reason="it is empty, and a journal was there before: put it back")
        TABLES.create_all(connection)
        connection.execute(JOURNAL.insert().values(version=VERSION))
    elif version < VERSION:
        for older in range(version, VERSION):
            MIGRATIONS[older](connection, now)
        connection.execute(update(JOURNAL).values(version=VERSION))


def version_of(connection: Connection, where: str) -> int:
    """The version of a database's schema; 0: it is empty.

    Raises:
        JournalInvalid: It is a database of something else.
    """
    found = inspect(connection).get_table_names()
    if JOURNAL.name in found:
        return int(connection.execute(select(JOURNAL.c.version)).scalar_one())
    if found:
        some = ", ".join(sorted(found)[:3])
        raise JournalInvalid(where=where, reason=f"it has tables of something else ({some}); give it one of its own")
    return 0
