"""Which rung is climbed when."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.ids import AgentId
from amrita_fleet.runtime.errors import NumberInvalid
from amrita_fleet.runtime.supervision.advice import notice_of
from amrita_fleet.runtime.supervision.deadlines import Deadlines
from amrita_fleet.runtime.supervision.finding import Finding, Trouble
from amrita_fleet.runtime.supervision.ladder import Ladder
from amrita_fleet.runtime.supervision.policy import COURSES, Course, Rung, Stage, WatchPolicy

ANA = AgentId("ana")
ORDER = list(Rung)
WEDGED = COURSES[Trouble.WEDGED].stages
LOOP = COURSES[Trouble.MESSAGE_LOOP]


def found(trouble: Trouble = Trouble.WEDGED, *, fresh: float, key: str = "k") -> Finding:
    return Finding(trouble, key, (ANA,), "ana is in trouble", fresh)


def climbed(ladder: Ladder, at: float, *findings: Finding) -> list[Rung]:
    return [action.rung for action in ladder.climb(findings, at)]


@pytest.mark.parametrize("trouble", list(Trouble))
def test_each_trouble_has_a_course_that_only_becomes_harder(trouble: Trouble) -> None:
    rungs = [ORDER.index(stage.rung) for stage in WatchPolicy().course(trouble).stages]
    assert rungs == sorted(set(rungs))


def test_a_rung_is_climbed_when_the_one_before_had_its_time() -> None:
    ladder = Ladder(WatchPolicy())
    assert climbed(ladder, 0, found(fresh=0)) == [Rung.NOTIFY]
    late = WEDGED[0].seconds
    assert climbed(ladder, late - 1, found(fresh=late - 1)) == []
    assert climbed(ladder, late, found(fresh=late)) == [Rung.KILL]


def test_what_is_told_says_what_comes_next_and_when() -> None:
    ladder = Ladder(WatchPolicy())
    (told,) = ladder.climb([found(Trouble.MESSAGE_LOOP, fresh=0)], 0)
    (noted,) = ladder.climb([found(Trouble.MESSAGE_LOOP, fresh=1)], 1)
    assert notice_of(told).text.endswith(
        ": nothing was done about it yet; if it goes on, it is told to give it up next"
    )
    assert notice_of(noted).text.endswith(": told to give it up; if it goes on, the Step is ended in 30 seconds")
    assert (notice_of(noted).data["next"], notice_of(noted).data["next_in"]) == ("end_step", 30.0)


def test_after_the_last_rung_nothing_is_said_to_come_next() -> None:
    ladder = Ladder(WatchPolicy(courses={Trouble.WEDGED: Course((Stage(Rung.CANCEL),))}))
    (ended,) = ladder.climb([found(fresh=0)], 0)
    assert notice_of(ended).text.endswith(": the run is ended")
    assert "next" not in notice_of(ended).data


def test_old_evidence_is_no_reason_to_do_more() -> None:
    ladder = Ladder(WatchPolicy())
    climbed(ladder, 10, found(Trouble.MESSAGE_LOOP, fresh=5))
    assert climbed(ladder, 500, found(Trouble.MESSAGE_LOOP, fresh=10)) == []
    assert climbed(ladder, 500, found(Trouble.MESSAGE_LOOP, fresh=11)) == [Rung.NOTE]


def test_a_state_that_is_over_begins_again_at_the_first_rung() -> None:
    ladder = Ladder(WatchPolicy())
    assert climbed(ladder, 0, found(fresh=0)) == [Rung.NOTIFY]
    assert climbed(ladder, 3) == []
    assert climbed(ladder, 100, found(fresh=100)) == [Rung.NOTIFY]


def test_a_loop_is_remembered_until_nothing_of_it_came_for_its_calm() -> None:
    ladder = Ladder(WatchPolicy())
    climbed(ladder, 0, found(Trouble.MESSAGE_LOOP, fresh=0))
    assert climbed(ladder, LOOP.calm) == []
    assert climbed(ladder, LOOP.calm, found(Trouble.MESSAGE_LOOP, fresh=LOOP.calm)) == [Rung.NOTE]
    assert climbed(ladder, 2 * LOOP.calm + 1) == []
    assert climbed(ladder, 3 * LOOP.calm, found(Trouble.MESSAGE_LOOP, fresh=3 * LOOP.calm)) == [Rung.NOTIFY]


def test_two_troubles_of_one_agent_have_a_ladder_each() -> None:
    ladder = Ladder(WatchPolicy())
    both = (found(fresh=0, key="a"), found(fresh=0, key="b"))
    assert climbed(ladder, 0, *both) == [Rung.NOTIFY, Rung.NOTIFY]


def test_who_was_killed_too_often_is_quarantined_instead() -> None:
    policy = WatchPolicy(courses={Trouble.WEDGED: Course((Stage(Rung.KILL),))}, kills=2, kill_seconds=100)
    ladder = Ladder(policy)
    rungs = [climbed(ladder, at, found(fresh=at, key=str(at))) for at in (0, 10, 20, 150)]
    assert rungs == [[Rung.KILL], [Rung.KILL], [Rung.QUARANTINE], [Rung.KILL]]


def test_a_course_of_a_fleets_own_is_followed_and_an_empty_one_does_nothing() -> None:
    policy = WatchPolicy(courses={Trouble.WEDGED: Course(())})
    assert climbed(Ladder(policy), 0, found(fresh=0), found(Trouble.MODEL, fresh=0, key="m")) == [Rung.NOTIFY]


@given(st.lists(st.tuples(st.sampled_from(list(Trouble)), st.floats(0, 60), st.booleans()), max_size=60))
def test_no_trouble_ever_skips_a_rung_or_climbs_two_at_once(steps: list[tuple[Trouble, float, bool]]) -> None:
    policy, at, before = WatchPolicy(kills=1000), 0.0, dict[Trouble, int]()
    ladder = Ladder(policy)
    for trouble, seconds, fresh in steps:
        at += seconds
        rungs = climbed(ladder, at, found(trouble, fresh=at if fresh else 0.0, key=trouble))
        assert len(rungs) <= 1
        for rung in rungs:
            place = [stage.rung for stage in policy.course(trouble).stages].index(rung)
            assert place in {0, before.get(trouble, -1) + 1}
            before[trouble] = place


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: Deadlines(loop=0), id="no time"),
        pytest.param(lambda: Deadlines(tool=float("nan")), id="nan"),
        pytest.param(lambda: Deadlines(message_rounds=1), id="once"),
        pytest.param(lambda: Deadlines(call_rounds=2.5), id="half a round"),  # type: ignore[arg-type]
        pytest.param(lambda: WatchPolicy(period=0), id="period"),
        pytest.param(lambda: WatchPolicy(kills=-1), id="kills"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(NumberInvalid, match=r"(Deadlines|WatchPolicy)\.\w+"):
        make()
