"""Any event at any time either moves the agent to a sound state, or is refused and changes nothing."""

import hypothesis
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from amrita_fleet.runtime.errors import InvalidMove
from amrita_fleet.runtime.step.advance import MOVES
from amrita_fleet.runtime.step.effects import AskLeave
from amrita_fleet.runtime.step.events import Replied, Resumed, Stopped, ToolEnded
from amrita_fleet.runtime.step.phases import Op, Phase

from .machine import AgentMachine, LongLivedMachine
from .play import Play, calls, says

OFTEN = {
    *("step.decompose", "step.plan_refused", "step.plan_status", "step.plan_revision", "step.node_done"),
    *("step.node_failed", "step.degraded", "step.compress", "step.hint", "step.stall", "step.waiting"),
    *("step.strategy_failed", "step.winding_down", "tool.approval", "tool.approved", "tool.refused"),
    *("tool.cancelled", "model.empty", "model.flawed", "model.fallback", "run.extended", "agent.paused"),
    "agent.revived",
}
"""What watchers must have seen many times."""

QUIET = settings(deadline=None, report_multiple_bugs=False, suppress_health_check=[HealthCheck.too_slow])


def live_long(examples: int, events: int) -> None:
    """Lives of hundreds of Steps; a failing one is shown as it was."""
    phases = (hypothesis.Phase.reuse, hypothesis.Phase.generate)
    long = settings(QUIET, max_examples=examples, stateful_step_count=events, phases=phases)
    run_state_machine_as_test(LongLivedMachine, settings=long)


def seen_often() -> set[str]:
    """Notices that came ten times or more."""
    return {notice for notice, times in AgentMachine.steps.items() if times >= 10}


def test_any_event_at_any_time_is_taken_or_refused() -> None:
    run_state_machine_as_test(AgentMachine, settings=settings(QUIET, stateful_step_count=30))


def test_it_holds_for_hundreds_of_steps() -> None:
    live_long(examples=4, events=8)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_it_holds_for_ten_thousand_steps() -> None:
    AgentMachine.steps.clear()

    while AgentMachine.steps["all"] < 10_000 or not seen_often() >= OFTEN:
        live_long(examples=20, events=40)
        assert AgentMachine.steps["all"] < 100_000, "a machine that never comes there proves nothing"


def test_an_answer_that_comes_after_the_stop_is_refused() -> None:
    play = Play([calls("a")], held=("a",)).ask()
    late = next(iter(play.pending))
    play.feed(Stopped("by the user")).ask("Once more.")
    before = play.state

    with pytest.raises(InvalidMove):
        play.feed(ToolEnded(late, "too late", "d"))
    assert play.state is before


def test_an_answer_that_comes_twice_is_refused() -> None:
    play = Play([calls("a", "b")], held=("a", "b")).ask()
    first = next(iter(play.pending))
    play.end("a", "done")
    before = play.state

    with pytest.raises(InvalidMove):
        play.feed(ToolEnded(first, "done again", "d"))
    assert play.state is before


def test_an_answer_to_another_question_is_refused() -> None:
    play = Play(held=(AskLeave,)).ask()
    op = next(iter(play.pending))

    with pytest.raises(InvalidMove, match="no move for Replied"):
        play.feed(Replied(op, says("Too early.")))
    with pytest.raises(InvalidMove):
        play.feed(ToolEnded(Op(999), "", ""))
    assert play.phase is Phase.THINKING


def test_every_phase_can_be_stopped_and_resumed() -> None:
    assert set(MOVES) == set(Phase)
    assert all({Stopped, Resumed} <= set(moves) for moves in MOVES.values())
