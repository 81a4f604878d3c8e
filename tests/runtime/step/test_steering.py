"""Pauses, stops and time-outs, in whatever phase they come."""

from collections.abc import Callable

import pytest

from amrita_fleet.protocols.checkin import Pause, WindDown
from amrita_fleet.runtime.step.compaction import CompactionRules
from amrita_fleet.runtime.step.effects import (
    AskLeave,
    CallModel,
    Cancel,
    Effect,
    Finish,
    LookForMail,
    StartDeadline,
    TakeMail,
)
from amrita_fleet.runtime.step.events import Directed, PauseAsked, Resumed, Stopped
from amrita_fleet.runtime.step.phases import Phase, Purpose, WaitFor
from amrita_fleet.runtime.step.prompts import INTERRUPTED, LAST_ANSWER
from amrita_fleet.runtime.step.rules import Rules

from .pairing import flaw
from .play import Failure, Play, Result, calls, mail, says


def test_a_stop_closes_the_batch_and_keeps_what_has_ended() -> None:
    play = Play([calls("a", "b", "c")], held=("a", "b", "c")).ask()
    play.end("b", "found it").feed(Stopped("by the user"))

    assert play.outputs == [INTERRUPTED, "found it", INTERRUPTED]
    assert "may have run" in INTERRUPTED
    assert not INTERRUPTED.startswith("ERROR")
    assert flaw(play.turns) is None
    assert str(play.outcome) == "stopped"
    assert play.outcome.reason == "by the user"


def test_a_stop_cancels_what_runs() -> None:
    play = Play([calls("a", "b")], held=("a", "b")).ask()
    running = tuple(play.pending)

    play.feed(Stopped("by the user"))

    assert [effect.ops for effect in play.effects if isinstance(effect, Cancel)] == [running]


PLAN = '{"kind": "plan", "steps": [{"id": "a", "title": "Read"}, {"id": "b", "title": "Compare", "needs": ["a"]}]}'

HELD: dict[Phase, tuple[type[Effect], ...]] = {
    Phase.ENTERING: (TakeMail,),
    Phase.THINKING: (),
    Phase.LEAVING: (LookForMail,),
    Phase.DONE: (Finish,),
}


def at(phase: Phase, timeout: float | None = None) -> Play:
    """An agent in the middle of a phase."""
    plays: dict[Phase, Callable[[], Play]] = {
        Phase.WAITING: lambda: Play([calls("wait")], tools=lambda _: Result("", WaitFor((), 1.0))),
        Phase.WINDING_DOWN: lambda: Play(directives=[WindDown("tokens", "none left")]),
        Phase.PAUSED: lambda: Play(directives=[Pause("a look")]),
        Phase.ACTING: lambda: Play([calls("a")], held=("a",)),
        Phase.DECOMPOSING: lambda: Play(rules=Rules(plan="always")),
        Phase.SUMMARISING: lambda: Play([says(PLAN), says("Read.")], Rules(plan="always")),
        Phase.COMPACTING: lambda: Play([calls("a"), calls("b")], Rules(compaction=CompactionRules(messages=4))),
    }
    if phase is Phase.IDLE:
        return Play()
    if phase in plays:
        return plays[phase]().ask(timeout=timeout)
    lines = [says("Done.")] if phase in {Phase.LEAVING, Phase.DONE} else []
    return Play(lines, held=HELD[phase]).ask(timeout=timeout)


@pytest.mark.parametrize("phase", list(Phase), ids=str)
def test_every_phase_takes_a_stop_and_leaves_a_valid_history(phase: Phase) -> None:
    play = at(phase)
    assert play.phase is phase

    play.feed(Stopped("by the user"))

    assert play.phase is (phase if phase in {Phase.IDLE, Phase.DONE} else Phase.IDLE)
    assert flaw(play.turns) is None
    assert [str(one) for one in play.outcomes] == ([] if phase in {Phase.IDLE, Phase.DONE} else ["stopped"])
    assert play.state.open_ops == tuple(play.pending)


@pytest.mark.parametrize("phase", list(Phase), ids=str)
def test_every_phase_lets_a_pause_be_asked_for_and_called_off(phase: Phase) -> None:
    play = at(phase).feed(PauseAsked("a look"))
    assert play.state.pause == "a look"

    play.feed(Resumed())

    assert play.state.pause is None
    assert play.phase is not Phase.PAUSED


def test_a_run_that_ends_in_time_calls_its_timer_off() -> None:
    play = Play([says("Done.")]).ask(timeout=5.0)

    assert [effect.seconds for effect in play.effects if isinstance(effect, StartDeadline)] == [5.0]
    assert play.pending == {}
    assert play.state.open_ops == ()


def test_time_that_runs_out_in_the_middle_of_a_tool_leads_to_a_last_answer() -> None:
    play = Play([calls("a", "slow")], held=("slow",)).ask(timeout=5.0)
    play.fire(StartDeadline).model(says("Half of it."))

    assert str(play.outcome) == "limit:time"
    assert play.outcome.text == "Half of it."
    assert play.outputs == ["a is done", INTERRUPTED]
    assert flaw(play.turns) is None
    assert play.pending == {}


