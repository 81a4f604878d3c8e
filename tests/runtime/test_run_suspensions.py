"""Each suspension is of one run: no other run stands still for it, and nobody else ends it."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.ids import RunId
from amrita_fleet.runtime.clock import settle
from amrita_fleet.runtime.run_suspensions import RunSuspensions
from amrita_fleet.runtime.stream_errors import SuspendTimedOut, SuspensionRefused
from amrita_fleet.runtime.suspension import Stand

pytestmark = pytest.mark.anyio

ONE, TWO, OVER = RunId("ana.1.1"), RunId("ana.1.2"), RunId("ana.1.0")
RUNS = (ONE, TWO)


def suspensions() -> RunSuspensions:
    """Those of an agent with two runs, one of which waits for its turn, and one that is over."""
    return RunSuspensions(RUNS.__contains__)


def asked(agent: RunSuspensions, run: RunId, token: str, *tags: str) -> "asyncio.Task[str]":
    return asyncio.create_task(agent.reached(run, Stand(token, tags), timeout=10))


def work(agent: RunSuspensions, run: RunId, tag: str) -> "asyncio.Task[None]":
    return asyncio.create_task(agent.point(run, tag))


async def test_only_the_run_that_was_asked_stands_still() -> None:
    agent = suspensions()
    waiting = asked(agent, TWO, "b")
    await settle()
    await agent.point(ONE, "tool")
    assert (agent.asked(ONE), agent.note(ONE)) == (False, "")
    standing = work(agent, TWO, "model")
    assert await waiting == "model"
    assert (agent.asked(TWO), agent.note(TWO)) == (True, "suspended at model")
    agent.withdraw("b")
    await standing


async def test_a_request_is_ended_by_its_own_token_alone() -> None:
    agent = suspensions()
    first, second = asked(agent, ONE, "a"), asked(agent, TWO, "b")
    await settle()
    one, two = work(agent, ONE, "tool"), work(agent, TWO, "tool")
    await asyncio.gather(first, second)
    agent.withdraw("nobody's")
    agent.withdraw("a")
    await one
    await settle()
    assert not two.done()
    agent.withdraw("b")
    await two


async def test_a_run_has_one_request_at_a_time() -> None:
    agent = suspensions()
    first = asked(agent, ONE, "a", "tool")
    await settle()
    with pytest.raises(SuspensionRefused, match="asked for already"):
        await asked(agent, ONE, "b")
    agent.withdraw("b")
    standing = work(agent, ONE, "tool")
    assert await first == "tool"
    agent.withdraw("a")
    await standing


async def test_the_same_token_is_the_same_request() -> None:
    agent = suspensions()
    agent.ask(ONE, Stand("a", ("boundary",)))
    standing = work(agent, ONE, "boundary")
    await settle()
    assert not standing.done()
    assert await asked(agent, ONE, "a", "boundary") == "boundary"
    agent.withdraw("a")
    await standing
    with pytest.raises(SuspendTimedOut):
        await agent.reached(ONE, Stand("c"), timeout=0.001)
    assert not agent.asked(ONE)


async def test_the_end_of_a_run_ends_its_suspension_and_no_other_ones() -> None:
    agent = suspensions()
    first, second = asked(agent, ONE, "a"), asked(agent, TWO, "b")
    await settle()
    agent.over(ONE)
    with pytest.raises(SuspensionRefused, match="its run is over"):
        await first
    agent.withdraw("a")
    standing = work(agent, TWO, "tool")
    assert await second == "tool"
    agent.over(OVER)
    await settle()
    assert not standing.done()
    agent.over(TWO)
    await standing


async def test_a_run_that_is_over_or_unknown_is_not_suspended() -> None:
    with pytest.raises(SuspensionRefused, match="its run is over"):
        await suspensions().reached(OVER, Stand("a"), timeout=10)


async def test_closing_releases_every_run_for_good() -> None:
    agent = suspensions()
    first, second = asked(agent, ONE, "a"), asked(agent, TWO, "b")
    await settle()
    standing = work(agent, ONE, "tool")
    await first
    agent.close("the agent has stopped")
    await standing
    with pytest.raises(SuspensionRefused, match="the agent has stopped"):
        await second
    for run in RUNS:
        with pytest.raises(SuspensionRefused, match="the agent has stopped"):
            await agent.reached(run, Stand("c"), timeout=10)
    with pytest.raises(SuspensionRefused, match="the agent has stopped"):
        agent.ask(RunId("ana.1.3"), Stand("d"))


Deed = st.tuples(st.sampled_from(["ask", "withdraw", "forget", "work", "over"]), st.sampled_from(RUNS))


@given(st.lists(Deed, max_size=20))
def test_a_run_stands_just_for_as_long_as_it_has_a_request_of_its_own(deeds: list[tuple[str, RunId]]) -> None:
    asyncio.run(after_all(deeds))


async def after_all(deeds: list[tuple[str, RunId]]) -> None:
    agent = suspensions()
    requests: dict[RunId, list[asyncio.Task[str]]] = {ONE: [], TWO: []}
    for deed, run in deeds:
        other = TWO if run == ONE else ONE
        before = agent.note(other)
        match deed:
            case "ask":
                requests[run].append(asked(agent, run, run))
            case "withdraw":
                agent.withdraw(run)
            case "forget" if requests[run]:
                requests[run][-1].cancel()
            case "over":
                agent.over(run)
            case "work":
                working = work(agent, run, "tool")
                await settle()
                assert working.done() is not agent.asked(run)
                working.cancel()
                await asyncio.gather(working, return_exceptions=True)
            case _:
                pass
        await settle()
        assert agent.note(other) == before
    agent.close("closed")
    answers = await asyncio.gather(*requests[ONE], *requests[TWO], return_exceptions=True)
    assert all(isinstance(each, str | SuspensionRefused | asyncio.CancelledError) for each in answers)
