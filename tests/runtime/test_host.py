"""What a host does beyond the contract: queues, ends, failing Supervisors, and what it must not lose."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest

from amrita_fleet import (
    Agent,
    AmritaConfig,
    ChannelClosed,
    Fleet,
    NameInvalid,
    PeerUnreachable,
    QueueFull,
    RunUnknown,
    SystemUnavailable,
    Tool,
    tool,
)
from amrita_fleet.protocols.checkin import AgentStatus, CheckIn, Directive, Proceed, Settlement
from amrita_fleet.protocols.ids import AgentId, Incarnation, RunId
from amrita_fleet.protocols.limits import Limits
from amrita_fleet.protocols.mail import ReceiptState, Refusal
from amrita_fleet.protocols.notices import Notice
from amrita_fleet.protocols.providers.script import Move, call, calls, fail, repeat, say
from amrita_fleet.protocols.providers.scripted import scripted
from amrita_fleet.protocols.waits import WaitRefusal, WaitRequest
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.config import LLMConfig, MailConfig
from amrita_fleet.runtime.host import QUEUE, AgentHost, Seat, Surroundings
from amrita_fleet.runtime.local_ways import LocalAgents, LocalLink, LocalPost
from amrita_fleet.runtime.supervision.supervisor import Supervisor
from amrita_fleet.runtime.supervision.wait_desk import WaitDesk

pytestmark = pytest.mark.anyio

ANA = AgentId("ana")


def agent(*moves: Move, tools: tuple[Tool, ...] = (), config: AmritaConfig | None = None) -> Agent:
    return Agent(preset=scripted(*moves), tools=tools, config=config or AmritaConfig())


class Held:
    """A tool that waits until the test lets it go on."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self.ended = False

    @property
    def tool(self) -> Tool:
        @tool
        async def hold() -> str:
            """Wait for the test."""
            self.begun.set()
            await self.go.wait()
            self.ended = True
            return "held"

        return hold


class House:
    """One host with a Supervisor whose line can be cut, and a clock that the test moves."""

    def __init__(self, limit: Limits | None = None) -> None:
        self.clock = VirtualClock(1000.0)
        self.bug: Exception | None = None
        self.supervisor = Supervisor(fleet="f", limit=limit, now=self.clock.now, post=lambda _agent, _text: None)
        self.inner = LocalLink("f", self.supervisor, WaitDesk(self.supervisor, LocalAgents({})))
        self.cut = False
        self.cut_settlements = False
        self.asked: list[CheckIn] = []
        self.settled: list[Settlement] = []
        self.hold_answers: asyncio.Event | None = None

    async def check_in(self, asked: CheckIn) -> Directive:
        self.asked.append(asked)
        if self.bug is not None:
            raise self.bug
        directive = await self.inner.check_in(asked)
        if self.hold_answers is not None:
            await self.hold_answers.wait()
        self._line()
        return directive

    async def settle(self, settlement: Settlement) -> None:
        if self.cut_settlements:
            raise PeerUnreachable(agent="supervisor", reason="settlements are lost")
        self._line()
        self.settled.append(settlement)
        await self.inner.settle(settlement)

    async def report(self, status: AgentStatus, notices: tuple[Notice, ...]) -> None:
        self._line()
        await self.inner.report(status, notices)

    async def wait(self, asked: WaitRequest) -> WaitRefusal | None:
        self._line()
        return await self.inner.wait(asked)

    async def renew(self, agent: AgentId, incarnation: Incarnation) -> bool:
        self._line()
        return await self.inner.renew(agent, incarnation)

    async def peers(self, agent: AgentId, incarnation: Incarnation) -> tuple[AgentStatus, ...]:
        return await self.inner.peers(agent, incarnation)

    def _line(self) -> None:
        if self.cut:
            raise PeerUnreachable(agent="supervisor", reason="the line is cut")

    @asynccontextmanager
    async def host(self, described: Agent) -> AsyncGenerator[AgentHost]:
        incarnation = self.supervisor.admit(ANA, None, None, 1)
        host = AgentHost(
            described, Seat(ANA, incarnation), Surroundings(self, LocalPost({}, self.supervisor), self.clock)
        )
        await host.open()
        try:
            yield host
        finally:
            self.cut = False
            await host.close()

    async def until(self, done: Callable[[], bool], ticks: int = 1_000) -> None:
        """Let virtual time pass, half a second at each tick, until something is so."""
        for _ in range(ticks):
            if done():
                return
            await self.clock.advance(0.5)
        raise AssertionError


