"""What is asked of a stream is asked of the run that it serves, each request once, and never for longer."""

import asyncio
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.ids import AgentId, RunId
from amrita_fleet.protocols.providers.scripted import say, scripted
from amrita_fleet.runtime.agent import Agent
from amrita_fleet.runtime.clock import settle
from amrita_fleet.runtime.control import Control, Relay
from amrita_fleet.runtime.errors import PeerUnreachable
from amrita_fleet.runtime.local import LocalSystem
from amrita_fleet.runtime.run_suspensions import RunSuspensions
from amrita_fleet.runtime.stream_errors import SuspendTimedOut, SuspensionRefused
from amrita_fleet.runtime.suspension import Stand, Suspension
from amrita_fleet.runtime.system import SpawnOrder

pytestmark = pytest.mark.anyio

RUN, OTHER = RunId("ana.1.1"), RunId("ana.1.2")


class Pair:
    """A stream's suspension, and those of the agent to which its requests are carried."""

    def __init__(self) -> None:
        self.agent = RunSuspensions((RUN, OTHER).__contains__)
        self.relay = Relay()
        self.stream = Suspension(self.relay.take)

    def begin(self) -> None:
        """Ask for a run, which the agent has from now on."""
        stand = self.relay.begin(Control(self.agent))
        if stand is not None:
            self.agent.ask(RUN, stand)

    def serve(self) -> None:
        self.begin()
        self.relay.serve(RUN)

    def asked(self, *tags: str) -> "asyncio.Task[str]":
        return asyncio.create_task(self.stream.request(tags))

    def work(self, tag: str, run: RunId = RUN) -> "asyncio.Task[None]":
        return asyncio.create_task(self.agent.point(run, tag))


class Unreachable(Control):
    """The way to an agent that hears what is asked of it, and whose answers are lost."""

    async def suspend(self, run: RunId, stand: Stand, timeout: float | None) -> str:  # noqa: ASYNC109
        await super().suspend(run, stand, timeout)
        raise PeerUnreachable(agent="ana", reason="the line is cut")

    async def resume_point(self, token: str) -> None:
        await super().resume_point(token)
        raise PeerUnreachable(agent="ana", reason="the line is cut")


async def test_the_agent_stands_for_as_long_as_the_stream_asks() -> None:
    pair = Pair()
    pair.serve()
    asked = pair.asked("tool")
    await settle()
    passed, standing = pair.work("model"), pair.work("tool")
    assert await asked == "tool"
    await settle()
    assert (passed.done(), standing.done()) == (True, False)
    pair.stream.resume()
    await pair.relay.carried
    await standing


async def test_a_request_made_before_the_run_holds_from_its_first_point_on() -> None:
    pair = Pair()
    asked = pair.asked("boundary")
    await settle()
    pair.begin()
    standing = pair.work("boundary")
    await settle()
    assert (standing.done(), asked.done()) == (False, False)
    pair.relay.serve(RUN)
    assert await asked == "boundary"
    pair.stream.resume()
    await standing


async def test_a_request_that_is_over_before_the_run_is_known_is_withdrawn_when_it_is() -> None:
    pair = Pair()
    asked = pair.asked()
    await settle()
    pair.begin()
    asked.cancel()
    await settle()
    assert pair.agent.asked(RUN)
    pair.relay.serve(RUN)
    await pair.relay.carried
    assert not pair.agent.asked(RUN)


async def test_what_a_run_may_stand_for_of_which_nobody_knows_is_withdrawn() -> None:
    pair = Pair()
    asked = pair.asked()
    await settle()
    pair.begin()
    pair.stream.close("its run could not begin")
    pair.relay.serve(None)
    await pair.relay.carried
    assert not pair.agent.asked(RUN)
    with pytest.raises(SuspensionRefused, match="could not begin"):
        await asked


async def test_a_producer_that_stands_already_is_not_the_agents_concern() -> None:
    pair = Pair()
    asked = pair.asked()
    await settle()
    standing = asyncio.create_task(pair.stream.point("mine"))
    assert await asked == "mine"
    pair.serve()
    await settle()
    assert not pair.agent.asked(RUN)
    pair.stream.resume()
    await standing


async def test_who_asked_and_is_gone_leaves_the_agent_alone() -> None:
    pair = Pair()
    pair.serve()
    asked = pair.asked("tool")
    await settle()
    asked.cancel()
    await settle()
    await pair.relay.carried
    assert not pair.agent.asked(RUN)
    with pytest.raises(SuspendTimedOut):
        await pair.stream.request(("tool",), 0.001)
    await pair.relay.carried
    assert not pair.agent.asked(RUN)


