"""Waits for mail on Ray: of those that die, and under a Supervisor that takes over for another one."""

import asyncio
from pathlib import Path

import pytest

from amrita_fleet import Agent, Fleet, Notice
from amrita_fleet.protocols.providers.scripted import call, say, scripted

from ..contracts.gate import Gate
from .steady import event, journaled, kill, steady, until

pytestmark = [pytest.mark.anyio, pytest.mark.ray, pytest.mark.slow, pytest.mark.usefixtures("ray_cluster")]


def causes(notices: list[Notice]) -> list[object]:
    """Why waits were ended."""
    return [notice.data["cause"] for notice in notices if notice.extra_type == "wait_ended"]


async def test_a_wait_for_an_agent_whose_process_died_is_refused() -> None:
    async with Gate() as gate, Fleet() as fleet:
        waits = call("wait_for_messages", from_agents=["bob"], seconds=600)
        moves = call("gate", name="a"), waits, say("Bob is dead.")
        (ana,) = await fleet.spawn(Agent(preset=scripted(*moves), tools=(gate.tool,)), ["ana"])
        await fleet.spawn(Agent(preset=scripted(say("never"))), ["bob"])
        run = await ana.start("Wait for bob.")
        await gate.begun("a")
        kill(fleet, "agent:bob")
        await until(fleet, event("bob", "died"))
        gate.let("a")
        notices = [notice async for notice in run]
        assert (await run.outcome()).text == "Bob is dead."
    assert causes(notices) == ["gone"]


async def test_a_knot_that_was_begun_under_two_supervisors_is_found(tmp_path: Path) -> None:
    async with Gate() as gate, journaled(tmp_path / "journal.sqlite") as fleet:
        for name, other in (("ana", "bob"), ("bob", "ana")):
            waits = call("wait_for_messages", from_agents=[other], seconds=600)
            tells = call("send_message", to=other, body="I go on.")
            model = steady(call("gate", name=name), waits, tells, say("done"))
            await fleet.spawn(Agent(preset=model, tools=(gate.tool,)), [name])
        runs = [await fleet.start(name, "Wait.") for name in ("ana", "bob")]
        gate.let("ana")
        await until(fleet, event("ana", "waiting"))
        kill(fleet, "supervisor")
        gate.let("bob")
        async with asyncio.timeout(60):
            assert [(await run.outcome()).text for run in runs] == ["done", "done"]
        ended = await until(fleet, event("bob", "finished"))
    assert len(causes(ended)) == 1
