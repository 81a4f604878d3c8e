"""Where agents ask for children: what is done before one is let in."""

import asyncio

import pytest

from amrita_fleet.protocols.ids import AgentId, Incarnation
from amrita_fleet.protocols.spawning import Allowance, Spawned, SpawnRequest
from amrita_fleet.runtime.supervision.commands import Newcomer
from amrita_fleet.runtime.supervision.spawn_desk import SpawnDesk
from amrita_fleet.runtime.supervision.supervisor import Supervisor

pytestmark = pytest.mark.anyio

LEAD, KID = AgentId("lead"), AgentId("kid")
FIRST = Incarnation(1)


async def test_a_child_is_let_in_again_only_when_the_mailbox_of_the_dead_one_is_closed() -> None:
    supervisor = Supervisor(fleet="f", limit=None, now=lambda: 0.0, post=lambda _agent, _text: None)
    supervisor.admit_all([Newcomer(LEAD, allowance=Allowance())], 1)
    go, born = asyncio.Event(), list[int]()

    async def close(names: tuple[AgentId, ...]) -> None:
        await go.wait()
        for box in supervisor.unclosed:
            assert box.agent in names
            supervisor.close_mailbox(box.agent, box.incarnation, Incarnation(box.incarnation + 1), ())

    async def bear(life: Incarnation) -> None:
        born.append(life)

    async def written() -> None:
        """At once."""

    desk = SpawnDesk(supervisor, written, close)

    def asked(number: int) -> SpawnRequest:
        return SpawnRequest(LEAD, FIRST, "kind", KID, f"lead.1.1.{number}")

    go.set()
    assert await desk.ask(asked(1), bear) == Spawned(KID, FIRST)
    supervisor.died(KID, FIRST, "killed")
    go.clear()
    asking = asyncio.create_task(desk.ask(asked(2), bear))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert born == [1]
    go.set()
    assert await asking == Spawned(KID, Incarnation(3)), "the number between is the closed mailbox's"
    assert born == [1, 3]
    await desk.aclose()
