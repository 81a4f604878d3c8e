"""Waits that have begun are looked after, and nobody is looked at once there are none."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from amrita_fleet.protocols.ids import USER, Incarnation
from amrita_fleet.protocols.waits import Standing
from amrita_fleet.runtime.supervision.wait_watch import LOOK_PAUSE, WaitWatch

from .town import ANA, BOB, CYD, NAMES, Town, waits

pytestmark = pytest.mark.anyio

LIFE = Incarnation(1)


@asynccontextmanager
async def watched(town: Town) -> AsyncGenerator[WaitWatch]:
    """A watch over the town, which has looked once if somebody is reported to wait."""
    watch = WaitWatch(town.supervisor, town, town.clock)
    await town.clock.advance(0)
    try:
        yield watch
    finally:
        await watch.aclose()


async def test_nobody_is_looked_at_while_nobody_waits() -> None:
    town = Town()
    async with watched(town):
        await town.clock.advance(100 * LOOK_PAUSE)
    assert town.asked == []


async def test_looks_end_with_the_last_wait() -> None:
    town = Town()
    async with watched(town) as watch:
        await watch.desk.ask(town.begin(waits(ANA, BOB)))
        town.now[BOB] = Standing(LIFE, "thinking")
        await town.clock.advance(3 * LOOK_PAUSE)
        town.now[ANA] = Standing(LIFE, "idle", step=2)
        await town.clock.advance(3 * LOOK_PAUSE)
        town.asked.clear()
        await town.clock.advance(100 * LOOK_PAUSE)
    assert town.asked == []
    assert town.ended == []


async def test_a_quiet_fleet_is_released_at_the_second_look_that_is_like_the_first() -> None:
    town = Town()
    async with watched(town) as watch:
        await watch.desk.ask(town.begin(waits(ANA, BOB)))
        await watch.desk.ask(town.begin(waits(CYD)))
        await town.clock.advance(LOOK_PAUSE - 0.1)
        assert town.ended == []
        await town.clock.advance(0.1)
    assert town.ended == [(ANA, 1, "quiet"), (CYD, 1, "quiet")]


async def test_what_happens_between_two_looks_begins_the_time_anew() -> None:
    town = Town()
    async with watched(town) as watch:
        await watch.desk.ask(town.begin(waits(ANA, BOB)))
        await town.clock.advance(LOOK_PAUSE / 2)
        for step in range(1, 6):
            town.now[BOB] = Standing(LIFE, "idle", step=step)
            await town.clock.advance(LOOK_PAUSE)
        assert town.ended == []
        await town.clock.advance(LOOK_PAUSE)
    assert [agent for agent, *_ in town.ended] == [ANA]


@pytest.mark.parametrize(
    "standing",
    [
        pytest.param(Standing(LIFE, "acting"), id="at work"),
        pytest.param(Standing(LIFE, "paused", paused=True), id="paused"),
        pytest.param(Standing(LIFE, "idle", paused=True), id="to be paused"),
        pytest.param(Standing(LIFE, "idle", stirs=True), id="a run or mail is there"),
        pytest.param(Standing(LIFE, "idle", outgoing=1), id="mail of it is going"),
        pytest.param(None, id="it does not say"),
    ],
)
async def test_a_fleet_in_which_somebody_may_act_is_not_quiet(standing: Standing | None) -> None:
    town = Town()
    town.now[BOB] = standing
    async with watched(town) as watch:
        await watch.desk.ask(town.begin(waits(ANA, CYD)))
        await town.clock.advance(10 * LOOK_PAUSE)
    assert town.ended == []


async def test_who_has_reported_to_be_at_work_need_not_be_asked() -> None:
    town = Town()
    town.report(BOB, "thinking")
    async with watched(town) as watch:
        await watch.desk.ask(town.begin(waits(ANA, CYD)))
        await town.clock.advance(10 * LOOK_PAUSE)
    assert BOB not in town.asked
    assert town.ended == []


async def test_those_who_are_stopped_or_dead_do_not_count() -> None:
    town = Town()
    town.now[BOB] = town.now[CYD] = None
    town.supervisor.stop((BOB,), "enough")
    town.supervisor.died(CYD, LIFE, "its process ended")
    async with watched(town) as watch:
        await watch.desk.ask(town.begin(waits(ANA)))
        await town.clock.advance(LOOK_PAUSE)
    assert town.ended == [(ANA, 1, "quiet")]


async def test_a_wait_that_names_the_person_is_left_to_them() -> None:
    town = Town()
    async with watched(town) as watch:
        await watch.desk.ask(town.begin(waits(ANA, BOB, USER)))
        await watch.desk.ask(town.begin(waits(CYD, BOB)))
        await town.clock.advance(LOOK_PAUSE)
    assert town.ended == [(CYD, 1, "quiet")]


async def test_a_wait_for_one_that_dies_later_is_ended_though_others_are_at_work() -> None:
    town = Town()
    town.now[CYD] = Standing(LIFE, "thinking")
    async with watched(town) as watch:
        await watch.desk.ask(town.begin(waits(ANA, BOB)))
        await town.clock.advance(5 * LOOK_PAUSE)
        assert town.ended == []
        town.supervisor.died(BOB, LIFE, "its process ended")
        await town.clock.advance(LOOK_PAUSE)
    assert town.ended == [(ANA, 1, "gone")]


async def test_a_knot_that_was_begun_under_an_earlier_supervisor_is_found_and_one_wait_of_it_ended() -> None:
    town = Town()
    town.now[CYD] = Standing(LIFE, "thinking")
    for pair in ((ANA, BOB), (BOB, ANA)):
        town.begin(waits(*pair))
        town.report(pair[0], "waiting")
    async with watched(town):
        await town.clock.advance(5 * LOOK_PAUSE)
    assert town.ended == [(ANA, 1, "knot")]


async def test_a_wait_that_was_never_registered_is_heard_of_by_a_report() -> None:
    town = Town()
    async with watched(town) as watch:
        town.begin(waits(ANA, BOB))
        watch.desk.heard(town.report(ANA, "waiting"))
        await town.clock.advance(LOOK_PAUSE)
    assert town.ended == [(ANA, 1, "quiet")]
    assert set(town.asked) == set(NAMES)
