"""A drain: agents go on to their next boundary, begin nothing new, and leave no trace of having been drained."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager

import pytest

from amrita_fleet import Agent, AmritaConfig, ChannelClosed, FleetClosed, Hooks, PeerUnreachable, StepBegun, tool
from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.protocols.ids import USER, AgentId, RunId
from amrita_fleet.protocols.mail import ReceiptState
from amrita_fleet.protocols.notices import Notice
from amrita_fleet.protocols.outcome import Outcome
from amrita_fleet.protocols.providers.script import Move, call, calls, fail, say
from amrita_fleet.protocols.providers.scripted import scripted
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.draining import undrained
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.local import LocalSystem
from amrita_fleet.runtime.ports import Record
from amrita_fleet.runtime.sender import Sender
from amrita_fleet.runtime.suspension import Stand
from amrita_fleet.runtime.system import SpawnOrder

pytestmark = pytest.mark.anyio

ANA = AgentId("ana")
MOMENT = 0.001


class Process:
    """One process of a fleet, whose time the test moves, with a tool that waits for the test and one that is asked."""

    def __init__(self, journal: MemoryJournal | None = None) -> None:
        self.clock = VirtualClock(1000.0)
        self.system = LocalSystem("f", None, self.clock, journal)
        self.begun: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.go: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

        @tool(replay="safe")
        async def hold(name: str) -> str:
            """Wait for the test."""
            self.begun[name].set()
            await self.go[name].wait()
            return "held"

        @tool(approval=True)
        async def ask() -> str:
            """Run once a person allows it."""
            return "allowed"

        self.tools = (hold, ask)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator["Process"]:
        await self.system.open()
        try:
            yield self
        finally:
            await self.system.close()

    async def spawn(self, *moves: Move, hooks: tuple[Hooks, ...] = (), name: AgentId = ANA) -> None:
        agent = Agent(preset=scripted(*moves), tools=self.tools, config=AmritaConfig(), hooks=hooks)
        await self.system.spawn((SpawnOrder(name, agent),), lambda _ready, _ordered: None)

    async def start(self) -> RunId:
        return await self.system.start(ANA, "go", None)

    def drain(self, grace: float = 60.0) -> "asyncio.Task[None]":
        async def drain() -> None:
            await self.system.drain(grace)

        return asyncio.create_task(drain())

    async def ana(self) -> AgentStatus:
        [row] = [row for row in await self.system.statuses() if row.agent == ANA]
        return row

    async def reached(self, phase: str) -> None:
        async with asyncio.timeout(10):
            while (await self.ana()).phase != phase:
                await self.clock.advance(MOMENT)

    async def outcome(self, run: RunId) -> Outcome:
        outcome = asyncio.ensure_future(self.system.outcome(ANA, run))
        async with asyncio.timeout(10):
            while not outcome.done():
                await self.clock.advance(0.5)
        return outcome.result()

    async def told(self, kind: str) -> list[Notice]:
        return [notice for notice in await self.system.notices(0, 0) if notice.extra_type == kind]


async def test_an_agent_that_is_drained_ends_its_round_and_stands_at_the_boundary() -> None:
    async with Process().open() as process:
        await process.spawn(call("hold", name="x"), say("never"))
        run = await process.start()
        await process.begun["x"].wait()
        drained = process.drain()
        await process.clock.advance(30.0)
        assert not drained.done()
        process.go["x"].set()
        await process.clock.advance(MOMENT)
        assert drained.done()
        await process.clock.advance(30.0)
        row = await process.ana()
        assert (row.phase, row.run, row.round) == ("entering", run, 1)
        assert row.note == "to stand at its next boundary, because its fleet is being closed"
        assert await process.told("undrained") == []


async def test_an_agent_goes_on_where_nobody_ends_it_after_its_drain() -> None:
    async with Process().open() as process:
        await process.spawn(call("hold", name="x"), say("first"), say("second"))
        first = await process.start()
        await process.begun["x"].wait()
        second = await process.start()
        drained = process.drain()
        await process.clock.advance(1.0)
        process.go["x"].set()
        await process.clock.advance(1.0)
        assert drained.done()
        process.system._hosts[ANA].undrain()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        assert ((await process.outcome(first)).text, (await process.outcome(second)).text) == ("first", "second")


async def test_a_model_call_that_is_made_anew_ends_before_an_agent_is_drained() -> None:
    async with Process().open() as process:
        await process.spawn(fail("ProviderBusy", after=7.0), say("done"))
        run = await process.start()
        await process.clock.advance(1.0)
        drained = process.drain()
        await process.clock.advance(5.0)
        assert not drained.done()
        await process.clock.advance(5.0)
        assert drained.done()
        assert (await process.outcome(run)).text == "done"


async def test_what_waits_for_its_turn_does_not_begin() -> None:
    async with Process().open() as process:
        await process.spawn(call("hold", name="x"), call("wait_for_messages", seconds=500), say("never"))
        first = await process.start()
        await process.begun["x"].wait()
        await process.start()
        drained = process.drain()
        await process.clock.advance(1.0)
        process.go["x"].set()
        await process.clock.advance(1.0)
        assert drained.done()
        await process.system.stop((), "enough")
        await process.outcome(first)
        await process.clock.advance(10.0)
        assert [notice.run for notice in await process.told("started") if notice.type == "run"] == [first]


async def test_mail_wakes_nobody_who_is_drained_and_is_kept() -> None:
    async with Process().open() as process:
        await process.spawn(say("never"))
        await process.system.drain(1.0)
        sender = Sender(USER, await process.system.admit_user(), process.system.post, process.clock)
        receipt = await sender.send(ANA, "hello")
        await process.clock.advance(10.0)
        assert receipt.state is ReceiptState.ACCEPTED
        row = await process.ana()
        assert (row.phase, row.waiting) == ("idle", 1)
        await sender.aclose()


class At:
    """How agents come to rest that no drain waits for."""

    @staticmethod
    async def idle(process: Process) -> None:
        await process.spawn(say("done"))
        assert (await process.outcome(await process.start())).text == "done"

    @staticmethod
    async def waiting(process: Process) -> None:
        await process.spawn(call("wait_for_messages", seconds=500), say("never"))
        await process.start()
        await process.reached("waiting")

    @staticmethod
    async def paused(process: Process) -> None:
        await process.spawn(call("hold", name="x"), say("never"))
        await process.start()
        await process.begun["x"].wait()
        await process.system.pause(ANA, "a person said so")
        process.go["x"].set()
        await process.reached("paused")

    @staticmethod
    async def held(process: Process) -> None:
        await process.spawn(call("ask"), say("never"))
        await process.start()
        await process.reached("acting")
        while not await process.system.approvals.pending():
            await process.clock.advance(MOMENT)

    @staticmethod
    async def suspended(process: Process) -> None:
        await process.spawn(call("hold", name="x"), say("never"))
        await process.system.start(ANA, "go", None, (), Stand("token", ("model",)))
        await process.reached("thinking")
        while not (await process.ana()).note.startswith("suspended at"):
            await process.clock.advance(MOMENT)


@pytest.mark.parametrize("how", ["idle", "waiting", "paused", "held", "suspended"])
async def test_who_rests_already_is_not_waited_for(how: str) -> None:
    async with Process().open() as process:
        await getattr(At, how)(process)
        before = process.clock.now()
        async with asyncio.timeout(10):
            await process.system.drain(1.0)
        assert process.clock.now() == before
        assert await process.told("undrained") == []


async def test_a_call_that_runs_beside_one_that_a_person_must_allow_is_waited_for() -> None:
    async with Process().open() as process:
        await process.spawn(calls(call("ask"), call("hold", name="x")), say("never"))
        await process.start()
        await process.begun["x"].wait()
        drained = process.drain()
        await process.clock.advance(1.0)
        assert not drained.done()
        process.go["x"].set()
        await process.clock.advance(MOMENT)
        assert drained.done()


async def test_a_step_that_a_hook_has_let_begin_is_waited_for() -> None:
    class Slow(Hooks):
        async def before_step(self, _point: StepBegun) -> None:
            begun.set()
            await go.wait()

    begun, go = asyncio.Event(), asyncio.Event()
    async with Process().open() as process:
        await process.spawn(say("done"), hooks=(Slow(),))
        run = await process.start()
        await begun.wait()
        drained = process.drain()
        await process.clock.advance(1.0)
        assert not drained.done()
        go.set()
        assert (await process.outcome(run)).text == "done"
        assert drained.done()


async def test_who_reaches_no_boundary_in_time_is_named_and_its_run_is_stopped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Process().open() as process:
        await process.spawn(call("hold", name="x"), say("never"))
        await process.spawn(say("never"), name=AgentId("bob"))
        run = await process.start()
        outcome = asyncio.ensure_future(process.system.outcome(ANA, run))
        await process.begun["x"].wait()
        drained = process.drain(10.0)
        with caplog.at_level(logging.WARNING):
            await process.clock.advance(10.0)
        assert drained.done()
        [notice] = await process.told("undrained")
        assert (notice.agent, notice.run, notice.step, notice.at) == (ANA, run, 1, 1010.0)
        assert notice.text == "reached no boundary within 10 s, acting as it is, and is cut off in mid-Step"
        assert notice.data == {"phase": "acting", "seconds": 10.0}
        assert "ana is cut off in mid-Step: it did not reach a boundary in time" in caplog.text
    assert (str(await outcome), (await outcome).reason) == ("stopped", "the fleet is closed")


async def test_a_drained_run_goes_on_by_itself_in_the_next_process() -> None:
    journal = MemoryJournal()
    async with Process(journal).open() as process:
        await process.spawn(call("hold", name="x"), say("never"))
        run = await process.start()
        queued = await process.start()
        await process.begun["x"].wait()
        drained = process.drain()
        process.go["x"].set()
        await process.clock.advance(1.0)
        assert drained.done()
    async with Process(journal).open() as process:
        await process.spawn(say("done"), say("and done"))
        assert (await process.outcome(run)).text == "done"
        assert (await process.outcome(queued)).text == "and done"
        assert [notice.data["may_have_run"] for notice in await process.told("revived")] == [[]]
        assert await process.told("paused") == []


async def test_a_persons_pause_outlives_a_drain() -> None:
    journal = MemoryJournal()
    async with Process(journal).open() as process:
        await At.paused(process)
        run = (await process.ana()).run
        await process.system.drain(1.0)
    assert run is not None
    async with Process(journal).open() as process:
        await process.spawn(say("done"))
        await process.clock.advance(10.0)
        assert (await process.ana()).phase == "paused"
        await process.system.pause(ANA, None)
        assert (await process.outcome(run)).text == "done"


async def test_nobody_is_spawned_while_a_fleet_drains() -> None:
    async with Process().open() as process:
        await process.system.drain(1.0)
        with pytest.raises(FleetClosed):
            await process.spawn(say("never"))
        assert (await process.ana()).phase == "dead"


class SlowJournal(MemoryJournal):
    """Opens the streams of agents only when the test lets it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.go = asyncio.Event()

    async def open(self, stream: str, incarnation: int) -> tuple[Record, ...]:
        if "/agent/" in stream:
            self.asked.set()
            await self.go.wait()
        return await super().open(stream, incarnation)


