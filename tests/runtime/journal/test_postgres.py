"""What is particular to the journal in PostgreSQL: the server, the way there, and who may use it."""

import logging
import pickle
import re
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

import pytest

from amrita_fleet.runtime.journal_errors import JournalInvalid, JournalUnavailable

from .server import IN_URL, Server, free_port

if TYPE_CHECKING:
    from amrita_fleet.runtime.journal.sql import SqlJournal

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

Open = Callable[..., "SqlJournal"]


@pytest.fixture
async def journal_at() -> AsyncIterator[Open]:
    """Opens journals, and closes them at the end."""
    from amrita_fleet.runtime.journal.sql import SqlJournal

    opened: list[SqlJournal] = []

    def opener(url: str, **options: object) -> SqlJournal:
        opened.append(SqlJournal(url, **options))  # type: ignore[arg-type]
        return opened[-1]

    yield opener
    for journal in opened:
        await journal.aclose()


async def test_a_server_that_stopped_is_missed_and_used_again_when_it_runs(
    server: Server, schema: str, journal_at: Open
) -> None:
    journal = journal_at(server.url(schema))
    await journal.open("s", 1)
    server.stop()
    try:
        for _ in range(2):
            with pytest.raises(JournalUnavailable, match="refused") as caught:
                await journal.append("s", 1, 1, (b"a",))
            assert caught.value.where == f"postgresql://127.0.0.1:{server.port}/postgres"
    finally:
        server.start()

    await journal.append("s", 1, 1, (b"a",))
    assert len(await journal.read("s")) == 1


async def test_a_server_that_began_anew_while_nobody_asked_is_no_trouble(
    server: Server, schema: str, journal_at: Open
) -> None:
    journal = journal_at(server.url(schema))
    await journal.open("s", 1)
    server.stop()
    server.start()

    await journal.append("s", 1, 1, (b"a",))


async def test_a_server_that_is_not_there_is_said(server: Server, journal_at: Open) -> None:
    journal = journal_at(server.url().replace(f":{server.port}/", f":{free_port()}/"))

    with pytest.raises(JournalUnavailable, match="refused"):
        await journal.open("s", 1)


@pytest.mark.parametrize(
    ("good", "bad", "reason"),
    [
        (IN_URL, "planted-wrong", "password authentication failed"),
        ("journal:", "nobody:", "password authentication failed"),
        (f":{IN_URL}@", "@", "no password supplied"),
        ("/postgres?", "/nowhere?", '"nowhere" does not exist'),
        ("search_path%3Dpublic", "search_path%3Dnowhere", "no schema"),
    ],
    ids=["a wrong password", "an unknown user", "no password", "an unknown database", "an unknown schema"],
)
async def test_what_the_server_refuses_is_said_without_the_password(
    server: Server, journal_at: Open, caplog: pytest.LogCaptureFixture, good: str, bad: str, reason: str
) -> None:
    caplog.set_level(logging.DEBUG)
    url = server.url()
    assert good in url
    journal = journal_at(url.replace(good, bad))

    with pytest.raises(JournalInvalid, match=reason) as caught:
        await journal.open("s", 1)

    error = caught.value
    shown = [str(error), repr(error), str(vars(error)), repr(pickle.loads(pickle.dumps(error))), repr(journal)]
    assert not [text for text in (*shown, caplog.text) if "planted" in text]


async def test_a_database_of_something_else_is_refused(server: Server, schema: str, journal_at: Open) -> None:
    server.execute(f"CREATE TABLE {schema}.bookmarks (url TEXT)")

    with pytest.raises(JournalInvalid, match=r"tables of something else \(bookmarks\)"):
        await journal_at(server.url(schema)).open("s", 1)


async def test_a_newer_schema_is_refused(server: Server, schema: str, journal_at: Open) -> None:
    await journal_at(server.url(schema)).open("s", 1)
    server.execute(f"UPDATE {schema}.amrita_journal SET version = 99")  # noqa: S608 - a name of ours

    with pytest.raises(JournalInvalid, match=re.escape("newer Amrita Fleet (schema 99; this one knows 2)")):
        await journal_at(server.url(schema)).open("s", 1)


async def test_a_journal_is_in_use_while_another_session_has_it_open_and_not_another_schema(
    server: Server, schema: str, journal_at: Open
) -> None:
    server.execute(f"CREATE SCHEMA {schema}_other")
    elsewhere = journal_at(server.url(f"{schema}_other"))
    await elsewhere.open("s", 1)
    journal, other = journal_at(server.url(schema)), journal_at(server.url(schema))
    await journal.open("s", 1)
    assert not await journal.in_use()
    await other.streams()
    assert await journal.in_use()
    await other.aclose()
    assert not await journal.in_use()


async def test_who_goes_on_with_a_journal_makes_no_new_one(server: Server, schema: str, journal_at: Open) -> None:
    with pytest.raises(JournalInvalid, match="it is empty"):
        await journal_at(server.url(schema), create=False).open("s", 1)

    await journal_at(server.url(schema)).open("s", 1)
    assert await journal_at(server.url(schema), create=False).streams() == ("s",)


async def test_a_life_that_stands_still_in_a_transaction_does_not_keep_its_stream(
    server: Server, schema: str, journal_at: Open
) -> None:
    from sqlalchemy import make_url

    from amrita_fleet.runtime.journal.postgres import PostgresDatabase

    journal = journal_at(server.url(schema))
    await journal.open("s", 1)
    database = PostgresDatabase(make_url(server.url(schema)))
    stopped = database.connect(create=False)
    with stopped.begin():
        database.prepare(stopped)
    stopped.exec_driver_sql("SELECT * FROM amrita_stream FOR UPDATE")

    assert await journal.open("s", 2) == ()

    stopped.invalidate()
    stopped.close()
