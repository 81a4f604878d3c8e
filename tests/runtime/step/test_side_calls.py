"""Plans and summaries are asked for beside the conversation: whatever happens then, the run goes on or ends as told."""

from collections.abc import Callable

import pytest

from amrita_fleet.protocols.checkin import Directive, EndStep, Pause, Stop, Wait, WindDown
from amrita_fleet.runtime.step.compaction import CompactionRules
from amrita_fleet.runtime.step.effects import AskLeave, Cancel, StartDeadline
from amrita_fleet.runtime.step.events import PauseAsked, Resumed, Stopped
from amrita_fleet.runtime.step.phases import Phase, Purpose
from amrita_fleet.runtime.step.rules import Rules

from .pairing import flaw
from .play import Failure, Line, Play, calls, grant, plan, says

ROUNDS: list[Line] = [calls("a"), calls("b")]
SHORT = CompactionRules(messages=4)

SIDES: dict[Phase, Callable[[list[Directive], list[Line]], Play]] = {
    Phase.DECOMPOSING: lambda told, then: Play(then, Rules(plan="always", presets=2), directives=told),
    Phase.SUMMARISING: lambda told, then: Play(
        [plan(a="", b="a"), says("Found."), *then],
        Rules(plan="always", presets=2),
        directives=[grant(), grant(), *told],
    ),
    Phase.COMPACTING: lambda told, then: Play(
        [*ROUNDS, *then], Rules(compaction=SHORT, presets=2), directives=[grant(), grant(), *told]
    ),
}

each_side = pytest.mark.parametrize("phase", list(SIDES), ids=str)


def at(phase: Phase, *directives: Directive, then: tuple[Line, ...] = ()) -> Play:
    """An agent that asks for something beside; the directives answer that, and the lines come after it."""
    return SIDES[phase](list(directives), list(then)).ask(timeout=9.0)


@each_side
def test_it_is_a_request_of_its_own_with_its_own_purpose(phase: Phase) -> None:
    play = at(phase)

    assert play.phase is phase
    purpose, turns = play.asked[-1]
    assert purpose in {Purpose.DECOMPOSE, Purpose.SUMMARISE, Purpose.COMPACT}
    assert len(turns) == 2
    asked = [effect for effect in play.effects if isinstance(effect, AskLeave)][-1]
    assert (asked.purpose, asked.output) == (purpose, play.rules.side_output)


@each_side
def test_without_leave_the_run_does_without_and_goes_on(phase: Phase) -> None:
    play = at(phase, EndStep("not now"))

    assert play.phase is Phase.THINKING
    assert flaw(play.turns) is None


@each_side
@pytest.mark.parametrize("directive", [WindDown("tokens", "none left"), Wait(9999.0, "held")], ids=["spent", "held"])
def test_a_spent_account_leads_to_a_last_answer(phase: Phase, directive: Directive) -> None:
    play = at(phase, directive, then=(says("So far."),))

    assert str(play.outcome) == "limit:tokens"
    assert play.outcome.text == "So far."


@each_side
def test_a_stop_of_the_supervisor_ends_the_run(phase: Phase) -> None:
    assert str(at(phase, Stop("enough")).outcome) == "stopped"


@each_side
def test_a_wait_asks_again_later(phase: Phase) -> None:
    play = at(phase, Wait(1.0, "held"))

    assert play.phase is phase
    assert play.seen(AskLeave) == len(play.asked) + 1


@each_side
def test_a_pause_takes_it_up_again_afterwards(phase: Phase) -> None:
    play = at(phase, Pause("a look"))
    assert play.phase is Phase.PAUSED
    before = len(play.asked)

    play.feed(Resumed())

    assert play.phase is phase
    assert len(play.asked) == before + 1


@each_side
def test_a_pause_that_is_asked_for_meanwhile_begins_at_the_next_boundary(phase: Phase) -> None:
    play = at(phase).feed(PauseAsked("a look"))
    assert play.phase is phase

    play.model(says('{"kind": "simple"}'))

    assert play.phase is (Phase.THINKING if phase is Phase.COMPACTING else Phase.PAUSED)


@each_side
def test_a_stop_cancels_it(phase: Phase) -> None:
    play = at(phase)
    op = play.state.open_ops[0]

    play.feed(Stopped("by the user"))

    assert any(op in effect.ops for effect in play.effects if isinstance(effect, Cancel))
    assert play.pending == {}
    assert flaw(play.turns) is None


@each_side
def test_the_runs_time_ends_it_and_a_last_answer_follows(phase: Phase) -> None:
    play = at(phase).fire(StartDeadline).model(says("So far."))

    assert str(play.outcome) == "limit:time"
    assert play.outcome.text == "So far."


@each_side
def test_failures_are_tried_again_then_with_the_next_preset_then_done_without(phase: Phase) -> None:
    passing = at(phase, then=(Failure(), Failure()))
    assert passing.phase is phase
    assert passing.notices.count("model.retry") == 2

    lasting = at(phase, then=(Failure(retryable=False), Failure("The key is wrong.", retryable=False)))
    assert lasting.notices.count("model.fallback") == 1
    assert lasting.told("model.failed")[0].text == "The key is wrong."
    assert lasting.phase is Phase.THINKING


@pytest.mark.parametrize("phase", [Phase.DECOMPOSING, Phase.SUMMARISING], ids=str)
def test_what_was_done_without_is_told_with_the_reason(phase: Phase) -> None:
    play = at(phase, EndStep("not now"))

    (told,) = play.told("step.degraded")
    assert told.text.endswith("was made: not now")
    assert told.warning
    assert told.data == {"phase": phase.value}


def test_a_run_that_begins_while_a_pause_is_asked_for_asks_for_no_plan_before_it_is_over() -> None:
    play = Play(rules=Rules(plan="always")).feed(PauseAsked("a look")).ask()
    assert (play.phase, play.asked) == (Phase.PAUSED, [])

    assert play.feed(Resumed()).phase is Phase.DECOMPOSING
