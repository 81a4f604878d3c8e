"""Spawns that nobody goes on with: their agents are buried, and those that only take long are not."""

import os
from collections.abc import AsyncGenerator

import pytest

from amrita_fleet.protocols.checkin import DEAD, AgentStatus
from amrita_fleet.protocols.ids import AgentId, Incarnation
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.supervision.commands import Newcomer
from amrita_fleet.runtime.supervision.member import ABANDONED, UNSPAWNED
from amrita_fleet.runtime.supervision.spawn_watch import SpawnWatch
from amrita_fleet.runtime.supervision.succession import next_life
from amrita_fleet.runtime.supervision.supervisor import Supervisor

from .asked import Process

pytestmark = pytest.mark.anyio

PATIENCE = 100.0
MARGIN = PATIENCE / 10
FIRST = Incarnation(1)
ANA, BOB, CEM = (AgentId(name) for name in ("ana", "bob", "cem"))


class House:
    """A fleet, and the processes of its agents as Ray knows them."""

    def __init__(self, supervisor: Supervisor, clock: VirtualClock) -> None:
        self.supervisor = supervisor
        self.clock = clock
        self.processes: set[AgentId] = set()
        self.asked: list[AgentId] = []
        self.watch = SpawnWatch(supervisor, self, clock, PATIENCE)

    async def ended(self, agent: AgentId) -> bool:
        self.asked.append(agent)
        return agent not in self.processes

    def admit(self, *names: AgentId, pid: int = 1) -> None:
        self.supervisor.admit_all([Newcomer(name) for name in names], pid)

    def lives(self, agent: AgentId, life: int = 1) -> None:
        """Its process says that it is ready."""
        self.processes.add(agent)
        ready = Notice(NoticeType.AGENT, "ready", agent, "ready", number=1)
        self.supervisor.report(AgentStatus(agent, Incarnation(life), "idle", 0.0, pid=os.getpid()), (ready,))

    def dead(self) -> list[AgentId]:
        return [row.agent for row in self.supervisor.statuses() if row.phase == DEAD]


@pytest.fixture
async def house() -> AsyncGenerator[House, None]:
    clock = VirtualClock(1_000.0)
    made = House(Supervisor(fleet="f", limit=None, now=clock.now, post=lambda _agent, _text: None), clock)
    yield made
    await made.watch.aclose()


def reasons(supervisor: Supervisor) -> list[tuple[AgentId, str]]:
    return [(each.agent, each.text) for each in supervisor.feed.read(0, 100) if each.extra_type == "died"]


async def test_an_agent_that_nobody_brings_to_life_is_buried_and_its_name_can_be_spawned_again(house: House) -> None:
    house.admit(ANA)
    await house.clock.advance(PATIENCE - MARGIN)
    assert house.dead() == []
    await house.clock.advance(3 * MARGIN)
    assert reasons(house.supervisor) == [(ANA, ABANDONED)]
    assert house.supervisor.admit(ANA, None, None, 2) == 2


async def test_an_agent_that_has_lived_is_left_alone_and_nobody_asks_for_its_process(house: House) -> None:
    house.admit(ANA)
    house.lives(ANA)
    await house.clock.advance(10 * PATIENCE)
    assert (house.dead(), house.asked) == ([], [])


async def test_a_spawn_that_takes_long_is_left_alone_as_long_as_one_after_the_other_comes_to_life(house: House) -> None:
    names = [AgentId(f"agent-{number}") for number in range(20)]
    house.admit(*names)
    for name in names:
        await house.clock.advance(PATIENCE - 2 * MARGIN)
        house.lives(name)
    await house.clock.advance(10 * PATIENCE)
    assert (house.dead(), house.asked) == ([], [])


async def test_those_that_were_left_when_the_process_that_spawned_them_died_are_buried(house: House) -> None:
    house.admit(ANA, BOB, CEM)
    await house.clock.advance(PATIENCE / 2)
    house.lives(BOB)
    await house.clock.advance(PATIENCE - MARGIN)
    assert house.dead() == []
    await house.clock.advance(3 * MARGIN)
    assert house.dead() == [ANA, CEM]


async def test_one_spawn_that_goes_on_does_not_hide_another_one_that_does_not(house: House) -> None:
    house.admit(ANA, pid=1)
    for number in range(5):
        name = AgentId(f"agent-{number}")
        house.admit(name, pid=2)
        await house.clock.advance(PATIENCE / 3)
        house.lives(name)
    assert house.dead() == [ANA]


async def test_one_that_is_coming_to_life_is_asked_for_again_and_not_buried(house: House) -> None:
    house.admit(ANA)
    house.processes.add(ANA)
    await house.clock.advance(2 * PATIENCE)
    assert house.dead() == []
    assert len(house.asked) > 1
    house.processes.clear()
    await house.clock.advance(2 * MARGIN)
    assert house.dead() == [ANA]


async def test_one_whose_process_was_ended_is_buried_although_it_was_heard_of_at_the_last_moment() -> None:
    clock = VirtualClock(1_000.0)
    supervisor = Supervisor(fleet="f", limit=None, now=clock.now, post=lambda _agent, _text: None)

    class Late(House):
        async def ended(self, agent: AgentId) -> bool:
            self.lives(agent)
            return True

    house = Late(supervisor, clock)
    house.admit(ANA)
    await clock.advance(2 * PATIENCE)
    assert reasons(supervisor) == [(ANA, ABANDONED)]
    await house.watch.aclose()


async def test_one_that_lives_again_when_its_last_process_is_found_gone_is_left_alone() -> None:
    clock = VirtualClock(1_000.0)
    supervisor = Supervisor(fleet="f", limit=None, now=clock.now, post=lambda _agent, _text: None)

    class Undone(House):
        async def ended(self, agent: AgentId) -> bool:
            self.supervisor.died(agent, FIRST, UNSPAWNED)
            self.supervisor.admit(agent, None, None, 2)
            self.lives(agent, 2)
            return True

    house = Undone(supervisor, clock)
    house.admit(ANA)
    await clock.advance(2 * PATIENCE)
    assert (reasons(supervisor), house.dead()) == ([(ANA, UNSPAWNED)], [])
    await house.watch.aclose()


async def test_the_next_life_of_a_process_that_is_there_is_none_that_somebody_is_to_begin(house: House) -> None:
    house.admit(ANA)
    house.lives(ANA)
    assert next_life(house.supervisor, ANA, FIRST, 77) == 2
    await house.clock.advance(10 * PATIENCE)
    assert (house.dead(), house.asked) == ([], [])


async def test_who_follows_a_supervisor_that_died_knows_who_was_never_heard_and_counts_anew() -> None:
    clock = VirtualClock(1_000.0)
    first = await Process(MemoryJournal(clock=clock), clock).open()
    before = House(first.supervisor, clock)
    before.admit(ANA, BOB)
    before.lives(ANA)
    await clock.advance(PATIENCE - MARGIN)
    await before.watch.aclose()

    second = await Process(first.journal, clock).open()
    after = House(second.supervisor, clock)
    await clock.advance(PATIENCE - MARGIN)
    assert after.dead() == []
    await clock.advance(3 * MARGIN)
    assert after.dead() == [BOB]
    await after.watch.aclose()
