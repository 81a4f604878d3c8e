"""The fleets of a journal: which there are, which are finished business, and what dropping one leaves."""

import pytest

from amrita_fleet.protocols.ids import AgentId
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.journal.fleets import KeptFleet, drop_fleet, fleet_of, fleets_of, mark_ended
from amrita_fleet.runtime.journal.memory import MemoryJournal

pytestmark = pytest.mark.anyio


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(1_000.0)


@pytest.fixture
async def journal(clock: VirtualClock) -> MemoryJournal:
    """Two fleets, one of them with two agents, and with a name that the other's begins with."""
    journal = MemoryJournal(clock=clock)
    for stream in ("f/ledger", "f/agent/ana", "f/mail/ana", "f/agent/bob", "f.2/ledger"):
        await journal.open(stream, 1)
        await journal.append(stream, 1, 1, (b"12345",))
    return journal


async def test_fleets_are_listed_by_name_with_what_they_hold(journal: MemoryJournal, clock: VirtualClock) -> None:
    await clock.advance(5)
    await journal.append("f/agent/bob", 1, 2, (b"678",))

    f = KeptFleet("f", (AgentId("ana"), AgentId("bob")), streams=4, size=23, written=1_005.0, ended=False)
    assert await fleets_of(journal) == (f, KeptFleet("f.2", (), streams=1, size=5, written=1_000.0, ended=False))
    assert await fleet_of(journal, "f") == f
    assert await fleet_of(journal, "f.") is None


async def test_a_fleet_has_ended_from_its_mark_until_it_is_opened_again(
    journal: MemoryJournal, clock: VirtualClock
) -> None:
    async def ended() -> list[bool]:
        return [fleet.ended for fleet in await fleets_of(journal)]

    await mark_ended(journal, "f")
    assert await ended() == [True, False]
    await clock.advance(5)
    await journal.open("f/ledger", 2)
    assert await ended() == [False, False]
    await clock.advance(5)
    await mark_ended(journal, "f")
    await mark_ended(journal, "f")
    kept = await fleet_of(journal, "f")
    assert kept is not None
    assert (kept.ended, kept.streams, kept.written) == (True, 4, 1_010.0)


async def test_a_fleet_is_dropped_whole_and_no_other(journal: MemoryJournal) -> None:
    await mark_ended(journal, "f")
    assert await drop_fleet(journal, "f")
    assert not await drop_fleet(journal, "f")
    assert await journal.streams() == ("f.2/ledger",)


async def test_a_fleet_that_somebody_has_opened_since_is_not_dropped(
    journal: MemoryJournal, clock: VirtualClock
) -> None:
    await clock.advance(10)
    await journal.open("f/ledger", 2)
    assert not await drop_fleet(journal, "f", before=1_010.0)
    assert len(await journal.streams("f/")) == 4
    assert await drop_fleet(journal, "f", before=1_010.1)
