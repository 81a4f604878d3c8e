"""The journal of a fleet on Ray: an actor of its own, and the way to it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
from anyio import Path as AsyncPath

from amrita_fleet import SystemUnavailable
from amrita_fleet.actors.journal import JournalPlace, RayJournal, journal_place
from amrita_fleet.actors.journal_lines import JournalLines
from amrita_fleet.actors.lifecycle import create_journal, end
from amrita_fleet.actors.system import open_system
from amrita_fleet.protocols.codec import encode
from amrita_fleet.runtime.journal.door import Addition
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.journal_errors import Fenced, JournalConflict, JournalInvalid, JournalUnavailable
from amrita_fleet.runtime.ports import Record

pytestmark = [pytest.mark.anyio, pytest.mark.ray, pytest.mark.usefixtures("ray_cluster")]

FLEET = "books"


@pytest.fixture
def place(tmp_path: Path) -> JournalPlace:
    return journal_place(tmp_path / "journal.sqlite")


@pytest.fixture
async def journal(place: JournalPlace) -> AsyncIterator[RayJournal]:
    fleet = f"{FLEET}-{uuid4().hex}"
    actor = create_journal(fleet, place, create=True)
    await actor.begin.remote()
    made = RayJournal(actor, fleet)
    yield made
    await made.aclose()
    await end(actor)


async def test_it_is_a_journal_and_its_errors_arrive_as_they_are(journal: RayJournal) -> None:
    assert await journal.open("f/agent/ana", 1) == ()
    await journal.append("f/agent/ana", 1, 1, (b"one", b"two"))
    await journal.append("f/agent/ana", 1, 1, (b"one", b"two"))
    with pytest.raises(JournalConflict) as conflict:
        await journal.append("f/agent/ana", 1, 2, (b"other",))
    assert conflict.value.number == 2
    assert await journal.open("f/agent/ana", 2) == (Record(1, 1, b"one"), Record(2, 1, b"two"))
    with pytest.raises(Fenced) as fenced:
        await journal.append("f/agent/ana", 1, 3, (b"late",))
    assert (fenced.value.incarnation, fenced.value.newest) == (1, 2)
    await journal.append("f/agent/ana", 2, 3, (b"all",), snapshot=True)
    assert await journal.open("f/agent/ana", 2) == (Record(3, 2, b"all", snapshot=True),)
    assert [record.number for record in await journal.read("f/agent/ana", 1)] == [2, 3]
    assert await journal.streams("f/") == ("f/agent/ana",)
    await journal.drop("f/agent/ana")
    assert await journal.streams() == ()
    assert [await journal.claim("f/ledger"), await journal.claim("f/ledger")] == [1, 2]
    with pytest.raises(ValueError, match="no life and no record"):
        await journal.open("f/agent/ana", 0)


async def test_it_is_used_from_any_loop(journal: RayJournal) -> None:
    await journal.open("f/ledger", 1)
    await journal.append("f/ledger", 1, 1, (b"here",))
    await asyncio.to_thread(asyncio.run, elsewhere(journal))
    await journal.append("f/ledger", 1, 3, (b"here",))
    assert [record.data for record in await journal.read("f/ledger")] == [b"here", b"there", b"here"]


async def elsewhere(journal: RayJournal) -> None:
    """Add a record in a loop of its own, which ends after it."""
    await journal.append("f/ledger", 1, 2, (b"there",))
    await journal.aclose()


async def test_who_added_a_record_is_told_of_the_shorter_way_and_only_its_node_takes_it(place: JournalPlace) -> None:
    actor = create_journal(f"{FLEET}-{uuid4().hex}", place, create=True)
    await actor.begin.remote()
    await actor.open.remote("f/ledger", 1)
    one, two, three = (encode(Addition("f/ledger", 1, number, (b"x",), snapshot=False)) for number in (1, 2, 3))
    here, away = JournalLines(), JournalLines()
    assert not await here.add(one)
    door = await actor.append.remote(one)
    assert door is not None
    here.learn(door)
    away.learn(door._replace(node="another"))
    assert await here.add(two)
    assert not await away.add(three)
    assert [record.number for record in await actor.read.remote("f/ledger", 0)] == [1, 2]
    await here.aclose()
    await end(actor)


async def test_while_its_process_is_away_it_is_unavailable_and_the_next_one_goes_on(place: JournalPlace) -> None:
    fleet = f"{FLEET}-{uuid4().hex}"
    first = create_journal(fleet, place, create=True)
    await first.begin.remote()
    journal = RayJournal(first, fleet)
    await journal.open("f/ledger", 1)
    await journal.append("f/ledger", 1, 1, (b"one",))
    await journal.append("f/ledger", 1, 2, (b"two",))
    await end(first)
    with pytest.raises(JournalUnavailable, match="another one is being started"):
        await journal.append("f/ledger", 1, 3, (b"three",))
    second = create_journal(fleet, place, create=False)
    await second.begin.remote()
    await journal.append("f/ledger", 1, 3, (b"three",))
    await journal.append("f/ledger", 1, 4, (b"four",))
    assert [record.data for record in await journal.read("f/ledger")] == [b"one", b"two", b"three", b"four"]
    await journal.aclose()
    await end(second)


async def test_a_later_process_makes_no_new_file(place: JournalPlace, tmp_path: Path) -> None:
    fleet = f"{FLEET}-{uuid4().hex}"
    actor = create_journal(fleet, place, create=False)
    await actor.begin.remote()
    with pytest.raises(JournalUnavailable, match="put it back"):
        await RayJournal(actor, fleet).open("f/ledger", 1)
    await end(actor)
    assert [found async for found in AsyncPath(tmp_path).iterdir()] == []


async def test_a_path_is_the_same_wherever_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert journal_place("a.sqlite") == JournalPlace(str(tmp_path / "a.sqlite"), local=True)
    assert journal_place("postgresql://ana@db/fleet") == JournalPlace("postgresql://ana@db/fleet", local=False)
    with pytest.raises(JournalInvalid):
        journal_place("redis://db")


async def test_a_journal_that_is_an_object_is_refused() -> None:
    with pytest.raises(SystemUnavailable, match="give a path or a URL, not an object"):
        open_system("f", None, None, MemoryJournal())


async def test_a_journal_that_is_none_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to look like one. " * 30)
    with pytest.raises(JournalInvalid, match="file of something else"):
        await open_system("wrong", None, None, path).open()
