"""Whether a fleet is still that of the process that means to go on with it."""

import pytest

from amrita_fleet import FleetTaken, JournalInvalid
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.journal.fleet_log import FleetLog
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.supervision.command_log import Cadence
from amrita_fleet.runtime.supervision.ownership import check_owner

from .asked import ANA, BOB, Process

pytestmark = pytest.mark.anyio


class House:
    """A fleet in a journal, which processes of several owners open."""

    def __init__(self, cadence: Cadence | None = None) -> None:
        self.clock = VirtualClock(1_000.0)
        self.journal = MemoryJournal(clock=self.clock)
        self.log = FleetLog(self.journal, "f")
        self.cadence = cadence

    async def opened(self, owner: str) -> None:
        """One process opens the fleet, admits somebody, and is closed."""
        process = await Process(self.journal, self.clock, self.cadence).open()
        process.supervisor.begin(owner, None)
        process.supervisor.admit(ANA if owner == "one" else BOB, None, None, 1)
        await process.log.written()
        await process.log.aclose()


@pytest.mark.parametrize("cadence", [None, Cadence(commands=1, growth=0.0)], ids=["commands", "snapshots"])
async def test_a_fleet_is_that_of_who_opened_it_last(cadence: Cadence | None) -> None:
    house = House(cadence)
    await house.opened("one")
    await check_owner(house.log, "one")
    await house.opened("two")
    await check_owner(house.log, "two")
    with pytest.raises(FleetTaken):
        await check_owner(house.log, "one")


async def test_a_fleet_that_nobody_said_to_have_opened_is_anybodys() -> None:
    house = House()
    process = await Process(house.journal, house.clock).open()
    process.supervisor.admit(ANA, None, None, 1)
    await process.log.written()
    await process.log.aclose()
    await check_owner(house.log, "one")


async def test_a_fleet_of_which_nothing_is_left_is_not_begun_again() -> None:
    with pytest.raises(JournalInvalid, match="was deleted while it ran"):
        await check_owner(House().log, "one")