@pytest.mark.parametrize("phase", [Phase.ENTERING, Phase.THINKING, Phase.ACTING, Phase.LEAVING, Phase.WAITING], ids=str)
def test_time_that_runs_out_elsewhere_leads_to_a_last_answer(phase: Phase) -> None:
    play = at(phase, timeout=5.0).fire(StartDeadline)

    assert play.phase is Phase.WINDING_DOWN
    assert [text for text in play.texts if text.startswith("A limit is reached")] == [
        LAST_ANSWER.format(limit="the run's time is over")
    ]


def test_a_last_answer_that_is_under_way_when_the_time_is_over_may_end() -> None:
    play = Play(directives=[WindDown("tokens", "none left")]).ask(timeout=5.0)
    play.fire(StartDeadline).model(says("Bye."))

    assert str(play.outcome) == "limit:tokens"
    assert play.outcome.text == "Bye."
    assert sum(text.startswith("A limit is reached") for text in play.texts) == 1


def test_a_last_answer_has_a_time_of_its_own() -> None:
    play = Play([calls("a")], Rules(last_seconds=7.0), held=("a",)).ask(timeout=5.0).fire(StartDeadline)
    timers = [effect.seconds for effect in play.effects if isinstance(effect, StartDeadline)]

    play.fire(StartDeadline)

    assert timers == [5.0, 7.0]
    assert str(play.outcome) == "limit:time"
    assert play.outcome.text.startswith("Tool result: This call was interrupted")


def test_a_last_answer_that_fails_when_the_time_is_over_is_not_tried_again() -> None:
    play = Play([calls("a"), Failure()], held=("a",)).ask(timeout=5.0).fire(StartDeadline)

    assert str(play.outcome) == "limit:time"
    assert play.seen(CallModel) == 2


def test_nothing_more_is_begun_for_a_last_answer_once_the_time_is_over() -> None:
    held = Play(rules=Rules(rounds=1), lines=[calls("a")], held=("a",)).ask(timeout=5.0)
    held.held = (AskLeave,)
    held.end("a", "seen").fire(StartDeadline)

    assert str(held.outcome) == "limit:agent_tool_call_limit"
    assert held.seen(CallModel) == 1
    assert held.pending == {}


def test_time_that_runs_out_in_a_pause_ends_the_run_without_a_model() -> None:
    play = Play([calls("a")], Rules(step_rounds=1), held=("a",)).ask(timeout=5.0).feed(PauseAsked("a look"))
    play.end("a", "seen")
    assert play.phase is Phase.PAUSED

    play.fire(StartDeadline)

    assert str(play.outcome) == "limit:time"
    assert play.outcome.text == "Tool result: seen"


def test_time_that_runs_out_while_a_last_answer_is_paused_keeps_its_ending() -> None:
    play = Play(directives=[WindDown("tokens", "none left"), Pause("a look")]).ask(timeout=5.0)
    play.fire(StartDeadline)

    assert str(play.outcome) == "limit:tokens"


def test_a_directive_pauses_before_the_call_and_a_resume_asks_again() -> None:
    play = Play([says("Done.")], directives=[Pause("a look")]).ask()
    assert play.phase is Phase.PAUSED
    assert play.seen(CallModel) == 0
    assert play.state.open_ops == ()

    play.feed(Resumed())

    assert play.outcome.answered
    assert play.notices.count("agent.paused") == play.notices.count("agent.resumed") == 1


def test_a_paused_last_answer_is_still_a_last_answer_when_resumed() -> None:
    play = Play([says("Bye.")], directives=[WindDown("tokens", "none left"), Pause("a look")]).ask()
    play.feed(Resumed())

    assert str(play.outcome) == "limit:tokens"
    assert play.outcome.text == "Bye."


def test_a_pause_that_was_asked_for_begins_at_the_next_boundary() -> None:
    play = Play([calls("a"), says("Done.")], Rules(step_rounds=1), held=("a",)).ask().feed(PauseAsked("a look"))
    assert play.phase is Phase.ACTING

    assert play.end("a", "seen").phase is Phase.PAUSED
    assert play.seen(CallModel) == 1

    play.feed(Resumed())
    assert play.outcome.answered
    assert play.outcome.steps == 2


def test_mail_that_comes_in_a_pause_is_read_after_it() -> None:
    play = Play([says("Done.")]).feed(PauseAsked("a look")).ask()
    play.send(mail("Look here.")).feed(Resumed())

    assert any("Look here." in text for text in play.texts)


def test_an_idle_agent_that_is_paused_begins_its_next_run_paused() -> None:
    play = Play([says("Done.")]).feed(PauseAsked("a look")).ask()

    assert play.phase is Phase.PAUSED
    assert play.outcomes == []


@pytest.mark.parametrize("last", [False, True], ids=["a call", "a last answer"])
def test_a_pause_that_was_over_before_the_agent_heard_of_it_pauses_nothing(last: bool) -> None:
    def hold(play: Play, effect: Effect) -> None:
        if isinstance(effect, AskLeave):
            play.held = (AskLeave,) if (effect.purpose is Purpose.LAST) is last and not play.held else ()

    play = Play([says("Done.")], directives=[WindDown("tokens", "none left")] if last else [], on=hold).ask()
    op = next(iter(play.pending))

    play.feed(Resumed(), Directed(op, Pause("a look")))

    assert play.outcome.text == "Done."
