"""Runs that wait for their turn, and what became of those that had it."""

import asyncio

import pytest

from amrita_fleet.protocols.ids import AgentId, Incarnation, RunId
from amrita_fleet.protocols.outcome import Ending, Outcome
from amrita_fleet.runtime.errors import PeerUnreachable, RunUnknown
from amrita_fleet.runtime.records import KEPT_OUTCOMES
from amrita_fleet.runtime.run_queue import RunQueue
from amrita_fleet.runtime.step.events import Asked

pytestmark = pytest.mark.anyio

ANA = AgentId("ana")


def queue(incarnation: int = 1) -> RunQueue:
    return RunQueue(ANA, Incarnation(incarnation))


def asked(run: str) -> Asked:
    return Asked(RunId(run), "Go.")


def ended(run: str, text: str = "done") -> Outcome:
    return Outcome(RunId(run), ANA, Ending.ANSWERED, text)


async def test_runs_have_their_turn_in_order() -> None:
    runs = queue()
    for run in "abc":
        runs.put(asked(run))

    assert [one.run for one in (runs.next(), runs.next(), runs.next()) if one] == ["a", "b", "c"]
    assert runs.next() is None


async def test_runs_are_open_from_when_they_are_accepted_until_they_end() -> None:
    runs = queue(2)
    runs.restore([asked("b"), asked("c")], [ended("x")], RunId("a"))
    assert runs.open == ("a", "b", "c")
    runs.next()
    assert runs.open == ("a", "b", "c")
    runs.finish(ended("b"))
    runs.put(asked("d"))
    assert list(runs.open) == ["a", "c", "d"]
    runs.give_up(PeerUnreachable(agent=ANA, reason="over"))
    assert not runs.open


async def test_no_two_lives_give_the_same_id() -> None:
    first, second = queue(1), queue(2)

    assert len({life.new_id() for life in (first, second) for _ in range(3)}) == 6


async def test_an_outcome_is_told_to_all_who_wait_and_stays_what_it_was() -> None:
    runs = queue()
    runs.put(asked("a"))
    waiting = [asyncio.ensure_future(runs.outcome(RunId("a"))) for _ in range(2)]
    await asyncio.sleep(0)

    assert runs.finish(ended("a")) is True
    assert runs.finish(ended("a", "something else")) is False
    assert [one.text for one in await asyncio.gather(*waiting)] == ["done", "done"]


async def test_who_is_cancelled_while_waiting_takes_the_outcome_from_nobody() -> None:
    runs = queue()
    runs.expect(RunId("a"))
    waiting = asyncio.ensure_future(runs.outcome(RunId("a")))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

    runs.finish(ended("a"))
    assert (await runs.outcome(RunId("a"))).text == "done"


async def test_the_oldest_outcomes_are_forgotten_but_no_run_that_goes_on() -> None:
    runs = queue()
    runs.expect(RunId("going on"))
    for number in range(KEPT_OUTCOMES + 5):
        runs.finish(ended(f"r{number}"))
    assert list(runs.unfinished()) == ["going on"]

    runs.finish(ended("going on"))
    runs.finish(ended("last"))

    with pytest.raises(RunUnknown):
        await runs.outcome(RunId("r0"))
    assert (await runs.outcome(RunId("last"))).text == "done"


async def test_the_runs_of_an_earlier_life_are_taken_over() -> None:
    runs = queue(2)
    runs.restore((asked("waits"),), (ended("over"),), RunId("runs"))

    assert (await runs.outcome(RunId("over"))).text == "done"
    assert sorted(runs.unfinished()) == ["runs", "waits"]
    assert runs.drain() == ("waits",)
    assert len(runs) == 0


async def test_when_the_life_is_over_who_waits_is_told_to_ask_elsewhere() -> None:
    runs = queue()
    runs.put(asked("a"))
    runs.finish(ended("over"))
    waiting = asyncio.ensure_future(runs.outcome(RunId("a")))
    await asyncio.sleep(0)

    runs.give_up(PeerUnreachable(agent=ANA, reason="another life has begun"))

    with pytest.raises(PeerUnreachable):
        await waiting
    assert (await runs.outcome(RunId("over"))).text == "done"