async def test_a_run_waits_for_a_supervisor_that_comes_back_and_asks_under_the_same_number() -> None:
    house = House()
    async with house.host(agent(say("done"))) as host:
        house.cut = True
        run = await host.start("go")
        await house.until(lambda: len(house.asked) == 3)
        house.cut = False
        outcome = asyncio.ensure_future(host.outcome(run))
        await house.until(outcome.done)
    assert outcome.result().text == "done"
    assert {asked.attempt for asked in house.asked} == {1}
    assert house.supervisor.accounts()[0].reserved.tokens == 0


async def test_a_run_is_stopped_when_the_supervisor_stays_away() -> None:
    house = House()
    async with house.host(agent(say("never"))) as host:
        house.cut = True
        outcome = asyncio.ensure_future(host.outcome(await host.start("go")))
        await house.until(outcome.done)
        house.cut = False
        await house.clock.advance(1.0)  # the notices that wait are taken now; else the end would wait for them
    assert str(outcome.result()) == "stopped"
    assert "Supervisor cannot be reached" in outcome.result().reason


async def test_a_settlement_that_failed_is_reported_before_the_next_check_in() -> None:
    house, held = House(), Held()
    async with house.host(agent(call("hold"), say("done"), tools=(held.tool,))) as host:
        house.cut_settlements = True
        outcome = asyncio.ensure_future(host.outcome(await host.start("go")))
        await held.begun.wait()
        assert house.settled == []
        house.cut_settlements = False
        held.go.set()
        await house.until(outcome.done)
    assert [settlement.reservation for settlement in house.settled] == ["ana/1/1", "ana/1/2"]
    assert house.supervisor.accounts()[0].spent.tokens == outcome.result().tokens


async def test_a_grant_that_comes_after_the_stop_is_given_back() -> None:
    house = House()
    house.hold_answers = asyncio.Event()
    async with house.host(agent(say("never"))) as host:
        run = await host.start("go")
        await house.until(lambda: bool(house.asked))
        assert house.supervisor.accounts()[0].reserved.tokens > 0
        host.stop("enough")
        assert str(await host.outcome(run)) == "stopped"
        house.hold_answers.set()
        await house.until(lambda: house.supervisor.accounts()[0].reserved.tokens == 0)
    assert house.settled[0].tokens == 0


async def test_a_failed_call_is_tried_again_and_each_attempt_checks_in() -> None:
    house = House()
    moves = (fail("ProviderBusy", sentence="slow down", after=7.0), fail("ProviderOverloaded"), say("done"))
    async with house.host(agent(*moves)) as host:
        outcome = asyncio.ensure_future(host.outcome(await host.start("go")))
        await house.until(outcome.done)
    assert outcome.result().text == "done"
    assert sorted({asked.attempt for asked in house.asked}) == [1, 2, 3]
    assert house.clock.now() >= 1007.0


async def test_a_refused_agent_waits_in_its_row_and_under_one_number_and_not_twice_as_long() -> None:
    house = House()
    moves = (fail("ProviderBusy", sentence="slow down", after=20.0), say("done"))
    config = AmritaConfig(llm=LLMConfig(max_retries=1, retry_base=20.0))
    async with house.host(agent(*moves, config=config)) as host:
        outcome = asyncio.ensure_future(host.outcome(await host.start("go")))
        await house.until(lambda: len(house.asked) == 2)
        (row,) = house.supervisor.statuses()
        assert row.note.startswith("1st of 1 for scripted, cooling down for 2")
        await house.until(outcome.done)
    assert outcome.result().text == "done"
    assert 1020.0 <= house.clock.now() <= 1024.0
    assert [asked.attempt for asked in house.asked] == [1, 2, 2]
    assert [(settled.result, settled.after) for settled in house.settled] == [("busy", 20.0), ("ok", None)]


