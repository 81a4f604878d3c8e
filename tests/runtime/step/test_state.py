"""What an agent awaits, and what it does not."""

import pytest

from amrita_fleet.protocols.ids import AgentId
from amrita_fleet.runtime.step.effects import CallModel
from amrita_fleet.runtime.step.phases import Op, Phase, WaitFor
from amrita_fleet.runtime.step.rules import Rules
from amrita_fleet.runtime.step.state import AgentState

from .play import Play, calls

ANA, BOB, CY = AgentId("ana"), AgentId("bob"), AgentId("cy")


def test_a_new_agent_awaits_nothing() -> None:
    state = AgentState.begin(ANA, Rules())

    assert state.phase is Phase.IDLE
    assert state.open_ops == ()
    assert not state.awaits(Op(1))


def test_calls_are_awaited_until_each_has_ended() -> None:
    play = Play([calls("a", "b")], held=("a", "b")).ask()
    first, second = play.pending

    play.end("a", "done")

    assert not play.state.awaits(first)
    assert play.state.awaits(second)


def test_a_runs_timer_is_awaited_beside_what_the_phase_awaits() -> None:
    play = Play().ask(timeout=5.0)

    assert sorted(play.state.open_ops) == sorted(play.pending)
    assert sum(isinstance(effect, CallModel) for effect in play.pending.values()) == 1


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (WaitFor((BOB,), 5.0), WaitFor((CY,), 9.0), WaitFor((BOB, CY), 9.0)),
        (WaitFor((BOB,), 9.0), WaitFor((BOB,), 5.0), WaitFor((BOB,), 9.0)),
        (WaitFor((), 5.0), WaitFor((CY,), 9.0), WaitFor((), 9.0)),
        (WaitFor((BOB,), 9.0), WaitFor((), 5.0), WaitFor((), 9.0)),
    ],
    ids=["two", "the same", "anybody first", "anybody second"],
)
def test_two_waits_are_one_for_either(one: WaitFor, other: WaitFor, both: WaitFor) -> None:
    assert one.joined(other) == both
