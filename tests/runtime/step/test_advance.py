"""Any event at any time either moves the agent to a sound state, or is refused and changes nothing."""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from .machine import AgentMachine, LongLivedMachine

QUIET = settings(deadline=None, report_multiple_bugs=False, suppress_health_check=[HealthCheck.too_slow])


def live_long(examples: int, events: int) -> None:
    """Lives of hundreds of Steps; a failing one is shown as it was."""
    phases = (Phase.reuse, Phase.generate)
    long = settings(QUIET, max_examples=examples, stateful_step_count=events, phases=phases)
    run_state_machine_as_test(LongLivedMachine, settings=long)


def test_any_event_at_any_time_is_taken_or_refused() -> None:
    run_state_machine_as_test(AgentMachine, settings=settings(QUIET, max_examples=30, stateful_step_count=30))


def test_it_holds_for_hundreds_of_steps() -> None:
    live_long(examples=5, events=20)


@pytest.mark.slow
def test_it_holds_for_ten_thousand_steps() -> None:
    AgentMachine.steps.clear()

    live_long(examples=100, events=60)

    assert AgentMachine.steps["all"] >= 10_000
