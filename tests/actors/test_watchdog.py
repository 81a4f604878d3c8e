"""What the watch does to agents that live in processes of their own."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from amrita_fleet import (
    Agent,
    AmritaConfig,
    ChannelClosed,
    Course,
    Deadlines,
    Fleet,
    FunctionConfig,
    LLMConfig,
    Rung,
    Stage,
    Trouble,
    WatchPolicy,
    tool,
)
from amrita_fleet.protocols.outcome import Ending
from amrita_fleet.protocols.providers.scripted import call, say, scripted

from .blocker import Blocker
from .steady import event, pid_of, steady, until

pytestmark = [pytest.mark.anyio, pytest.mark.ray, pytest.mark.slow, pytest.mark.usefixtures("ray_cluster")]

SOON = Deadlines(loop=1.0, process=2.0, tool=1.0)
PERIOD = 0.3


def policy(trouble: Trouble, *rungs: Rung) -> WatchPolicy:
    """Only one trouble, and each rung of it at once."""
    courses = {each: Course(()) for each in Trouble} | {trouble: Course(tuple(map(Stage, rungs)))}
    return WatchPolicy(deadlines=SOON, courses=courses, period=PERIOD)


async def test_a_tool_that_blocks_its_loop_is_named_and_its_process_is_followed_by_another(tmp_path: Path) -> None:
    watch = policy(Trouble.WEDGED, Rung.NOTIFY, Rung.KILL)
    async with Blocker() as blocker, Fleet(journal=tmp_path / "journal.sqlite", watch=watch) as fleet:
        model = steady(call("block"), say("I go on without."))
        (ana,) = await fleet.spawn(Agent(preset=model, tools=(blocker.tool,)), ["ana"])
        run = await ana.start("go")
        await blocker.begun()
        found = (await until(fleet, event("ana", "found")))[-1]
        assert (found.data["trouble"], found.data["tool"]) == ("wedged", "block")
        assert "its loop has not answered for" in found.text
        assert "in tool block" in found.text
        outcome = await run.outcome()
        assert (outcome.ending, outcome.text) == (Ending.ANSWERED, "I go on without.")
        await until(fleet, event("ana", "killed"))
        assert [row.incarnation for row in await fleet.statuses()] == [2]


async def test_a_tool_that_never_returns_has_its_run_ended_and_the_agent_lives_on() -> None:
    @tool
    async def hang() -> str:
        """Never return."""
        await asyncio.Event().wait()
        return "never"

    async with Fleet(watch=policy(Trouble.TOOL, Rung.NOTIFY, Rung.CANCEL)) as fleet:
        (ana,) = await fleet.spawn(Agent(preset=scripted(call("hang"), say("hello")), tools=(hang,)), ["ana"])
        outcome = await ana.run("go")
        assert outcome.ending is Ending.STOPPED
        assert outcome.reason.startswith("the watch ended it: ana is in tool hang for")
        assert (await ana.run("are you there?")).text == "hello"


async def test_who_is_under_a_quarantined_agent_is_told_at_once_that_it_is_stopped_too() -> None:
    @tool
    async def hang() -> str:
        """Never return."""
        await asyncio.Event().wait()
        return "never"

    async with Fleet(watch=policy(Trouble.TOOL, Rung.QUARANTINE)) as fleet:
        (ana,) = await fleet.spawn(Agent(preset=scripted(call("hang")), tools=(hang,)), ["ana"])
        (bob,) = await fleet.spawn(Agent(preset=scripted(say("never"))), ["bob"], parent=ana)
        await ana.start("go")
        await until(fleet, event("ana", "died"))
        assert {str(row.agent): row.phase for row in await fleet.statuses()} == {"ana": "dead", "bob": "stopped"}
        with pytest.raises(ChannelClosed, match="the watch ended it: ana is in tool hang"):
            await bob.start("are you there?")


async def test_a_process_that_is_stopped_by_a_signal_is_unreachable_and_followed_by_another(tmp_path: Path) -> None:
    watch = policy(Trouble.UNREACHABLE, Rung.NOTIFY, Rung.KILL)
    async with Blocker() as blocker, Fleet(journal=tmp_path / "journal.sqlite", watch=watch) as fleet:
        model = steady(call("block"), say("I go on without."))
        (ana,) = await fleet.spawn(Agent(preset=model, tools=(blocker.tool,)), ["ana"])
        run = await ana.start("go")
        await blocker.begun()
        os.kill((await fleet.statuses())[0].pid, signal.SIGSTOP)
        found = (await until(fleet, event("ana", "found")))[-1]
        assert found.data["trouble"] == "unreachable"
        assert (await run.outcome()).text == "I go on without."
        assert [row.incarnation for row in await fleet.statuses()] == [2]


async def test_two_agents_in_a_ping_pong_are_found_and_their_runs_are_ended() -> None:
    async with Fleet(watch=policy(Trouble.MESSAGE_LOOP, Rung.NOTIFY, Rung.NOTE, Rung.END_STEP, Rung.CANCEL)) as fleet:
        rounds, memory = FunctionConfig(agent_tool_call_limit=100_000), LLMConfig(memory_strategy="none")
        config = AmritaConfig(function_config=rounds, llm=memory)  # a summary would take a move of the script
        for name, to, body in (("ana", "bob", "Thank you!"), ("bob", "ana", "You are welcome.")):
            moves = call("send_message", to=to, body=body), call("wait_for_messages")
            await fleet.spawn(Agent(preset=scripted(*moves * 5000), config=config), [name])
        run = await fleet.agent("ana").start("Thank bob.")
        notices = await until(fleet, event("ana", "cancelled"))
        assert [each.extra_type for each in notices if each.type == "watch"] == [
            "found",
            "noted",
            "step_ended",
            "cancelled",
        ]
        assert (await run.outcome()).reason.startswith("the watch ended it: ana and bob sent each other the same 2")


async def test_a_service_is_watched_over_as_well_and_its_killed_agents_live_again(
    ray_cluster: str, tmp_path: Path
) -> None:
    watch = policy(Trouble.WEDGED, Rung.KILL)
    fleet = Fleet(service=True, journal=tmp_path / "journal.sqlite", address=ray_cluster, watch=watch)
    async with Blocker() as blocker, fleet:
        try:
            model = steady(call("block"), say("I go on without."))
            (ana,) = await fleet.spawn(Agent(preset=model, tools=(blocker.tool,)), ["ana"])
            run = await ana.start("go")
            await blocker.begun()
            assert (await run.outcome()).text == "I go on without."
            assert [row.incarnation for row in await fleet.statuses()] == [2]
        finally:
            await fleet.end()


@pytest.mark.parametrize("service", [False, True], ids=["owned", "service"])
async def test_whoever_follows_a_supervisor_that_died_watches_by_the_same_policy(
    ray_cluster: str, tmp_path: Path, *, service: bool
) -> None:
    watch = policy(Trouble.TOOL, Rung.NOTIFY, Rung.CANCEL)
    journal = tmp_path / "journal.sqlite"
    fleet = Fleet(service=service, journal=journal, address=ray_cluster if service else None, watch=watch)

    @tool
    async def hang() -> str:
        """Never return."""
        await asyncio.Event().wait()
        return "never"

    async with fleet:
        try:
            model = steady(call("hang"), say("I go on without."))
            (ana,) = await fleet.spawn(Agent(preset=model, tools=(hang,)), ["ana"])
            os.kill(pid_of(fleet, "supervisor"), signal.SIGKILL)
            outcome = await ana.run("go")
            assert (outcome.ending, outcome.reason[:41]) == (
                Ending.STOPPED,
                "the watch ended it: ana is in tool hang f",
            )
        finally:
            if service:
                await fleet.end()
