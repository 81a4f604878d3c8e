"""A fleet is closed at any record of its journal, and drains; another process goes on: nothing is lost or done twice.

Nothing at all: no model call is made again, no tool call is uncertain, no token's fate is unknown.
"""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.limits import Limits

from .doomed import FLEET, LIMIT, WORLD, DoomedJournal, DoomedSystem, Strike, World, process
from .lossless import Conversation

pytestmark = [pytest.mark.usefixtures("snapshots_come_often"), pytest.mark.slow]

GRACE = 60.0
"""Seconds; far more than any agent of the conversation needs to its next boundary."""

TICK = 0.05


class Closings(Conversation):
    """The conversation, in processes that are closed in the midst of it."""

    def close_at(self, *numbers: int) -> "Closings":
        """A process that is closed at each of these appends, if it comes to that, and one that ends it."""
        for number in numbers:
            if asyncio.run(closed_at(self.world, self, number)):
                break
        self.appends = process(self.world, self.go_on) or ()
        return self


async def closed_at(world: World, conversation: Conversation, number: int) -> bool:
    """Live until this append is asked for, then close in good order; gives whether it all ended before that."""
    WORLD.set(world)
    journal = DoomedJournal(world.journal, Strike(number))
    journal.over.set()  # nobody dies there
    system = DoomedSystem(FLEET, Limits(tokens=LIMIT), world.clock, journal)
    await system.open()
    living = asyncio.create_task(conversation.go_on(system))
    while not (living.done() or journal.struck.done()):
        await world.clock.advance(TICK)
    ended = living.done()
    living.cancel()
    await asyncio.gather(living, return_exceptions=True)
    closing = asyncio.create_task(closed(system))
    while not closing.done():
        await world.clock.advance(TICK)
    await closing
    return ended


async def closed(system: DoomedSystem) -> None:
    await system.drain(GRACE)
    await system.close()


@pytest.mark.timeout(300)
@given(first=st.integers(1, 150), second=st.integers(1, 150))
def test_a_fleet_is_closed_at_two_records_and_goes_on(first: int, second: int) -> None:
    Closings().close_at(first, second).check(kills=0)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("share", range(4))
def test_a_fleet_is_closed_at_every_other_record_and_goes_on(share: int) -> None:
    for number in range(1 + share, len(Conversation().live().appends), 8):
        print(number)
        Closings().close_at(number).check(kills=0)