async def test_a_runs_time_limit_holds_while_it_waits_for_its_turn() -> None:
    house = House()
    moves = (fail("ProviderBusy", sentence="slow down", after=3_000.0), say("done"))
    async with house.host(agent(*moves)) as host:
        outcome = asyncio.ensure_future(host.outcome(await host.start("go", 60.0)))
        await house.until(outcome.done)
    assert str(outcome.result()) == "limit:time"
    assert house.clock.now() < 1100.0
    assert house.supervisor.accounts()[0].reserved.tokens == 0


async def test_the_wait_for_a_turn_uses_up_neither_retries_nor_patience() -> None:
    house = House()
    moves = (fail("ProviderBusy", sentence="slow down", after=3_000.0), say("done"))
    config = AmritaConfig(llm=LLMConfig(max_retries=1))
    async with house.host(agent(*moves, config=config)) as host:
        outcome = asyncio.ensure_future(host.outcome(await host.start("go")))
        await house.until(outcome.done, ticks=8_000)
    assert outcome.result().text == "done"
    assert house.clock.now() > 4_000.0


async def test_a_refused_key_is_not_tried_again() -> None:
    house = House()
    async with house.host(agent(fail("AuthRefused", sentence="no such key"))) as host:
        outcome = asyncio.ensure_future(host.outcome(await host.start("go")))
        await house.until(outcome.done)
    assert (str(outcome.result()), outcome.result().reason) == ("failed", "no such key")
    assert len(house.asked) == 1


async def test_attempts_end_after_the_last_retry() -> None:
    house = House()
    config = AmritaConfig(llm=LLMConfig(max_retries=2))
    async with house.host(agent(repeat(fail("ProviderBusy", sentence="busy")), config=config)) as host:
        outcome = asyncio.ensure_future(host.outcome(await host.start("go")))
        await house.until(outcome.done)
    assert str(outcome.result()) == "failed"
    assert {asked.attempt for asked in house.asked} == {1, 2, 3}


async def test_more_runs_than_the_queue_holds_are_refused() -> None:
    house, held = House(), Held()
    async with house.host(agent(repeat(call("hold")), tools=(held.tool,))) as host:
        first = await host.start("go")
        await held.begun.wait()
        waiting = [await host.start("more") for _ in range(QUEUE)]
        with pytest.raises(QueueFull):
            await host.start("too many")
        host.stop("enough")
        outcomes = [await host.outcome(run) for run in (first, *waiting)]
    assert {str(outcome) for outcome in outcomes} == {"stopped"}
    assert not held.ended


async def test_a_run_that_takes_too_long_gives_a_last_answer() -> None:
    house, held = House(), Held()
    async with house.host(agent(call("hold"), say("so far"), tools=(held.tool,))) as host:
        run = await host.start("go", time_limit=60.0)
        await held.begun.wait()
        outcome = asyncio.ensure_future(host.outcome(run))
        await house.until(outcome.done)
    assert (str(outcome.result()), outcome.result().text) == ("limit:time", "so far")
    assert not held.ended


async def test_an_unknown_run_is_named() -> None:
    house = House()
    async with house.host(agent(say("x"))) as host:
        with pytest.raises(RunUnknown, match=r"'ana' has no run 'ana\.9\.9'"):
            await host.outcome("ana.9.9")  # type: ignore[arg-type]


async def test_a_stopped_host_takes_no_more_runs() -> None:
    house = House()
    async with house.host(agent(say("x"))) as host:
        host.stop("enough")
        assert host.status().phase == "stopped"
        with pytest.raises(ChannelClosed):
            await host.start("more")


