"""Somebody ends an agent's process: it goes on as after any other death."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from amrita_fleet import Agent, AgentUnknown, Fleet, tool
from amrita_fleet.protocols.notices import Notice
from amrita_fleet.protocols.providers.scripted import call, say, scripted

pytestmark = pytest.mark.anyio


def first(once: Path) -> bool:
    """Whether nobody asked this before."""
    there = once.exists()
    once.touch()
    return not there


def hanging(once: Path) -> Agent:
    """An agent whose tool never returns the first time; the model is asked anew in each life."""

    @tool
    async def hang() -> str:
        """Never return, unless it did not return before."""
        if first(once):
            await asyncio.Event().wait()
        return "back"

    return Agent(preset=scripted(call("hang"), say("It hung.")), tools=(hang,))


async def happened(fleet: Fleet, event: str) -> Notice:
    async for notice in fleet.notices():
        if f"{notice.type}.{notice.extra_type}" == event:
            return notice
    raise AssertionError


async def test_an_agent_that_was_killed_in_a_tool_ends_its_run_in_its_next_life(
    reopen: Callable[[], Fleet], tmp_path: Path
) -> None:
    async with reopen() as fleet, asyncio.timeout(60):
        (ana,) = await fleet.spawn(hanging(tmp_path / "once"), ["ana"])
        run = await ana.start("Hang.")
        await happened(fleet, "tool.started")
        await fleet.kill(ana)
        assert (await happened(fleet, "agent.died")).data["restarts"] is True
        assert (await run.outcome()).text == "It hung."


async def test_whoever_is_not_there_cannot_be_killed(make_fleet: Callable[..., Fleet]) -> None:
    async with make_fleet() as fleet, asyncio.timeout(60):
        await fleet.spawn(Agent(preset=scripted(say("hi"))), ["ana"])
        with pytest.raises(AgentUnknown, match="Did you mean ana"):
            await fleet.kill("anna")
