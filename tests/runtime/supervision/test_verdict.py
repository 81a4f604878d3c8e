"""Why an agent is as it is, in words."""

import pytest

from amrita_fleet.protocols.checkin import Pause, Wait
from amrita_fleet.protocols.notices import NoticeType
from amrita_fleet.runtime.supervision.verdict import State

from .watched import ANA, BOB, CAT, Watched


@pytest.fixture
def house() -> Watched:
    """Ana, who has begun a run, with a clock that stands at a look."""
    house = Watched(now=999.0)
    house.admit(ANA)
    house.starts(ANA)
    house.looks()
    return house


def test_a_call_is_waited_for_from_the_moment_it_was_granted(house: Watched) -> None:
    asked = house.asks(ANA, provider="openai")
    house.passes(41)
    assert house.why(ANA) == "waiting on model openai for 41 s"
    house.settles(asked)
    house.passes(3)
    assert house.why(ANA) == "between model calls for 3 s"


def test_a_late_word_on_an_earlier_attempt_does_not_end_the_wait_for_a_later_one(house: Watched) -> None:
    first = house.asks(ANA)
    house.asks(ANA)
    house.settles(first)
    house.passes(6)
    assert house.verdict(ANA).state is State.MODEL


def test_old_news_that_come_after_a_check_in_do_not_hide_the_call(house: Watched) -> None:
    house.asks(ANA)
    house.tell(NoticeType.STEP, "intro", ANA, "step 1 begins")
    house.ends(ANA, house.calls(ANA, "look"), "nothing")
    house.is_(ANA, "thinking")
    house.passes(6)
    assert house.why(ANA) == "waiting on model p for 6 s"


def test_the_wait_for_leave_counts_from_the_first_refusal_and_tells_the_newest_reason(house: Watched) -> None:
    house.asks(ANA, Wait(0.1, "others hold the tokens"))
    house.passes(3)
    house.asks(ANA, Wait(0.1, "one call holds the tokens"))
    house.passes(3)
    assert house.why(ANA) == "waiting for leave to call the model for 6 s: one call holds the tokens"
    assert house.findings == []


def test_whoever_is_told_anything_else_waits_for_no_call(house: Watched) -> None:
    house.asks(ANA)
    house.asks(ANA, Pause("a person"))
    house.is_(ANA, "paused", "a person")
    house.passes(6)
    assert house.why(ANA) == "paused for 3 s: a person"  # a look saw it


def test_of_several_tools_the_one_that_was_silent_longest_is_named(house: Watched) -> None:
    house.thinks(ANA)
    first = house.calls(ANA, "build")
    house.calls(ANA, "fetch")
    house.passes(9)
    house.tell(NoticeType.TOOL, "progress", ANA, "build: half", first)
    assert house.why(ANA) == "in tool fetch and 1 more for 9 s"


def test_a_call_that_waits_for_a_person_is_held_and_runs_when_it_is_allowed(house: Watched) -> None:
    house.thinks(ANA)
    call = house.calls(ANA, "pay")
    house.tell(NoticeType.TOOL, "approval", ANA, "pay waits", {**call, "reason": "it costs money"})
    house.passes(60)
    assert house.why(ANA) == "held for approval of pay for 60 s: it costs money"
    house.tell(NoticeType.TOOL, "approved", ANA, "pay may run", {**call, "reason": ""})
    house.passes(3)
    assert house.why(ANA) == "in tool pay for 3 s"


def test_mail_is_waited_for_of_somebody_or_of_anybody(house: Watched) -> None:
    house.waits(ANA, BOB, CAT)
    house.passes(12)
    assert house.why(ANA) == "waiting for mail of bob or cat for 12 s"
    house.waits(ANA)
    house.passes(3)
    assert house.why(ANA) == "waiting for mail for 3 s"


def test_a_loop_that_answers_again_is_no_longer_wedged(house: Watched) -> None:
    house.asks(ANA)
    house.pulses[ANA] = (True, False)
    house.passes(20)
    assert house.verdict(ANA).state is State.WEDGED
    house.pulses[ANA] = (True, True)
    house.passes(3)
    assert house.verdict(ANA).state is State.MODEL
