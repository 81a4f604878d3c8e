"""A journal that an older version made becomes one of this version when it is opened, and loses nothing."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.journal_errors import Fenced, JournalInvalid
from amrita_fleet.runtime.ports import Journal, Record, Stored

from .server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

VERSION_1 = (
    "CREATE TABLE amrita_journal (version INTEGER NOT NULL)",
    (
        "CREATE TABLE amrita_stream (stream TEXT NOT NULL, incarnation BIGINT NOT NULL, last BIGINT NOT NULL,"
        " snapshot BIGINT NOT NULL, PRIMARY KEY (stream))"
    ),
    (
        "CREATE TABLE amrita_record (stream TEXT NOT NULL, number BIGINT NOT NULL, incarnation BIGINT NOT NULL,"
        " snapshot BOOLEAN NOT NULL, written {float} NOT NULL, data {bytes} NOT NULL, PRIMARY KEY (stream, number))"
    ),
    "INSERT INTO amrita_journal (version) VALUES (1)",
)
"""What version 1 made of an empty database."""

HEAD = "INSERT INTO amrita_stream (stream, incarnation, last, snapshot) VALUES (?, ?, ?, ?)"
RECORD = "INSERT INTO amrita_record (stream, number, incarnation, snapshot, written, data) VALUES (?, ?, ?, ?, ?, ?)"

HEADS = (("f/agent/ana", 2, 3, 2), ("f/mail/ana", 2, 0, 0), ("g/ledger", 7, 2, 0))
RECORDS = (
    ("f/agent/ana", 1, 1, False, 100.0, b"one"),
    ("f/agent/ana", 2, 1, True, 150.5, b"all"),
    ("f/agent/ana", 3, 2, False, 200.25, bytes(range(256))),
    ("g/ledger", 1, 7, False, 50.0, b""),
    ("g/ledger", 2, 7, False, 75.0, b"x"),
)

Run = Callable[[str, Sequence[object]], None]


class Old:
    """A database that version 1 wrote, and the journals of this version that open it."""

    def __init__(self, url: str, run: Run, **types: str) -> None:
        self.run = run
        self.url = url
        self._opened: list[Journal] = []
        for statement in VERSION_1:
            run(statement.format(**types), ())
        for head in HEADS:
            run(HEAD, head)
        for record in RECORDS:
            run(RECORD, record)

    def journal(self, *, create: bool = True) -> Journal:
        from amrita_fleet.runtime.journal.sql import SqlJournal

        self._opened.append(SqlJournal(self.url, clock=VirtualClock(1_000.0), create=create))
        return self._opened[-1]

    async def aclose(self) -> None:
        for journal in self._opened:
            await journal.aclose()


def columns(url: str) -> dict[str, set[tuple[str, bool]]]:
    """Names of columns, and whether they may be empty, of each table of a journal."""
    from sqlalchemy import inspect

    from amrita_fleet.runtime.journal.sql import database_of

    with closing(database_of(url).connect(create=False)) as connection:
        looked = inspect(connection)
        return {
            table: {(column["name"], column["nullable"]) for column in looked.get_columns(table)}
            for table in looked.get_table_names()
        }


@pytest.fixture(params=["sqlite", "postgres"])
async def old(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Old]:
    if request.param == "sqlite":
        file = tmp_path / "journal.sqlite"

        def run(statement: str, values: Sequence[object] = ()) -> None:
            with closing(sqlite3.connect(file)) as made:
                made.execute("PRAGMA journal_mode=WAL")
                made.execute(statement, tuple(values))
                made.commit()

        database = Old(str(file), run, float="FLOAT", bytes="BLOB")
    else:
        server: Server = request.getfixturevalue("server")
        schema: str = request.getfixturevalue("schema")

        def run(statement: str, values: Sequence[object] = ()) -> None:
            server.execute(statement.replace("?", "%s"), values, schema)

        database = Old(server.url(schema), run, float="FLOAT(53)", bytes="BYTEA")
    yield database
    await database.aclose()


async def test_a_journal_of_version_1_keeps_all_it_has_and_learns_when_its_streams_were_written(old: Old) -> None:
    journal = old.journal()
    assert await journal.stored() == (
        Stored("f/agent/ana", 3, 262, 200.25),
        Stored("f/mail/ana", 0, 0, 1_000.0),
        Stored("g/ledger", 2, 1, 75.0),
    )
    assert await journal.read("f/agent/ana") == tuple(
        Record(number, life, data, snapshot)
        for stream, number, life, snapshot, _, data in RECORDS
        if stream == "f/agent/ana"
    )
    with pytest.raises(Fenced):
        await journal.append("f/agent/ana", 1, 4, (b"late",))
    assert [record.number for record in await journal.open("f/agent/ana", 3)] == [2, 3]
    await journal.append("f/agent/ana", 3, 4, (b"four",))
    assert await old.journal().drop_all("g/", before=75.1) == 1


async def test_who_goes_on_with_a_journal_of_version_1_may_bring_it_to_this_version(old: Old) -> None:
    assert await old.journal(create=False).streams() == ("f/agent/ana", "f/mail/ana", "g/ledger")


async def test_many_who_open_a_journal_of_version_1_at_once_do_so_once(old: Old) -> None:
    journals = [old.journal() for _ in range(5)]
    found = await asyncio.gather(*(journal.stored("f/agent/") for journal in journals))
    assert set(found) == {(Stored("f/agent/ana", 3, 262, 200.25),)}


async def test_a_process_of_version_1_that_still_runs_goes_on_writing(old: Old) -> None:
    journal = old.journal()
    await journal.streams()
    old.run(HEAD, ("f/agent/bob", 1, 1, 0))
    old.run(RECORD, ("f/agent/bob", 1, 1, False, 1_500.0, b"one"))
    assert await journal.open("f/agent/bob", 2) == (Record(1, 1, b"one"),)


async def test_a_journal_that_was_brought_here_is_as_one_that_was_made_here(old: Old, tmp_path: Path) -> None:
    from amrita_fleet.runtime.journal.sql import SqlJournal

    await old.journal().streams()
    journal = SqlJournal(tmp_path / "made.sqlite")
    await journal.streams()
    await journal.aclose()
    assert columns(old.url) == columns(str(tmp_path / "made.sqlite"))


async def test_a_version_that_this_one_does_not_know_is_refused_and_left_as_it_is(old: Old) -> None:
    old.run("UPDATE amrita_journal SET version = 99", ())
    with pytest.raises(JournalInvalid, match=r"newer Amrita Fleet \(schema 99; this one knows \d+\)"):
        await old.journal().streams()
    old.run("UPDATE amrita_journal SET version = 1", ())
    assert len(await old.journal().stored()) == len(HEADS)