async def end_by_a_drain(system: LocalSystem) -> None:
    await system.drain(0.0)


async def end_at_once(system: LocalSystem) -> None:
    await system.close()


@pytest.mark.parametrize("end", [end_by_a_drain, end_at_once])
async def test_an_agent_that_comes_to_life_while_its_fleet_ends_is_refused_and_its_run_waits_for_the_next_process(
    end: Callable[[LocalSystem], Coroutine[None, None, None]],
) -> None:
    journal = SlowJournal()
    journal.go.set()
    async with Process(journal).open() as process:
        await process.spawn(call("hold", name="x"), say("never"))
        run = await process.start()
        await process.begun["x"].wait()
    journal.go.clear()
    journal.asked.clear()
    async with Process(journal).open() as process:
        spawning = asyncio.ensure_future(process.spawn(say("never")))
        async with asyncio.timeout(10):
            await journal.asked.wait()
        await end(process.system)
        journal.go.set()
        with pytest.raises(FleetClosed):
            await spawning
        assert (await process.ana()).phase == "dead"
        with pytest.raises(ChannelClosed, match="its spawn was undone"):
            await process.start()
    async with Process(journal).open() as process:
        process.go["x"].set()
        await process.spawn(say("done"))
        assert (await process.outcome(run)).text == "done"


