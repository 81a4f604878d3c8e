"""An agent's lease on Ray: what it does while its Supervisor stands still, and once another life has overtaken it."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from amrita_fleet import Agent, Fleet
from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.protocols.codec import decode
from amrita_fleet.protocols.providers.scripted import call, say
from amrita_fleet.runtime.lease import RENEWAL, TERM

from ..contracts.gate import Gate
from .blocker import ended
from .steady import event, handle, journaled, pid_of, steady, until

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.ray,
    pytest.mark.slow,
    pytest.mark.timeout(180),
    pytest.mark.usefixtures("ray_cluster"),
]


async def status_of_ana(fleet: Fleet) -> AgentStatus:
    """What the agent says of itself, while nobody can ask the Supervisor."""
    return decode(await handle(fleet, "agent:ana").status.remote(), AgentStatus)


async def ana_is(fleet: Fleet, phase: str, note: str) -> None:
    async with asyncio.timeout(60):
        while True:
            status = await status_of_ana(fleet)
            if status.phase == phase and status.note.startswith(note):
                return
            await asyncio.sleep(0.2)


async def test_an_agent_whose_supervisor_stands_still_stands_before_its_model_call_and_goes_on_with_it(
    tmp_path: Path,
) -> None:
    async with Gate() as gate, journaled(tmp_path / "journal.sqlite") as fleet:
        model = steady(call("gate", name="one"), say("done"))
        (ana,) = await fleet.spawn(Agent(preset=model, tools=(gate.tool,)), ["ana"])
        run = await ana.start("go")
        await gate.begun("one")
        supervisor = pid_of(fleet, "supervisor")
        os.kill(supervisor, signal.SIGSTOP)
        try:
            await ana_is(fleet, "acting", "cut off from the Supervisor for ")
            gate.let("one")
            await ana_is(fleet, "thinking", "cut off from the Supervisor for ")
        finally:
            os.kill(supervisor, signal.SIGCONT)
        outcome = await run.outcome()
        assert (outcome.text, outcome.answered, outcome.rounds) == ("done", True, 2)
        [*_, told] = await until(fleet, event("ana", "cut_off"))
        seconds = told.data["seconds"]
        assert isinstance(seconds, float)
        assert seconds >= TERM
        assert (await status_of_ana(fleet)).note == ""


async def test_a_life_that_was_overtaken_while_it_waits_for_mail_ends_soon(tmp_path: Path) -> None:
    async with journaled(tmp_path / "journal.sqlite") as fleet:
        (ana,) = await fleet.spawn(Agent(preset=steady(call("wait_for_messages", seconds=500), say("told"))), ["ana"])
        run = await ana.start("wait")
        await until(fleet, event("ana", "waiting"))
        old = (await status_of_ana(fleet)).pid
        # What the owner does when Ray takes a process for dead that lives on, as on a node that is cut off.
        await handle(fleet, "supervisor").died.remote("ana", 1, "its node was cut off", True)  # noqa: FBT003
        async with asyncio.timeout(RENEWAL + 10):
            await ended(old)
        await ana.send("go on")
        assert (await run.outcome()).text == "told"
        [row] = await fleet.statuses()
        assert row.incarnation == 2
