"""What refusals teach of a provider's limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.runtime.supervision.congestion import GENEROUS, LONGEST, Congestion

NOW = 1_000_000.0


def refused(
    known: Congestion, at: float = NOW, *, after: float | None = 1.0, jitter: float = 0.0, flight: int = 2
) -> Congestion:
    """A call that went at that time was refused at once."""
    return known.went(at).throttled(granted=at, went=at, now=at, after=after, jitter=jitter, flight=flight)


def test_calls_that_were_refused_together_lower_the_limit_once() -> None:
    known = Congestion()
    for _ in range(32):
        known = known.went(NOW)
    for flight in range(32, 5, -1):
        known = known.throttled(granted=NOW, went=NOW, now=NOW + 0.05, after=1.0, jitter=0.0, flight=flight)
    assert known.limit == pytest.approx(32 * 0.7)
    assert known.strikes == 1


def test_the_limit_rises_by_about_one_for_a_round_of_answers_and_only_while_it_is_used() -> None:
    known = refused(Congestion(), flight=10)
    assert known.limit == pytest.approx(7.0)
    for _ in range(7):
        known = known.succeeded(NOW + 2.0, flight=7)
    assert known.limit == pytest.approx(8.0, abs=0.2)
    assert known.succeeded(NOW + 2.0, flight=3) == known


def test_an_answer_to_a_call_that_went_before_the_refusal_says_nothing() -> None:
    known = refused(Congestion(limit=1.0))
    assert known.succeeded(NOW - 1.0, flight=9) == known


def test_a_call_that_was_refused_although_it_was_alone_lowers_nothing_but_comes_later_each_time() -> None:
    known, at, cooldowns = Congestion(), NOW, list[float]()
    for _ in range(10):
        known = refused(known, at, after=None, flight=1)
        cooldowns.append(known.cooling(at))
        at += known.cooling(at)
    assert cooldowns == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]
    assert known.limit == GENEROUS


def test_a_provider_that_always_says_now_is_not_believed_for_ever() -> None:
    known, at = Congestion(), NOW
    for _ in range(10):
        known = refused(known, at, after=0.0, flight=1)
        at += known.cooling(at)
    assert known.cooling(at - 1.0) > 0.9
    assert at - NOW > 100.0


def test_an_answer_ends_the_row_of_refusals() -> None:
    known = refused(refused(Congestion(), after=None), NOW + 1.0, after=None)
    assert known.cooling(NOW + 1.0) == 1.0
    known = refused(known.succeeded(NOW + 3.0, flight=1), NOW + 10.0, after=None)
    assert known.cooling(NOW + 10.0) == 0.5


@given(after=st.floats(allow_nan=True, allow_infinity=True), jitter=st.floats(0, 1, exclude_max=True))
def test_a_cooldown_is_as_long_as_was_asked_for_and_a_tenth_longer_at_most(after: float, jitter: float) -> None:
    seconds = refused(Congestion(), after=after, jitter=jitter).cooling(NOW)
    assert seconds + 1e-6 >= 0.1
    if 0.2 <= after <= LONGEST / 1.1:
        assert after - 1e-6 <= seconds <= after * 1.1 + 1e-6
    assert seconds <= LONGEST


def test_the_pace_is_what_the_provider_has_let_through() -> None:
    known = Congestion()
    for number in range(6):
        known = known.went(NOW + number * 0.001)
    last = NOW + 0.005
    known = known.throttled(granted=last, went=last, now=last, after=1.0, jitter=0.0, flight=6)
    assert known.pace == pytest.approx(1.0 / 5, rel=0.01), "five in a second"


def test_a_pace_is_forgotten_little_by_little_while_nothing_is_refused() -> None:
    known = Congestion().went(NOW)
    known = refused(known, NOW + 0.5)
    for number in range(20):
        known = known.went(NOW + 2.0 + number)
    gaps = [known.gap(known.until + seconds) for seconds in (0.0, 10.0, 30.0, 300.0)]
    assert gaps[0] == pytest.approx(1.5)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[2] == pytest.approx(gaps[0] / 2)
    assert gaps[3] < gaps[0] / 100


def test_who_refuses_everybody_teaches_no_pace() -> None:
    known = Congestion().went(NOW).went(NOW)
    for _ in range(2):
        known = known.throttled(granted=NOW, went=NOW, now=NOW, after=20.0, jitter=0.0, flight=2)
    assert known.pace == 0.0


def test_the_calls_after_a_cooldown_follow_each_other_faster_and_faster_and_never_at_once() -> None:
    known, at, gaps = refused(Congestion()), NOW + 1.0, list[float]()
    for _ in range(100):
        at += known.opens(at)
        known = known.went(at)
        gaps.append(known.gap(at))
    assert gaps[:4] == [0.5, 0.25, 0.125, 0.0625]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] == 0.001


def test_before_the_first_refusal_there_is_no_pace_at_all() -> None:
    known = Congestion().went(NOW).went(NOW)
    assert known.gap(NOW) == known.opens(NOW) == known.cooling(NOW) == 0.0
