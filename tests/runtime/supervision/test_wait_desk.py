"""Waits that are registered: of a knot one is refused, and stale knowledge refuses none."""

import asyncio
from dataclasses import replace

import pytest

from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.protocols.ids import USER, AgentId, Incarnation
from amrita_fleet.protocols.waits import Endless, Standing, WaitRefusal, WaitRequest
from amrita_fleet.runtime.supervision.wait_desk import WaitDesk

from .town import ANA, BOB, CYD, DAN, Town, waits

pytestmark = pytest.mark.anyio

LIFE = Incarnation(1)


@pytest.fixture
def town() -> Town:
    return Town()


async def answers(town: Town, *asked: WaitRequest) -> list[WaitRefusal | None]:
    """What those are told who register these waits, one after the other; all of them wait already."""
    desk = WaitDesk(town.supervisor, town)
    return [await desk.ask(wait) for wait in asked]


async def test_a_wait_that_closes_no_knot_begins_and_nobody_is_asked(town: Town) -> None:
    assert await answers(town, town.begin(waits(ANA, BOB)), town.begin(waits(BOB, CYD))) == [None, None]
    assert town.asked == []


async def test_the_wait_that_closes_a_knot_is_refused_and_the_knot_named(town: Town) -> None:
    first, second = await answers(town, town.begin(waits(ANA, BOB)), town.begin(waits(BOB, ANA)))

    assert first is None
    assert second == WaitRefusal(Endless.KNOT, "bob waits for ana, ana waits for bob", (BOB, ANA))


async def test_of_two_that_are_registered_at_the_same_moment_exactly_the_second_is_refused(town: Town) -> None:
    desk = WaitDesk(town.supervisor, town)
    asked = town.begin(waits(ANA, BOB)), town.begin(waits(BOB, ANA))

    first, second = await asyncio.gather(*map(desk.ask, asked))

    assert first is None
    assert second is not None


async def test_of_a_ring_at_the_same_moment_exactly_one_is_refused(town: Town) -> None:
    desk = WaitDesk(town.supervisor, town)
    ring = [town.begin(waits(*pair)) for pair in ((ANA, BOB), (BOB, CYD), (CYD, ANA))]

    told = await asyncio.gather(*map(desk.ask, ring))

    assert [refusal is None for refusal in told] == [True, True, False]


async def test_who_waits_for_one_that_is_refused_meanwhile_is_let_through(town: Town) -> None:
    desk = WaitDesk(town.supervisor, town)
    asked = [town.begin(waits(*pair)) for pair in ((ANA, BOB), (BOB, ANA), (DAN, BOB))]

    told = await asyncio.gather(*map(desk.ask, asked))

    assert [refusal is None for refusal in told] == [True, False, True]


@pytest.mark.parametrize(
    "standing",
    [
        pytest.param(Standing(LIFE, "thinking", step=2), id="its wait is over"),
        pytest.param(Standing(LIFE, "waiting", step=2, wait=9, senders=(BOB,)), id="it is in another wait"),
        pytest.param(Standing(Incarnation(2), "waiting", step=1, wait=1, senders=(BOB,)), id="it lives again"),
        pytest.param(Standing(LIFE, "waiting", step=1, wait=1, senders=(BOB,), stirs=True), id="its mail has come"),
        pytest.param(Standing(LIFE, "waiting", step=1, wait=1, senders=(BOB,), outgoing=1), id="mail of it is going"),
        pytest.param(None, id="it does not say"),
    ],
)
async def test_what_is_known_of_a_wait_and_no_longer_so_refuses_none(town: Town, standing: Standing | None) -> None:
    town.begin(waits(ANA, BOB))
    town.now[ANA] = standing

    assert await answers(town, waits(ANA, BOB), town.begin(waits(BOB, ANA))) == [None, None]
    assert set(town.asked) == {ANA, BOB}


async def test_what_came_to_one_right_after_it_was_looked_at_is_seen(town: Town) -> None:
    """Mail of bob's was on its way when ana was looked at, and had come when bob was."""
    asked = town.begin(waits(ANA, BOB)), town.begin(waits(BOB, ANA))
    town.later[ANA] = Standing(LIFE, "waiting", step=1, wait=1, senders=(BOB,), stirs=True)

    assert await answers(town, *asked) == [None, None]


