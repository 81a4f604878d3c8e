"""A service whose spawner dies in the middle of a spawn mends itself."""

import asyncio
import os
import sys
from pathlib import Path
from typing import cast
from uuid import uuid4

import pytest

from amrita_fleet import Agent, Fleet
from amrita_fleet.actors.description import packed, pieces
from amrita_fleet.actors.journal import JOURNAL, JournalActor
from amrita_fleet.actors.lifecycle import SPAWN_PATIENCE, create_agent
from amrita_fleet.actors.ties import Ties
from amrita_fleet.protocols.checkin import DEAD
from amrita_fleet.protocols.ids import SUPERVISOR, AgentId, Incarnation
from amrita_fleet.protocols.providers.scripted import say
from amrita_fleet.runtime.host import Seat
from amrita_fleet.runtime.supervision.commands import Newcomer
from amrita_fleet.runtime.supervision.member import ABANDONED

from .blocker import actors_of
from .steady import event, handle, steady, until

pytestmark = [pytest.mark.anyio, pytest.mark.ray, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
ANA, BOB = AgentId("ana"), AgentId("bob")
PATIENCE = 20.0
"""Seconds: an agent comes to life in one, on a busy machine in some."""


@pytest.fixture
def service(ray_cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    """A service whose Supervisor is soon impatient with spawns."""
    monkeypatch.setattr("amrita_fleet.actors.service.SPAWN_PATIENCE", PATIENCE)
    name = f"births-{uuid4().hex[:6]}"
    return Fleet(name, address=ray_cluster, journal=tmp_path / "journal.sqlite", service=True)


def test_the_patience_is_above_what_two_births_may_be_apart() -> None:
    head_is_down, ready, ending = 60, 120, 12
    assert head_is_down + ready + head_is_down + ending + head_is_down < SPAWN_PATIENCE


async def test_agents_whose_spawner_was_killed_are_dead_or_live_and_can_be_spawned_again(
    ray_cluster: str, service: Fleet
) -> None:
    names = [f"agent-{number}" for number in range(6)]
    paths = os.pathsep.join(map(str, (ROOT / "src", ROOT)))
    async with service as fleet:
        try:
            spawner = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "tests.actors.spawner", ray_cluster, fleet.name, *names),
                env={**os.environ, "PYTHONPATH": paths},
            )
            assert await spawner.wait() == 3
            notices = await until(fleet, lambda notice: notice.text == ABANDONED)
            dead: set[str] = set()
            while len(dead) + len(ready := {n.agent for n in notices if n.extra_type == "ready"}) < len(names):
                notices += await until(
                    fleet, lambda n: n.extra_type == "ready" or n.text == ABANDONED, notices[-1].number
                )
                dead = {notice.agent for notice in notices if notice.text == ABANDONED}
            assert dead and ready
            assert {row.agent for row in await fleet.statuses() if row.phase == DEAD} == dead
            assert set(actors_of(fleet)) == {f"agent:{name}" for name in ready} | {JOURNAL, SUPERVISOR}
            again = await fleet.spawn(Agent(preset=steady(say("hi"))), sorted(dead))
            assert [(await each.run("?")).text for each in again] == ["hi"] * len(dead)
        finally:
            await fleet.end()


async def test_an_actor_that_nobody_had_begin_is_ended_and_so_is_an_agent_without_one(service: Fleet) -> None:
    async with service as fleet:
        try:
            supervisor = handle(fleet, SUPERVISOR)
            lives = await supervisor.admit.remote([Newcomer(ANA), Newcomer(BOB)], os.getpid())
            assert lives == [1, 1]
            journal = cast("type[JournalActor]", handle(fleet, JOURNAL))
            ties = Ties(fleet.name, supervisor, journal, service=True)
            agent = Agent(preset=steady(say("hi")))
            actor = await asyncio.to_thread(create_agent, ties, pieces(packed(agent)), Seat(ANA, Incarnation(1)), {})
            assert actors_of(fleet) == ["agent:ana", JOURNAL, SUPERVISOR]
            await asyncio.gather(*(until(fleet, event(name, "died")) for name in ("ana", "bob")))
            assert [row.note for row in await fleet.statuses()] == [ABANDONED] * 2
            del actor
            (ana, bob) = await fleet.spawn(agent, ["ana", "bob"])
            assert [(await each.run("?")).text for each in (ana, bob)] == ["hi", "hi"]
        finally:
            await fleet.end()
