"""What the watch does to the agents of a local fleet, over hours of a virtual clock."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from amrita_fleet import Agent, ModelPreset, ToolContext, tool
from amrita_fleet.protocols.checkin import AgentStatus, CheckIn, Directive, Proceed
from amrita_fleet.protocols.ids import AgentId, Incarnation, RunId
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.protocols.outcome import Ending, Limit
from amrita_fleet.protocols.providers.base import Provider
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat
from amrita_fleet.protocols.providers.script import call, fail, say
from amrita_fleet.protocols.providers.scripted import scripted
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.supervision.deadlines import Deadlines
from amrita_fleet.runtime.supervision.finding import Trouble
from amrita_fleet.runtime.supervision.policy import Course, Rung, Stage, WatchPolicy
from amrita_fleet.runtime.supervision.supervisor import Supervisor
from amrita_fleet.runtime.system import SpawnOrder
from amrita_fleet.runtime.watchdog import Watchdog

from .house import ANA, BOB, LEAD, LIMITS, MuteProvider, hang, opened

pytestmark = pytest.mark.anyio


async def test_a_tool_that_never_returns_has_its_run_ended_and_watchers_and_the_parent_are_told_why() -> None:
    async with opened() as house:
        await house.spawn(LEAD, say("I see."))
        await house.spawn(ANA, call("hang"), say("done"), parent=LEAD, tools=(hang,))
        run = await house.system.start(ANA, "go", None)
        await house.clock.advance(LIMITS.tool)
        assert await house.watched() == []
        await house.clock.advance(90)
        outcome = await house.system.outcome(ANA, run)
        assert await house.watched() == ["found", "cancelled"]
        told = (await house.notices("watch.found"))[0]
        assert (told.agent, told.data["trouble"], told.data["tool"]) == (ANA, "tool", "hang")
        assert told.text.startswith("ana is in tool hang for 60")
        assert outcome.ending is Ending.STOPPED
        assert outcome.reason.startswith("the watch ended it: ana is in tool hang for")
        again = await house.system.start(ANA, "go on", None)  # the agent itself is as good as before
        assert (await house.system.outcome(ANA, again)).text == "done"
        await house.system.start(LEAD, "what is the matter?", None)
        await house.clock.advance(1)
        read = [each.text for each in await house.notices("mail.consumed") if each.agent == LEAD]
        assert any("Ana is in tool hang" in text and "The run is ended." in text for text in read)


async def test_a_model_call_that_never_answers_is_named_while_it_lasts_and_ended() -> None:
    @dataclass(frozen=True)
    class Mute(OpenAIChat):
        """A provider that takes a request and says nothing."""

        @staticmethod
        def get_adapter_protocol() -> tuple[str, ...]:
            return ("mute",)

        @classmethod
        def direct(cls, preset: ModelPreset) -> Provider:
            return MuteProvider(scripted(say("never"), model=preset.model))

    async with opened() as house:
        agent = Agent(preset=ModelPreset(model="m", protocol="mute"))
        await house.system.spawn((SpawnOrder(ANA, agent),), lambda _ready, _ordered: None)
        run = await house.system.start(ANA, "go", None)
        await house.clock.advance(41)
        assert [row.note for row in await house.system.statuses()] == ["waiting on model mute for 41 s"]
        await house.clock.advance(LIMITS.model + 60)
        assert await house.watched() == ["found", "cancelled"]
        assert (await house.system.outcome(ANA, run)).ending is Ending.STOPPED


async def test_between_two_attempts_no_model_is_waited_for() -> None:
    async with opened() as house:
        await house.spawn(ANA, fail("ProviderUnreachable", after=20), say("done"))
        run = await house.system.start(ANA, "go", None)
        await house.clock.advance(10)
        assert [row.note.rpartition(" for ")[0] for row in await house.system.statuses()] == ["between model calls"]
        assert (await house.until(house.system.outcome(ANA, run))).text == "done"


@pytest.mark.parametrize("text", [3, None, b"3"], ids=repr)
async def test_a_sign_of_life_that_is_no_text_is_refused_where_it_is_given(text: Any) -> None:  # noqa: ANN401
    @tool
    async def build(context: ToolContext) -> str:
        """Say how far it is."""
        context.progress(text)
        return "built"

    async with opened() as house:
        await house.spawn(ANA, call("build"), say("done"), tools=(build,))
        run = await house.system.start(ANA, "go", None)
        await house.clock.advance(1)
        assert (await house.system.outcome(ANA, run)).answered
        (failed,) = await house.notices("tool.failed")
        assert "What was given as 'text' cannot be used: it must be of type str" in failed.text


async def test_a_sync_tool_gives_its_signs_of_life_from_its_thread() -> None:
    @tool
    def build(context: ToolContext) -> str:
        """Say once that it goes on."""
        context.progress("half")
        return "built"

    async with opened() as house:
        await house.spawn(ANA, call("build"), say("done"), tools=(build,))
        run = await house.system.start(ANA, "go", None)
        await house.system.outcome(ANA, run)
        await house.clock.advance(1)
        assert [each.text for each in await house.notices("tool.progress")] == ["build: half"]


async def test_two_agents_in_a_ping_pong_are_told_to_stop_and_at_last_their_runs_are_ended() -> None:
    async with opened() as house:

        @tool
        async def ponder() -> str:
            """Take three seconds, and come to nothing new."""
            await house.clock.sleep(3)
            return "hm"

        for name, to, body in ((ANA, "bob", "Thank you!"), (BOB, "ana", "You are welcome.")):
            moves = call("ponder"), call("send_message", to=to, body=body), call("wait_for_messages")
            await house.spawn(name, *moves * 100, tools=(ponder,))
        began = house.clock.now()
        run = await house.system.start(ANA, "Thank bob.", None)
        await house.clock.advance(400)
        assert await house.watched() == ["found", "noted", "step_ended", "cancelled"]
        found = (await house.notices("watch.found"))[0]
        assert found.data["agents"] == [ANA, BOB]
        assert found.text.startswith("ana and bob sent each other the same 2 messages 4 times")
        assert found.at - began <= 4 * 6 + WatchPolicy().period + 1  # four rounds, and a look
        read = [each.text for each in await house.notices("mail.consumed")]
        assert any("do not answer this again" in text for text in read)
        assert (await house.system.outcome(ANA, run)).reason.startswith("the watch ended it: ana and bob")
        assert {row.phase for row in await house.system.statuses()} == {"idle"}


async def test_a_quarantined_agent_is_stopped_and_its_life_is_over() -> None:
    policy = WatchPolicy(courses={Trouble.TOOL: Course((Stage(Rung.QUARANTINE),))})
    async with opened(policy, MemoryJournal()) as house:
        await house.spawn(ANA, call("hang"), tools=(hang,))
        await house.until(house.system.start(ANA, "go", None))
        await house.clock.advance(LIMITS.tool + 30)
        assert await house.watched() == ["quarantined"]
        assert await house.notices("agent.stopped") != []
        (row,) = await house.system.statuses()
        assert (row.phase, row.incarnation) == ("dead", 1)


async def test_the_step_of_an_agent_that_is_to_end_it_is_ended_once_and_the_run_goes_on() -> None:
    policy = WatchPolicy(
        courses={Trouble.CALL_LOOP: Course((Stage(Rung.END_STEP),))}, deadlines=Deadlines(call_rounds=2), period=0.5
    )
    clock: list[VirtualClock] = []

    @tool
    async def look() -> str:
        """Take a second, and see nothing."""
        await clock[0].sleep(1)
        return "nothing"

    async with opened(policy) as house:
        clock.append(house.clock)
        await house.spawn(ANA, call("look"), call("look"), call("look"), call("look"), say("done"), tools=(look,))
        run = await house.system.start(ANA, "look", None)
        await house.clock.advance(20)
        assert (await house.system.outcome(ANA, run)).text == "done"
        assert await house.watched() == ["step_ended"]
        assert len(await house.notices("step.leave")) > 1


async def test_a_step_that_was_to_end_with_a_run_that_is_over_is_not_ended_in_the_next_run() -> None:
    policy = WatchPolicy(
        courses={Trouble.CALL_LOOP: Course((Stage(Rung.END_STEP),))}, deadlines=Deadlines(call_rounds=2), period=0.5
    )

    @tool
    def look() -> str:
        """See nothing."""
        return "nothing"

    async with opened(policy) as house:
        moves = (call("look"), call("look"), call("hang"), say("late"), say("done"))
        await house.spawn(ANA, *moves, tools=(look, hang))
        run = await house.system.start(ANA, "look", 10)
        await house.clock.advance(20)
        assert (await house.system.outcome(ANA, run)).limit is Limit.TIME
        assert await house.watched() == ["step_ended"]  # it was to be, and then the run's time was over
        run = await house.system.start(ANA, "answer", None)
        await house.clock.advance(5)
        assert (await house.system.outcome(ANA, run)).text == "done"
        assert [each.text for each in await house.notices("step.leave") if each.run == run] == ["Step 2 ends"]


async def test_a_killed_agent_goes_on_in_its_next_life_where_there_is_a_journal() -> None:
    @tool(replay="safe")
    async def hang_once(context: ToolContext) -> str:
        """Never return in the first life."""
        if context.incarnation == 1:
            await asyncio.Event().wait()
        return "returned"

    policy = WatchPolicy(courses={Trouble.TOOL: Course((Stage(Rung.KILL),))})
    async with opened(policy, MemoryJournal()) as house:
        await house.spawn(ANA, call("hang_once"), say("I go on."), tools=(hang_once,))
        run = await house.until(house.system.start(ANA, "go", None))
        waiting = asyncio.create_task(house.system.outcome(ANA, run))
        await house.clock.advance(LIMITS.tool + 30)
        outcome = await house.until(waiting)
        assert await house.watched() == ["killed"]
        assert outcome.ending is Ending.ANSWERED
        assert [row.incarnation for row in await house.system.statuses()] == [2]


async def test_a_killed_agent_is_dead_where_there_is_no_journal_and_whoever_waits_learns_why() -> None:
    policy = WatchPolicy(courses={Trouble.TOOL: Course((Stage(Rung.KILL),))})
    async with opened(policy) as house:
        await house.spawn(ANA, call("hang"), say("never"), tools=(hang,))
        run = await house.system.start(ANA, "go", None)
        waiting = asyncio.create_task(house.system.outcome(ANA, run))
        await house.clock.advance(LIMITS.tool + 30)
        assert (await waiting).reason.startswith("the watch ended it: ana is in tool hang")
        (row,) = await house.system.statuses()
        assert (row.phase, row.note) == ("dead", (await waiting).reason)


async def test_a_policy_of_the_fleets_own_may_only_tell() -> None:
    policy = WatchPolicy(courses={trouble: Course((Stage(Rung.NOTIFY),)) for trouble in Trouble})
    async with opened(policy) as house:
        await house.spawn(ANA, call("hang"), tools=(hang,))
        await house.system.start(ANA, "go", None)
        await house.clock.advance(3 * LIMITS.tool)
        assert await house.watched() == ["found"]


class Line:
    """The way to an agent to which something happens right after it has said how it is."""

    def __init__(self, row: AgentStatus) -> None:
        self.row = row
        self.clock = VirtualClock(1_700_000_000.0)
        self.supervisor = Supervisor(fleet="f", limit=None, now=self.clock.now, post=lambda _agent, _text: None)
        self.supervisor.admit(row.agent, None, None, 1)
        self.supervisor.report(row, ())
        self.watchdog = Watchdog(self.supervisor, self, lambda _agent, _text: None, self.clock)
        self.meanwhile: Callable[[], None] = lambda: None
        self.blocked = False

    async def status(self, agent: AgentId) -> AgentStatus:  # noqa: ARG002
        await self.clock.advance(0.1)
        self.meanwhile()
        return self.row

    async def beat(self, agent: AgentId) -> None:  # noqa: ARG002
        if self.blocked:
            await asyncio.Event().wait()

    async def cancel(self, agent: AgentId, reason: str) -> None: ...

    async def kill(self, agent: AgentId, reason: str) -> None: ...

    async def stop(self, agent: AgentId, reason: str) -> None: ...

    async def tell_stopped(self, agent: AgentId, reason: str) -> None: ...

    async def why(self, phase: str) -> str:
        """What is said of the agent after a look, in the phase that it is in by now."""
        await self.watchdog.look()
        (row,) = self.watchdog.explained((replace(self.row, phase=phase),))
        return row.note


async def test_a_tool_call_that_begins_while_its_agent_is_asked_how_it_is_stays_known() -> None:
    line = Line(AgentStatus(ANA, Incarnation(1), "thinking", 0.0, RunId("ana.1.1"), step=1, round=1))
    now = line.clock.now() + 0.1
    began = Notice(NoticeType.TOOL, "started", ANA, "hang", line.row.run, 1, {"tool": "hang", "call": 1}, at=now)
    line.meanwhile = lambda: line.supervisor.report(replace(line.row, phase="acting"), (began,))
    assert await line.why("acting") == "in tool hang for 0 s"


async def test_a_model_call_that_begins_while_its_agent_is_asked_how_it_is_stays_known() -> None:
    run = RunId("ana.1.1")
    line = Line(AgentStatus(ANA, Incarnation(1), "entering", 0.0, run, step=1))
    await line.watchdog.look()
    asked = CheckIn(ANA, Incarnation(1), run, 1, "thinking", 1, "openai", bound=10, output=10)
    granted = list[Directive]()
    line.meanwhile = lambda: granted.append(line.watchdog.check_in(asked))
    assert await line.why("thinking") == "waiting on model openai for 0 s"
    assert isinstance(granted[0], Proceed)


async def test_an_agent_that_blocks_before_it_can_tell_that_it_works_is_found_all_the_same() -> None:
    run = RunId("ana.1.1")
    line = Line(AgentStatus(ANA, Incarnation(1), "idle", 0.0))
    line.watchdog.check_in(CheckIn(ANA, Incarnation(1), run, 1, "thinking", 1, "openai", bound=10, output=10))
    line.row, line.blocked = replace(line.row, phase="acting", run=run, step=1, tools=("block",)), True
    for _ in range(10):
        await line.watchdog.look()
        await line.clock.advance(LIMITS.loop / 2)
    found = [each for each in line.supervisor.feed.read(0, 100) if each.extra_type == "found"]
    assert [each.data["trouble"] for each in found] == ["wedged"]


async def test_who_has_checked_in_and_is_idle_is_asked_once() -> None:
    asked = 0

    def count() -> None:
        nonlocal asked
        asked += 1

    line = Line(AgentStatus(ANA, Incarnation(1), "idle", 0.0))
    line.meanwhile = count
    line.watchdog.check_in(CheckIn(ANA, Incarnation(1), RunId("r"), 1, "thinking", 1, "openai", bound=10, output=10))
    for _ in range(3):
        await line.watchdog.look()
    assert asked == 1


async def test_a_look_that_fails_is_told_in_the_log_and_the_next_one_follows(
    caplog: pytest.LogCaptureFixture,
) -> None:
    line = Line(AgentStatus(ANA, Incarnation(1), "thinking", 0.0, RunId("ana.1.1"), step=1, round=1))
    looks = 0

    def once() -> None:
        nonlocal looks
        looks += 1
        if looks == 1:
            raise RuntimeError("nobody foresaw this")

    line.meanwhile = once
    watching = asyncio.create_task(line.watchdog.run())
    async with asyncio.timeout(20):
        while looks < 2:
            await line.clock.advance(1.0)
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching
    assert "a look of the watch failed" in caplog.text