async def test_a_knot_that_is_none_leaves_another_one_of_the_same_wait_to_be_found(town: Town) -> None:
    desk = WaitDesk(town.supervisor, town)
    for wait in (town.begin(waits(ANA, BOB)), town.begin(waits(CYD, BOB), stirs=True)):
        assert await desk.ask(wait) is None

    assert await desk.ask(town.begin(waits(BOB, ANA, CYD))) is None
    town.begin(waits(CYD, BOB))
    refusal = await desk.ask(town.begin(waits(BOB, ANA, CYD, op=2)))
    assert refusal is not None
    assert refusal.why == "bob waits for ana or cyd, ana waits for bob, cyd waits for bob"


# --- those who are gone -----------------------------------------------------------------------------------------------


async def test_a_wait_for_one_that_is_dead_is_refused_and_the_dead_one_not_asked(town: Town) -> None:
    town.supervisor.died(BOB, LIFE, "its node was lost.")

    assert await answers(town, town.begin(waits(ANA, BOB))) == [
        WaitRefusal(Endless.GONE, "bob is dead (its node was lost)", (BOB,))
    ]
    assert BOB not in town.asked


async def test_a_wait_for_one_that_is_to_live_again_is_none_for_the_dead(town: Town) -> None:
    town.supervisor.died(BOB, LIFE, "its process ended", restart=True)
    town.now[BOB] = None

    assert await answers(town, town.begin(waits(ANA, BOB))) == [None]


@pytest.mark.parametrize(
    ("standing", "refused"),
    [
        pytest.param(Standing(LIFE, "stopped"), True, id="its run is over"),
        pytest.param(Standing(LIFE, "acting"), False, id="its run is ending"),
        pytest.param(Standing(LIFE, "stopped", outgoing=1), False, id="its last words are going"),
        pytest.param(None, False, id="it does not say"),
    ],
)
async def test_a_wait_for_a_stopped_one_is_refused_once_its_last_words_have_come(
    town: Town, standing: Standing | None, refused: bool
) -> None:
    town.supervisor.stop((BOB,), "enough")
    town.now[BOB] = standing

    (refusal,) = await answers(town, town.begin(waits(ANA, BOB)))

    assert (refusal is not None) is refused
    assert refusal is None or refusal.why == "bob has stopped (enough)"


async def test_mail_of_a_dead_one_that_waits_is_waited_for(town: Town) -> None:
    town.supervisor.died(BOB, LIFE, "its node was lost")

    assert await answers(town, town.begin(waits(ANA, BOB), stirs=True)) == [None]


async def test_a_knot_names_those_of_it_that_are_gone(town: Town) -> None:
    town.supervisor.died(CYD, LIFE, "")

    _, refusal = await answers(town, town.begin(waits(ANA, BOB)), town.begin(waits(BOB, ANA, CYD)))

    assert refusal is not None
    assert refusal.why == "bob waits for ana or cyd, ana waits for bob, cyd is dead"


async def test_a_wait_for_a_person_or_for_one_that_is_not_spawned_yet_begins(town: Town) -> None:
    assert await answers(town, waits(ANA, USER), waits(BOB, AgentId("later"))) == [None, None]


async def test_an_older_life_and_a_stranger_are_told_nothing_and_not_kept(town: Town) -> None:
    town.supervisor.died(ANA, LIFE, "its process ended")
    town.supervisor.admit(ANA, None, None, 1)

    assert await answers(town, waits(ANA, ANA), waits(AgentId("zoe"), AgentId("zoe"))) == [None, None]
    assert town.asked == []


# --- what is heard ----------------------------------------------------------------------------------------------------


async def test_a_report_of_a_later_step_ends_a_wait(town: Town) -> None:
    desk = WaitDesk(town.supervisor, town)
    assert await desk.ask(town.begin(waits(ANA, BOB))) is None

    desk.heard(AgentStatus(ANA, LIFE, "leaving", 0.0, step=1))
    assert set(desk.waits) == {ANA}
    desk.heard(replace(AgentStatus(ANA, LIFE, "thinking", 0.0), step=2))
    assert desk.waits == {}


async def test_a_report_of_one_that_waits_is_news(town: Town) -> None:
    desk = WaitDesk(town.supervisor, town)

    await asyncio.to_thread(desk.heard, AgentStatus(ANA, LIFE, "thinking", 0.0))
    assert not desk.news.is_set()
    await asyncio.to_thread(desk.heard, AgentStatus(ANA, LIFE, "waiting", 0.0))
    async with asyncio.timeout(10):
        await desk.news.wait()