async def test_mail_is_kept_for_the_next_run_or_refused_as_the_agent_says() -> None:
    keep, refuse = (AmritaConfig(mail=MailConfig(on_mail=how)) for how in ("keep", "refuse"))
    async with Fleet(system="local") as fleet:
        await fleet.spawn(agent(say("one"), config=keep), ["keeper"])
        await fleet.spawn(agent(say("one"), config=refuse), ["refuser"])
        kept, refused = await fleet.send("keeper", "hello"), await fleet.send("refuser", "hello")
        assert (refused.state, refused.refusal) == (ReceiptState.REFUSED, Refusal.CLOSED)
        assert (await fleet.receipt(kept)).state is ReceiptState.ACCEPTED
        await fleet.agent("keeper").run("now")
        assert (await fleet.receipt(kept)).state is ReceiptState.CONSUMED


async def test_what_was_accepted_and_never_consumed_is_a_dead_letter_its_sender_hears_of() -> None:
    held = Held()
    async with Fleet(system="local") as fleet:
        await fleet.spawn(agent(call("hold"), tools=(held.tool,)), ["bob"])
        moves = (call("send_message", to="bob", body="psst"), call("wait_for_messages", seconds=30), say("told"))
        (ana,) = await fleet.spawn(agent(*moves), ["ana"])
        bob = await fleet.start("bob", "work")
        await held.begun.wait()
        run = await ana.start("tell bob")
        async for notice in fleet.notices():
            if notice.agent == "ana" and notice.extra_type == "waiting":
                break
        await fleet.stop("bob")
        notices = [notice async for notice in run]
        assert str(await bob.outcome()) == "stopped"
    (told,) = [notice for notice in notices if notice.extra_type == "consumed"]
    assert "bob never read your message" in told.text


async def test_names_that_no_agent_can_have_are_refused_and_nothing_is_spawned() -> None:
    async with Fleet(system="local") as fleet:
        for name in ("user", "supervisor", "", "a b", "ü"):
            with pytest.raises(NameInvalid):
                await fleet.spawn(agent(say("x")), ["fine", name])
        assert await fleet.statuses() == ()


def test_an_unknown_system_is_named() -> None:
    with pytest.raises(SystemUnavailable, match="there are only local, ray"):
        Fleet(system="mars")  # type: ignore[arg-type]


async def test_the_next_preset_takes_over_when_one_fails_for_good_and_the_run_goes_on() -> None:
    refuses = scripted(call("hold"), fail("AuthRefused", sentence="no such key"), say("anew"), model="first")
    busy = scripted(repeat(fail("ProviderBusy", sentence="busy")), model="second")
    house, held = House(), Held()
    held.go.set()
    described = Agent(
        preset=refuses,
        fallbacks=(busy, scripted(say("saved"), model="third")),
        tools=(held.tool,),
        config=AmritaConfig(llm=LLMConfig(max_retries=1)),
    )
    async with house.host(described) as host:
        outcome = asyncio.ensure_future(host.outcome(await host.start("go")))
        await house.until(outcome.done)
        again = asyncio.ensure_future(host.outcome(await host.start("again")))
        await house.until(again.done)
    notices = [notice for notice in house.supervisor.feed.read(0, 1000) if notice.extra_type == "fallback"]
    assert outcome.result().text == "saved"
    assert [notice.data["preset"] for notice in notices] == [1, 2]
    assert again.result().text == "anew", "the next run begins with the first preset, whose script goes on"


async def test_an_outcome_names_the_error_that_failed_its_run() -> None:
    house = House()
    async with house.host(agent(say("hi"), fail("AuthRefused", sentence="no such key"))) as host:
        ends = [asyncio.ensure_future(host.outcome(await host.start("go"))) for _ in range(2)]
        for end in ends:
            await house.until(end.done)
    assert [(end.result().ending, end.result().error) for end in ends] == [
        ("answered", ""),
        ("failed", "AuthRefused"),
    ]


