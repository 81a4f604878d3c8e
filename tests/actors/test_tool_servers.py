"""MCP servers on a cluster: one actor a node, what it outlives and what it does not."""

import asyncio
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import ray
from ray.exceptions import RayError

from amrita_fleet import Agent, Fleet, McpStdio
from amrita_fleet.actors.tool_servers import actor_name
from amrita_fleet.protocols.providers.scripted import call, say, scripted

from ..contracts.gate import Gate

pytestmark = [pytest.mark.anyio, pytest.mark.ray, pytest.mark.slow, pytest.mark.usefixtures("ray_cluster")]

DESK = Path(__file__).resolve().parent.parent / "runtime" / "tools" / "mcp" / "desk.py"


@pytest.fixture
def desk() -> McpStdio:
    return McpStdio("desk", sys.executable, (str(DESK), uuid4().hex))


def handle(fleet: Fleet, name: str) -> Any:  # noqa: ANN401  Ray's, untyped
    return ray.get_actor(name, f"amrita-{fleet.name}")


def node() -> str:
    return actor_name(ray.get_runtime_context().get_node_id())


async def test_a_fleet_without_servers_has_no_actor_for_them() -> None:
    async with Fleet(system="ray") as fleet:
        await fleet.spawn(Agent(preset=scripted(say("hi"))), ["ana"])
        with pytest.raises(ValueError, match="Failed to look up actor"):
            handle(fleet, node())


async def test_what_a_killed_agent_held_is_let_go_and_a_server_that_another_holds_stays(desk: McpStdio) -> None:
    other = McpStdio("other", desk.command, (*desk.args, "other"))
    async with Gate() as gate, Fleet(system="ray") as fleet:
        both = Agent(
            preset=scripted(call("other_gate", port=gate.port, name="other"), say("done")), servers=(desk, other)
        )
        one = Agent(preset=scripted(call("gate", port=gate.port, name="desk"), say("done")), servers=(desk,))
        ana, bob = (*await fleet.spawn(both, ["ana"]), *await fleet.spawn(one, ["bob"]))
        await ana.start("?")
        run = await bob.start("?")
        await gate.begun("other")
        await gate.begun("desk")
        ray.kill(handle(fleet, "agent:ana"))
        await gate.cut("other")
        gate.let("desk")
        assert (await run.outcome()).answered


async def test_when_the_process_that_runs_servers_dies_its_successor_starts_them_again(desk: McpStdio) -> None:
    async with Fleet(system="ray") as fleet:
        moves = (call("pid"), say("first"), call("pid"), say("second"))
        (ana,) = await fleet.spawn(Agent(preset=scripted(*moves), servers=(desk,)), ["ana"])
        assert (await ana.run("?")).text == "first"
        servers = handle(fleet, node())
        ray.kill(servers, no_restart=False)
        await living(servers)
        run = await ana.start("?")
        notices = [notice async for notice in run]
        assert (await run.outcome()).text == "second"
        assert [n for n in notices if n.extra_type == "failed"] == []


async def living(actor: Any) -> None:  # noqa: ANN401  Ray's, untyped
    """Wait until an actor that is started again answers."""
    async with asyncio.timeout(60):
        while True:
            with suppress(RayError):
                await actor.ping.remote()
                return
            await asyncio.sleep(0.05)
