"""An agent whose Supervisor is away stands still, says so, and goes on by itself; one that was overtaken gives way."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest

from amrita_fleet import Agent, PeerUnreachable, tool
from amrita_fleet.protocols.checkin import AgentStatus, CheckIn, Directive, Settlement
from amrita_fleet.protocols.ids import AgentId, Incarnation, RunId
from amrita_fleet.protocols.notices import Notice
from amrita_fleet.protocols.outcome import Outcome
from amrita_fleet.protocols.providers.script import Move, call, repeat, say
from amrita_fleet.protocols.providers.scripted import scripted
from amrita_fleet.protocols.waits import WaitRefusal, WaitRequest
from amrita_fleet.runtime.caller import UNREACHABLE_TRIES
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.config import AmritaConfig, FunctionConfig
from amrita_fleet.runtime.host import AgentHost, Seat, Surroundings
from amrita_fleet.runtime.journal.fleet_log import FleetLog
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.lease import RENEWAL, TERM
from amrita_fleet.runtime.local_ways import LocalAgents, LocalLink, LocalPost
from amrita_fleet.runtime.supervision.supervisor import Supervisor
from amrita_fleet.runtime.supervision.wait_desk import WaitDesk

pytestmark = pytest.mark.anyio

ANA = AgentId("ana")


class Line:
    """The way of one leased host to its Supervisor, which can be cut."""

    def __init__(self) -> None:
        self.clock = VirtualClock(1000.0)
        self.supervisor = Supervisor(fleet="f", limit=None, now=self.clock.now, post=lambda _agent, _text: None)
        self.inner = LocalLink("f", self.supervisor, WaitDesk(self.supervisor, LocalAgents({})))
        self.cut = False
        self.refuses = False
        self.asked: list[CheckIn] = []
        self.overtaken: list[str] = []
        self.begun = asyncio.Event()
        self.go = asyncio.Event()

    async def check_in(self, asked: CheckIn) -> Directive:
        self.asked.append(asked)
        self._whole()
        if self.refuses:
            raise PeerUnreachable(agent="supervisor", reason="check-ins are lost")
        return await self.inner.check_in(asked)

    async def settle(self, settlement: Settlement) -> None:
        self._whole()
        await self.inner.settle(settlement)

    async def report(self, status: AgentStatus, notices: tuple[Notice, ...]) -> None:
        self._whole()
        await self.inner.report(status, notices)

    async def wait(self, asked: WaitRequest) -> WaitRefusal | None:
        self._whole()
        return await self.inner.wait(asked)

    async def renew(self, agent: AgentId, incarnation: Incarnation) -> bool:
        self._whole()
        return await self.inner.renew(agent, incarnation)

    async def peers(self, agent: AgentId, incarnation: Incarnation) -> tuple[AgentStatus, ...]:
        return await self.inner.peers(agent, incarnation)

    def _whole(self) -> None:
        if self.cut:
            raise PeerUnreachable(agent="supervisor", reason="the line is cut")

    @asynccontextmanager
    async def host(self, *moves: Move, rounds: int = 4) -> AsyncGenerator[AgentHost]:
        """An agent with the tool `hold`, which waits for the test."""

        @tool
        async def hold() -> str:
            """Wait for the test."""
            self.begun.set()
            await self.go.wait()
            return "held"

        config = AmritaConfig(function_config=FunctionConfig(step_rounds=rounds))
        seat = Seat(ANA, self.supervisor.admit(ANA, None, None, 1))
        around = Surroundings(
            self,
            LocalPost({}, self.supervisor),
            self.clock,
            FleetLog(MemoryJournal(), "f"),
            self.overtaken.append,
            leased=True,
        )
        host = AgentHost(Agent(preset=scripted(*moves), tools=(hold,), config=config), seat, around)
        await host.open()
        try:
            yield host
        finally:
            self.cut = False
            await self.clock.advance(2.0)  # notices that wait are taken now; else the end would wait for them
            await host.close()

    async def until(self, done: Callable[[], bool]) -> None:
        """Let time pass, half a second at each tick, until something is so."""
        for _ in range(1_000):
            if done():
                return
            await self.clock.advance(0.5)
        raise AssertionError

    async def ended(self, host: AgentHost, run: RunId) -> Outcome:
        outcome = asyncio.ensure_future(host.outcome(run))
        await self.until(outcome.done)
        return outcome.result()


async def test_an_agent_that_is_cut_off_stands_before_its_model_call_says_so_and_goes_on_by_itself() -> None:
    line = Line()
    async with line.host(call("hold"), say("done")) as host:
        run = await host.start("go")
        await line.begun.wait()
        line.cut = True
        await line.clock.advance(TERM + 2.0)
        line.go.set()
        await line.clock.advance(60.0)
        status = host.status()
        assert (status.phase, status.note) == ("thinking", "cut off from the Supervisor for 77 s")
        assert len(line.asked) == 1, "nothing was begun meanwhile"
        line.cut = False
        assert (await line.ended(host, run)).text == "done"
        assert host.status().note == ""
    assert [n.text for n in line.supervisor.feed.read(0, 1000) if n.extra_type == "cut_off"] == [
        "goes on: it was cut off from the Supervisor for 78 s"
    ]
    assert {asked.attempt for asked in line.asked} == {1, 2}
    assert line.supervisor.accounts()[0].reserved.tokens == 0


async def test_an_agent_that_is_cut_off_begins_no_step() -> None:
    line = Line()
    async with line.host(call("hold"), say("done"), rounds=1) as host:
        run = await host.start("go")
        await line.begun.wait()
        line.cut = True
        await line.clock.advance(TERM)
        line.go.set()
        await line.clock.advance(1.0)
        assert (host.status().phase, host.status().note) == ("entering", "cut off from the Supervisor for 16 s")
        line.cut = False
        assert (await line.ended(host, run)).text == "done"


async def test_a_run_outlives_any_time_in_which_nobody_answers() -> None:
    line = Line()
    async with line.host(say("done")) as host:
        line.cut = True
        run = await host.start("go")
        await line.clock.advance(20.0 * UNREACHABLE_TRIES)
        line.cut = False
        assert (await line.ended(host, run)).answered
        assert {asked.attempt for asked in line.asked} == {1}
    assert line.supervisor.accounts()[0].reserved.tokens == 0


async def test_a_run_is_stopped_where_check_ins_fail_again_and_again_although_the_lease_is_renewed() -> None:
    line = Line()
    async with line.host(say("never")) as host:
        line.refuses = True
        outcome = await line.ended(host, await host.start("go"))
    assert str(outcome) == "stopped"
    assert "Supervisor cannot be reached" in outcome.reason
    assert len(line.asked) == UNREACHABLE_TRIES


async def test_a_persons_pause_is_not_lifted_by_the_lease_that_is_renewed() -> None:
    line = Line()
    async with line.host(call("hold"), say("done")) as host:
        run = await host.start("go")
        await line.begun.wait()
        line.cut = True
        line.supervisor.pause((ANA,), "a person said so")
        await line.clock.advance(TERM)
        line.go.set()
        await line.clock.advance(10.0)
        line.cut = False
        await line.clock.advance(60.0)
        assert host.status().phase == "paused"
        line.supervisor.pause((ANA,), None)
        host.pause(None)
        assert (await line.ended(host, run)).text == "done"


async def test_a_person_can_stop_an_agent_that_is_cut_off() -> None:
    line = Line()
    async with line.host(call("hold"), say("never")) as host:
        run = await host.start("go")
        await line.begun.wait()
        line.cut = True
        await line.clock.advance(TERM)
        line.go.set()
        await line.clock.advance(1.0)
        host.stop("enough")
        outcome = await line.ended(host, run)
    assert (str(outcome), outcome.reason) == ("stopped", "enough")


async def test_a_life_that_only_waits_for_mail_gives_way_soon_after_a_newer_one_was_admitted() -> None:
    line = Line()
    async with line.host(repeat(call("wait_for_messages", seconds=3000))) as host:
        run = await host.start("wait")
        waiting = asyncio.ensure_future(host.outcome(run))
        await line.until(lambda: host.status().phase == "waiting")
        line.supervisor.died(ANA, Incarnation(1), "its node was cut off", restart=True)
        line.supervisor.admit(ANA, None, None, 2)
        await line.clock.advance(RENEWAL)
        assert len(line.overtaken) == 1
        with pytest.raises(PeerUnreachable):
            await waiting
        with pytest.raises(PeerUnreachable):
            await host.deliver(b"")


async def test_a_drain_does_not_wait_for_an_agent_that_is_cut_off() -> None:
    line = Line()
    async with line.host(say("done")) as host:
        line.cut = True
        await host.start("go")
        await line.clock.advance(TERM)
        drained = asyncio.create_task(host.drain())
        await line.clock.advance(0.001)
        assert drained.done()
