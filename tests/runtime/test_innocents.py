"""Agents that are slow, or stand still for a reason: the watch leaves them alone, however long it takes."""

import asyncio
from dataclasses import dataclass
from itertools import count

import pytest

from amrita_fleet import Agent, ModelPreset, Reply, ToolContext, tool
from amrita_fleet.protocols.outcome import Ending
from amrita_fleet.protocols.providers.base import Draft, Provider, Watcher
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat
from amrita_fleet.protocols.providers.script import call, fail, say
from amrita_fleet.protocols.providers.scripted import ScriptedProvider, scripted
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.journal_errors import JournalUnavailable
from amrita_fleet.runtime.run_suspensions import BOUNDARY, MODEL, TOOL
from amrita_fleet.runtime.supervision.deadlines import Deadlines
from amrita_fleet.runtime.supervision.finding import Trouble
from amrita_fleet.runtime.supervision.policy import Course, Rung, Stage, WatchPolicy
from amrita_fleet.runtime.suspension import Stand
from amrita_fleet.runtime.system import SpawnOrder

from .house import ANA, BOB, House, hang, opened

pytestmark = pytest.mark.anyio

LONG = 300.0
HASTY = WatchPolicy(deadlines=Deadlines(model=5.0, tool=5.0, between=5.0), period=1.0)
"""A watch that would find trouble in anything that takes longer than five seconds."""


async def test_a_poll_every_round_with_changing_results_is_left_alone() -> None:
    async with opened() as house:
        done = count(1)

        @tool(polling=True)
        async def progress() -> str:
            """Wait for ten seconds, and say how far the build is."""
            await house.clock.sleep(10)
            return f"{next(done)} of 60 parts are built"

        await house.spawn(ANA, *[call("progress")] * 60, say("built"), tools=(progress,))
        run = await house.system.start(ANA, "wait for the build", None)
        assert (await house.until(house.system.outcome(ANA, run))).text == "built"
        assert await house.watched() == []


async def test_a_model_call_of_ninety_seconds_is_left_alone() -> None:
    houses: list[House] = []

    class SlowProvider(ScriptedProvider):
        """Thinks for 90 seconds."""

        async def call(self, draft: Draft, output: int, watch: Watcher | None = None) -> Reply:
            await houses[0].clock.sleep(90)
            return await super().call(draft, output, watch)

    @dataclass(frozen=True)
    class Slow(OpenAIChat):
        """The adapter of such a provider."""

        @staticmethod
        def get_adapter_protocol() -> tuple[str, ...]:
            return ("slow",)

        @classmethod
        def direct(cls, preset: ModelPreset) -> Provider:
            return SlowProvider(scripted(say("thought over"), model=preset.model))

    async with opened() as house:
        houses.append(house)
        agent = Agent(preset=ModelPreset(model="m", protocol="slow"))
        await house.system.spawn((SpawnOrder(ANA, agent),), lambda _ready, _ordered: None)
        began = house.clock.now()
        run = await house.system.start(ANA, "think", None)
        assert (await house.until(house.system.outcome(ANA, run))).text == "thought over"
        assert house.clock.now() - began >= 90
        assert await house.watched() == []


