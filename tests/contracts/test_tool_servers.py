"""Agents that use MCP servers, on both systems: who shares what, what ends when, and what a model reads."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from amrita_fleet import Agent, Fleet, McpStdio, NoticeType, ToolServerFailed
from amrita_fleet.protocols.notices import Notice
from amrita_fleet.protocols.providers.scripted import call, say, scripted

from .gate import Gate

MakeFleet = Callable[..., Fleet]

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

DESK = Path(__file__).resolve().parent.parent / "runtime" / "tools" / "mcp" / "desk.py"


@pytest.fixture
def desk() -> McpStdio:
    """A server whose processes no other test has."""
    return McpStdio("desk", sys.executable, (str(DESK), uuid4().hex))


def pids(server: McpStdio) -> list[int]:
    """The living processes of a server."""
    rows = subprocess.run(["ps", "-axwwo", "pid=,stat=,command="], capture_output=True, text=True, check=True).stdout  # noqa: S607
    ours = [row.split(None, 2) for row in rows.splitlines() if server.args[-1] in row]
    return [int(pid) for pid, state, _ in ours if not state.startswith("Z")]


def agent(*moves: object, server: McpStdio) -> Agent:
    return Agent(preset=scripted(*moves), servers=(server,))  # type: ignore[arg-type]


async def told(fleet: Fleet, name: str, extra: str) -> Notice:
    """The first notice of that kind about a tool of the agent."""
    async with asyncio.timeout(30):
        async for notice in fleet.notices():
            if (notice.agent, notice.type, notice.extra_type) == (name, NoticeType.TOOL, extra):
                return notice
    raise AssertionError


async def test_agents_of_one_node_share_one_process_which_ends_with_the_fleet(
    make_fleet: MakeFleet, desk: McpStdio
) -> None:
    async with make_fleet() as fleet:
        ana, bob = await fleet.spawn(agent(call("pid"), say("done"), server=desk), ["ana", "bob"])
        assert [str(await ana.run("?")), str(await bob.run("?"))] == ["answered", "answered"]
        assert len(pids(desk)) == 1
    assert pids(desk) == []


async def test_a_spawn_is_undone_when_a_server_cannot_be_used(make_fleet: MakeFleet, desk: McpStdio) -> None:
    bad = McpStdio("bad", sys.executable, ("-c", "raise SystemExit('no licence')"))
    async with make_fleet() as fleet:
        both = Agent(preset=scripted(), servers=(desk, bad))
        with pytest.raises(ToolServerFailed, match=r"'bad' cannot be used: .* its last words: no licence") as failed:
            await fleet.spawn(both, ["ana", "bob"])
        assert failed.value.server == "bad"
        assert pids(desk) == []
        (ana,) = await fleet.spawn(agent(call("pid"), say("done"), server=desk), ["ana"])
        assert (await ana.run("?")).answered


async def test_a_call_ends_when_its_agent_is_stopped(make_fleet: MakeFleet, desk: McpStdio) -> None:
    async with Gate() as gate, make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(call("gate", port=gate.port, name="a"), server=desk), ["ana"])
        run = await ana.start("?")
        await gate.begun("a")
        await ana.stop()
        assert str(await run.outcome()) == "stopped"
        await gate.cut("a")
        assert len(pids(desk)) == 1


async def test_a_server_that_dies_in_a_call_is_an_error_that_the_model_reads_and_the_next_call_works(
    make_fleet: MakeFleet, desk: McpStdio
) -> None:
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(call("crash"), call("pid"), say("done"), server=desk), ["ana"])
        run = await ana.start("?")
        assert (await run.outcome()).answered
        failed = await told(fleet, "ana", "failed")
        assert failed.text.startswith("crash: ERROR: The MCP server 'desk' cannot be used: it ended during this call")
        assert len(pids(desk)) == 1


async def test_a_tool_that_needs_a_person_waits_for_one(make_fleet: MakeFleet, desk: McpStdio) -> None:
    careful = McpStdio("desk", desk.command, desk.args, approval=True)
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(call("pid"), say("done"), server=careful), ["ana"])
        run = await ana.start("?")
        assert "waits for a person" in (await told(fleet, "ana", "approval")).text
        await ana.stop()
        assert str(await run.outcome()) == "stopped"