async def test_a_grant_that_comes_after_the_deadline_is_given_back_and_the_last_answer_is_counted() -> None:
    house = House()
    house.hold_answers = asyncio.Event()
    async with house.host(agent(say("last words"))) as host:
        outcome = asyncio.ensure_future(host.outcome(await host.start("go", time_limit=5.0)))
        await house.until(lambda: len(house.asked) == 2)
        house.hold_answers.set()
        await house.until(outcome.done)
        await house.until(lambda: house.supervisor.accounts()[0].reserved.tokens == 0)
    assert (str(outcome.result()), outcome.result().text) == ("limit:time", "last words")
    assert [asked.attempt for asked in house.asked] == [1, 2]
    assert house.supervisor.accounts()[0].spent.tokens == outcome.result().tokens > 0


async def test_a_call_that_is_cancelled_before_it_began_costs_nothing() -> None:
    house = House()
    house.hold_answers = asyncio.Event()
    async with house.host(agent(say("never"))) as host:
        run = await host.start("go")
        await house.until(lambda: bool(house.asked))
        house.hold_answers.set()
        host.stop("enough")  # the grant and the stop are taken in one turn
        assert str(await host.outcome(run)) == "stopped"
        await house.until(lambda: house.supervisor.accounts()[0].reserved.tokens == 0)
    assert house.supervisor.accounts()[0].spent.tokens == 0


@pytest.mark.slow
async def test_tokens_that_never_come_back_are_not_waited_for_without_end() -> None:
    house = House(limit=Limits(tokens=8_000))
    house.supervisor.admit(AgentId("bob"), None, None, 1)
    held = CheckIn(AgentId("bob"), Incarnation(1), RunId("r"), 1, "thinking", 1, "p", 100, 7_000)
    assert isinstance(house.supervisor.check_in(held), Proceed)
    async with house.host(agent(say("never"))) as host:
        outcome = asyncio.ensure_future(host.outcome(await host.start("go")))
        await house.until(outcome.done, ticks=10_000)
    assert str(outcome.result()) == "limit:tokens"
    assert house.clock.now() >= 1_300.0


async def test_a_tool_that_cancels_itself_has_failed() -> None:
    @tool
    async def suicidal() -> str:
        """Cancel the task it runs in."""
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        return "never"

    house = House()
    async with house.host(agent(call("suicidal"), say("went on"), tools=(suicidal,))) as host:
        outcome = await host.outcome(await host.start("go"))
    assert outcome.text == "went on"


async def test_a_bug_in_a_task_ends_the_run_and_nobody_waits_for_ever() -> None:
    house = House()
    house.bug = ValueError("a bug")
    async with house.host(agent(say("never"))) as host:
        run, queued = await host.start("go"), await host.start("later")
        outcomes = [await host.outcome(run), await host.outcome(queued)]
        assert host.status().phase == "stopped"
        with pytest.raises(ChannelClosed):
            await host.start("more")
    assert [str(outcome) for outcome in outcomes] == ["failed", "failed"]
    assert outcomes[0].reason == "ValueError: a bug"


async def test_a_supervisor_that_cannot_be_reached_keeps_nobody_from_waiting() -> None:
    house = House()

    @tool
    async def cut_the_line() -> str:
        """Cut it, until the wait is over."""
        house.cut = True
        return "cut"

    moves = (calls(call("cut_the_line"), call("wait_for_messages", seconds=60.0)), say("nobody wrote"))
    async with house.host(agent(*moves, tools=(cut_the_line,))) as host:
        outcome = asyncio.ensure_future(host.outcome(await host.start("go")))
        await house.until(lambda: host.status().phase == "waiting")
        began = house.clock.now()
        await house.until(lambda: host.status().phase != "waiting")
        house.cut = False
        await house.until(outcome.done)
    assert house.clock.now() - began >= 60.0
    assert outcome.result().text == "nobody wrote"
