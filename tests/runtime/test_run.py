"""How the notices of a run end."""

import asyncio

import pytest

from amrita_fleet import Agent, Run
from amrita_fleet.protocols.ids import AgentId, Incarnation, RunId, life_of
from amrita_fleet.protocols.providers.scripted import say, scripted
from amrita_fleet.runtime.local import LocalSystem
from amrita_fleet.runtime.system import SpawnOrder

pytestmark = pytest.mark.anyio

BOB = AgentId("bob")
FAR = 1_000_000


def silent(_ready: int, _ordered: int) -> None:
    """Progress that nobody watches."""


async def broken_and_respawned() -> tuple[LocalSystem, RunId]:
    """A system whose bob was first spawned in vain, and then ran once."""
    agent = Agent(preset=scripted(say("hi")))
    system = LocalSystem("f", None)
    await system.open()

    def interrupted(_ready: int, _ordered: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        await system.spawn((SpawnOrder(BOB, agent),), interrupted)
    await system.spawn((SpawnOrder(BOB, agent),), silent)
    run = await system.start(BOB, "?", None)
    await system.outcome(BOB, run)
    return system, run


async def test_the_death_of_an_older_life_does_not_end_a_runs_notices() -> None:
    system, run = await broken_and_respawned()
    notices = [notice async for notice in Run(system, BOB, run)]
    await system.close()
    assert life_of(run) == Incarnation(2)
    assert [notice.extra_type for notice in notices][-1] == "finished"
    assert {notice.run for notice in notices} == {run}


async def test_the_death_of_its_own_life_is_the_last_notice_of_a_run() -> None:
    system, _ = await broken_and_respawned()
    async with asyncio.timeout(10):
        notices = [notice async for notice in Run(system, BOB, RunId("bob.1.1"))]
    await system.close()
    assert [notice.extra_type for notice in notices] == ["died"]


@pytest.mark.slow
@pytest.mark.parametrize("run", ["bob.2.1", "bob.2.77"], ids=["over", "unknown"])
async def test_the_notices_of_a_run_end_though_the_fleet_has_forgotten_how_it_finished(run: str) -> None:
    system, _ = await broken_and_respawned()
    async with asyncio.timeout(10):
        assert [notice async for notice in Run(system, BOB, RunId(run), after=FAR)] == []
    await system.close()
