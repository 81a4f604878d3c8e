"""The way to the model: leave, attempts, pauses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.checkin import Directive, Grant, Proceed, Wait
from amrita_fleet.protocols.outcome import Ending
from amrita_fleet.runtime.step.asking import retry_delay
from amrita_fleet.runtime.step.effects import AskLeave, CallModel, StartTimer
from amrita_fleet.runtime.step.events import ModelFailed
from amrita_fleet.runtime.step.phases import Op
from amrita_fleet.runtime.step.rules import Rules

from .play import Failure, Line, Play, calls, grant, says


def timers(play: Play) -> list[float]:
    return [effect.seconds for effect in play.effects if isinstance(effect, StartTimer)]


def test_the_call_is_made_under_the_grant() -> None:
    mine = Grant("ana/1/7", 321, after=1.5)
    play = Play([says("Done.")], directives=[Proceed(mine)]).ask()

    assert [effect.grant for effect in play.effects if isinstance(effect, CallModel)] == [mine]


def test_a_failure_is_tried_again_and_every_attempt_asks_for_leave_anew() -> None:
    play = Play([Failure(), Failure(), says("Done.")]).ask()

    assert play.outcome.answered
    assert play.seen(AskLeave) == play.seen(CallModel) == 3
    assert play.notices.count("model.retry") == 2


@pytest.mark.parametrize(
    ("jitter", "pauses"), [(0.0, [0.5, 1.0, 2.0]), (0.5, [0.75, 1.5, 3.0]), (1.0, [1.0, 2.0, 4.0])], ids=str
)
def test_pauses_between_attempts_double_and_are_spread(jitter: float, pauses: list[float]) -> None:
    lines: list[Line] = [*[Failure(jitter=jitter)] * 3, says("Done.")]
    play = Play(lines, Rules(retry_base=1.0)).ask()

    assert timers(play) == pauses


def test_pauses_are_capped() -> None:
    rules = Rules(retries=5, retry_base=1.0, retry_cap=3.0)
    play = Play([*[Failure(jitter=1.0)] * 5, says("Done.")], rules).ask()

    assert timers(play) == [1.0, 2.0, 3.0, 3.0, 3.0]


def test_what_the_provider_asks_for_is_waited_even_above_the_cap() -> None:
    play = Play([Failure(after=90.0), says("Done.")]).ask()

    assert timers(play) == [90.0]


@given(
    failures=st.integers(1, 60),
    jitter=st.floats(0, 1, exclude_max=True),
    after=st.none() | st.floats(0, 1000),
    base=st.floats(0, 60),
)
def test_a_pause_is_spread_over_half_of_the_doubled_time(
    failures: int, jitter: float, after: float | None, base: float
) -> None:
    rules = Rules(retry_base=base, retry_cap=30.0)
    failed = ModelFailed(Op(1), "ProviderBusy", "busy", retryable=True, after=after, jitter=jitter)

    seconds = retry_delay(rules, failures, failed)

    doubled = min(30.0, base * 2.0 ** (failures - 1))
    assert max(after or 0.0, doubled / 2) <= seconds <= max(after or 0.0, doubled)


def test_after_its_last_attempt_the_run_fails_with_the_providers_sentence() -> None:
    play = Play([Failure("Busy (request_id=r9).")] * 9, Rules(retries=2)).ask()

    assert play.seen(CallModel) == 3
    assert play.outcome.ending is Ending.FAILED
    assert play.outcome.reason == "Busy (request_id=r9)."
    assert play.notices.count("model.failed") == 1


def test_a_failure_that_cannot_pass_is_never_tried_again() -> None:
    play = Play([Failure("The key is wrong.", retryable=False, after=1.0)]).ask()

    assert play.seen(CallModel) == 1
    assert play.outcome.reason == "The key is wrong."


def test_a_reply_makes_earlier_failures_forgotten() -> None:
    lines: list[Line] = [Failure(), calls("a"), Failure(), says("Done.")]
    play = Play(lines, Rules(retries=1)).ask()

    assert play.outcome.answered


def test_the_supervisor_can_make_an_agent_ask_again_later() -> None:
    play = Play([says("Done.")], directives=[Wait(0.25, "tokens are held"), grant()]).ask()

    assert timers(play) == [0.25]
    assert play.seen(AskLeave) == 2
    assert play.outcome.answered


def test_a_failure_that_throttles_is_asked_about_at_once_since_the_gate_holds_up_all() -> None:
    play = Play([Failure(after=90.0, throttled=True), says("Done.")]).ask()

    assert timers(play) == [0.0]
    assert play.outcome.answered


def test_the_wait_for_a_turn_has_no_end_of_its_own_and_that_for_tokens_has() -> None:
    turns: list[Directive] = [Wait(90.0, "3rd of 9", queued=True)] * 20
    play = Play([says("Done.")], Rules(patience=100.0), directives=[*turns, grant()]).ask()
    assert play.outcome.answered

    tokens: list[Directive] = [Wait(90.0, "held")] * 20
    play = Play([says("Done.")], Rules(patience=100.0), directives=[*tokens, grant()]).ask()
    assert play.outcome.ending is Ending.LIMIT


def test_waiting_for_leave_is_no_failed_attempt() -> None:
    directives: list[Directive] = [Wait(0.25, "held"), grant(), Wait(0.25, "held"), grant()]
    play = Play([Failure(), says("Done.")], Rules(retries=1), directives=directives).ask()

    assert play.outcome.answered