@pytest.mark.parametrize(("seconds", "beat"), [(300, 30), (900, 300)])
async def test_a_long_tool_that_says_that_it_goes_on_is_left_alone(seconds: int, beat: int) -> None:
    houses: list[House] = []

    @tool
    async def build(context: ToolContext) -> str:
        """Take its time, and say so."""
        for part in range(seconds // beat):
            await houses[0].clock.sleep(beat)
            context.progress(f"part {part}")
            context.progress("this one comes too soon to be told")
        return "built"

    policy = WatchPolicy(deadlines=Deadlines(tool=beat + 5.0))
    async with opened(policy) as house:
        houses.append(house)
        await house.spawn(ANA, call("build"), say("done"), tools=(build,))
        run = await house.system.start(ANA, "go", None)
        assert (await house.until(house.system.outcome(ANA, run))).text == "done"
        await house.clock.advance(1)
        assert await house.watched() == []
        parts = [each.text for each in await house.notices("tool.progress")]
        assert parts == [f"build: part {part}" for part in range(seconds // beat)]


async def test_a_tool_that_goes_silent_after_its_first_signs_of_life_is_no_innocent() -> None:
    @tool
    async def build(context: ToolContext) -> str:
        """Say once that it goes on, and hang."""
        context.progress("begun")
        await asyncio.Event().wait()
        return "never"

    async with opened(HASTY) as house:
        await house.spawn(ANA, call("build"), tools=(build,))
        await house.system.start(ANA, "go", None)
        await house.clock.advance(10)
        assert await house.watched() == ["found"]


async def test_an_agent_that_waits_for_mail_for_five_minutes_and_one_that_is_idle_are_left_alone() -> None:
    async with opened(WatchPolicy(deadlines=Deadlines(model=5.0, tool=15.0, between=5.0), period=1.0)) as house:

        @tool
        async def work(context: ToolContext) -> str:
            """Take five minutes, with a sign of life every four seconds."""
            for _ in range(75):
                await house.clock.sleep(4)
                context.progress("on it")
            return "worked"

        await house.spawn(ANA, call("wait_for_messages", seconds=LONG, from_agents=["bob"]), say("nothing came"))
        await house.spawn(BOB, call("work"), say("done"), tools=(work,))
        await house.system.start(BOB, "work", None)
        await house.system.start(ANA, "wait", None)
        await house.clock.advance(LONG - 100)
        notes = {row.agent: row.note for row in await house.system.statuses()}
        assert notes[ANA].startswith("waits for mail of bob since")
        assert await house.watched() == []


async def test_an_agent_that_waits_at_the_gate_of_its_provider_for_five_minutes_is_left_alone() -> None:
    async with opened(HASTY) as house:
        await house.spawn(ANA, fail("ProviderBusy", after=LONG), say("at last"))
        await house.spawn(BOB, say("I waited too"))
        runs = [(ANA, await house.system.start(ANA, "go", None))]
        await house.clock.advance(1)
        runs.append((BOB, await house.system.start(BOB, "go", None)))
        await house.clock.advance(LONG / 2)
        notes = [row.note for row in await house.system.statuses()]
        assert all("for scripted, cooling down for" in note for note in notes)
        for name, run in runs:
            assert (await house.until(house.system.outcome(name, run))).answered
        assert await house.watched() == []


async def test_a_call_that_is_held_for_approval_for_five_minutes_is_left_alone_and_so_is_its_tool_after_that() -> None:
    async with opened(HASTY) as house:

        @tool(approval=True)
        async def pay() -> str:
            """Pay, which takes four seconds."""
            await house.clock.sleep(4)
            return "paid"

        await house.spawn(ANA, call("pay"), say("done"), tools=(pay,))
        run = await house.system.start(ANA, "pay", None)
        await house.clock.advance(LONG)
        (pending,) = await house.system.approvals.pending()
        await house.system.approvals.answer(pending.id, allowed=True, reason="")
        assert (await house.until(house.system.outcome(ANA, run))).text == "done"
        assert await house.watched() == []


@pytest.mark.parametrize("tag", [BOUNDARY, MODEL, TOOL])
async def test_a_run_that_stands_suspended_for_five_minutes_is_left_alone_and_so_is_what_it_goes_on_with(
    tag: str,
) -> None:
    async with opened(HASTY) as house:

        @tool
        async def work() -> str:
            """Take four seconds."""
            await house.clock.sleep(4)
            return "worked"

        await house.spawn(ANA, call("work"), say("done"), tools=(work,))
        stand = Stand("token", (tag,))
        run = await house.system.start(ANA, "go", None, (), stand)
        control = house.system.control(ANA)
        assert await house.until(control.suspend(run, stand, None)) == tag
        await house.clock.advance(LONG)
        await control.resume_point("token")
        assert (await house.until(house.system.outcome(ANA, run))).text == "done"
        assert await house.watched() == []


async def test_an_agent_that_is_paused_for_five_minutes_is_left_alone() -> None:
    async with opened(HASTY) as house:

        @tool
        async def work() -> str:
            """Take four seconds."""
            await house.clock.sleep(4)
            return "worked"

        await house.spawn(ANA, call("work"), say("done"), tools=(work,))
        run = await house.system.start(ANA, "go", None)
        await house.clock.advance(1)
        await house.system.pause(ANA, "lunch")
        await house.clock.advance(LONG)
        await house.system.pause(ANA, None)
        assert (await house.until(house.system.outcome(ANA, run))).text == "done"
        assert await house.watched() == []


class LeakyJournal(MemoryJournal):
    """Is away for some of the streams."""

    def __init__(self) -> None:
        super().__init__()
        self.away: tuple[str, ...] = ()

    async def append(
        self, stream: str, incarnation: int, first: int, records: tuple[bytes, ...], *, snapshot: bool = False
    ) -> None:
        if stream in self.away:
            raise JournalUnavailable(where="of a test", reason="the disk is full")
        await super().append(stream, incarnation, first, records, snapshot=snapshot)


@pytest.mark.parametrize("stream", ["f/agent/ana", "f/ledger"])
async def test_agents_whose_journal_is_away_are_left_alone(stream: str) -> None:
    """The agent cannot write down what its tool gave it, or the Supervisor cannot write down what it grants."""
    journal = LeakyJournal()
    async with opened(HASTY, journal) as house:

        @tool
        async def work() -> str:
            """Take a second."""
            await house.clock.sleep(1)
            return "worked"

        await house.spawn(ANA, call("work"), call("work"), say("done"), tools=(work,))
        run = await house.until(house.system.start(ANA, "go", None))
        await house.clock.advance(0.5)
        journal.away = (stream,)
        await house.clock.advance(LONG)
        assert "the disk is full" in (await house.system.statuses())[0].note
        journal.away = ()
        assert (await house.until(house.system.outcome(ANA, run))).text == "done"
        assert await house.watched() == []


async def test_nothing_is_done_about_an_agent_that_hangs_while_the_journal_is_away_and_what_is_due_is_done_after() -> (
    None
):
    journal = MemoryJournal()
    course = Course((Stage(Rung.NOTIFY, 5.0), Stage(Rung.CANCEL)))
    policy = WatchPolicy(deadlines=HASTY.deadlines, courses={Trouble.TOOL: course}, period=1.0)
    async with opened(policy, journal) as house:
        await house.spawn(ANA, call("hang"), tools=(hang,))
        run = await house.until(house.system.start(ANA, "go", None))
        await house.clock.advance(1)
        journal.broken = "the disk is full"
        await house.clock.advance(LONG)
        assert await house.watched() == ["found"]
        assert [row.phase for row in await house.system.statuses()] == ["acting"]
        journal.broken = ""
        assert (await house.until(house.system.outcome(ANA, run))).ending is Ending.STOPPED
        assert await house.watched() == ["found", "found", "cancelled"]