async def test_a_suspension_of_somebody_else_is_neither_shared_nor_ended() -> None:
    pair = Pair()
    pair.serve()
    same, other = (asyncio.create_task(pair.agent.reached(run, Stand(run), None)) for run in (RUN, OTHER))
    await settle()
    with pytest.raises(SuspensionRefused, match="asked for already"):
        await pair.stream.request()
    pair.stream.resume()
    await pair.relay.carried
    standing = pair.work("tool"), pair.work("tool", OTHER)
    await asyncio.gather(same, other)
    pair.stream.resume()
    pair.stream.close("over")
    await settle()
    assert not any(each.done() for each in standing)
    for run in (RUN, OTHER):
        pair.agent.withdraw(run)
    await asyncio.gather(*standing)


async def test_what_no_agent_has_is_refused_to_who_asked() -> None:
    pair = Pair()
    early = pair.asked("bounday")
    await settle()
    pair.serve()
    with pytest.raises(SuspensionRefused, match="has the points boundary, model, tool, and no 'bounday'"):
        await early
    await pair.relay.carried
    assert not pair.agent.asked(RUN)
    with pytest.raises(SuspensionRefused, match="and no 'toll'"):
        await pair.stream.request(("toll",))


@pytest.mark.parametrize("stands", [True, False])
async def test_who_resumes_is_told_that_the_agent_could_not_be(stands: bool, caplog: pytest.LogCaptureFixture) -> None:
    pair = Pair()
    pair.relay.begin(Unreachable(pair.agent))
    pair.relay.serve(RUN)
    asked = pair.asked("tool")
    await settle()
    standing = pair.work("tool")
    if stands:
        with pytest.raises(PeerUnreachable):
            await asked
    pair.stream.resume()
    with caplog.at_level(logging.WARNING), pytest.raises(PeerUnreachable):
        await pair.relay.carried
    assert [record.message for record in caplog.records if "may still stand" in record.message]
    await standing
    await asyncio.gather(asked, return_exceptions=True)


async def test_who_stops_waiting_to_be_told_does_not_stop_the_telling() -> None:
    pair = Pair()
    pair.begin()
    asked = pair.asked()
    await settle()
    pair.stream.resume()
    told = asyncio.ensure_future(pair.relay.carried)
    told.cancel()
    await asyncio.gather(asked, told, return_exceptions=True)
    pair.relay.serve(RUN)
    await pair.relay.carried
    assert not pair.agent.asked(RUN)


async def test_a_request_of_which_nobody_is_left_ends_with_its_run() -> None:
    system, ana = LocalSystem("f", None), AgentId("ana")
    await system.open()
    try:
        await system.spawn((SpawnOrder(ana, Agent(preset=scripted(say("done")))),), lambda _ready, _of: None)
        stand = Stand("mine", ("tool",))
        run = await system.start(ana, "go", None, stand=stand)
        waiting = asyncio.create_task(system.control(ana).suspend(run, stand, timeout=10))
        assert (await system.outcome(ana, run)).text == "done"
        with pytest.raises(SuspensionRefused, match="its run is over"):
            await waiting
    finally:
        await system.close()


@given(st.lists(st.sampled_from(["ask", "resume", "forget", "work", "wait", "begin", "serve"]), max_size=20))
def test_in_whatever_order_the_agent_goes_on_after_the_last_resume(deeds: list[str]) -> None:
    asyncio.run(after_all(deeds))


async def after_all(deeds: list[str]) -> None:
    pair = Pair()
    asked: list[asyncio.Task[str]] = []
    working: list[asyncio.Task[None]] = []
    begun = False
    for deed in deeds:
        match deed:
            case "ask":
                asked.append(pair.asked())
            case "resume":
                pair.stream.resume()
            case "forget" if asked:
                asked[-1].cancel()
            case "work":
                working.append(pair.work("tool"))
            case "begin" if not begun:
                begun = True
                pair.begin()
            case "serve" if begun:
                pair.relay.serve(RUN)
            case _:
                await settle()
        await asyncio.sleep(0)
    await settle()
    pair.stream.resume()
    pair.relay.serve(RUN)
    await pair.relay.carried
    async with asyncio.timeout(10):
        await asyncio.gather(*working)
    assert not pair.agent.asked(RUN)
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(answer, str | SuspensionRefused | asyncio.CancelledError) for answer in answers)