async def nothing() -> None:
    """What is over at once."""


async def unreachable() -> None:
    raise PeerUnreachable(agent="ana", reason="its process does not answer")


async def for_ever() -> None:
    await asyncio.Event().wait()


async def test_who_does_not_answer_has_not_drained_and_the_others_are_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    drains = {AgentId("ana"): unreachable(), AgentId("bob"): nothing()}
    async with asyncio.timeout(10):
        assert await undrained(drains, for_ever()) == ("ana",)
    [record] = caplog.records
    assert record.message.startswith("ana may be cut off in mid-Step, for it does not answer: 'ana' cannot be reached")


async def test_whoever_waits_for_a_drain_no_longer_is_told_in_the_log_who_has_not_drained(
    caplog: pytest.LogCaptureFixture,
) -> None:
    drains = {AgentId("ana"): for_ever(), AgentId("bob"): nothing()}
    waiting = asyncio.create_task(undrained(drains, for_ever()))
    await asyncio.sleep(0.01)
    with caplog.at_level(logging.WARNING):
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert [record.message for record in caplog.records] == [
        "ana is cut off in mid-Step: nobody waits for it any longer"
    ]


async def test_a_fleet_without_agents_has_drained() -> None:
    async with asyncio.timeout(10):
        assert await undrained({}, for_ever()) == ()
