"""What follows failures and repeats."""

import pytest

from amrita_fleet.runtime.step.hints import failure_hint, repeat_hint


def test_with_a_plan_the_first_failure_allows_one_retry_and_the_second_none() -> None:
    first, second = failure_hint(1, plan=True), failure_hint(2, plan=True)

    assert first is not None
    assert "retry at most once, then call update_step (remove_step or replan)" in first
    assert second is not None
    assert "do not retry, call update_step now" in second


def test_without_a_plan_the_tool_that_is_not_offered_is_not_named() -> None:
    first, second = failure_hint(1, plan=False), failure_hint(2, plan=False)

    assert first is not None
    assert "retry at most once" in first
    assert second is not None
    assert "do not retry" in second
    assert "update_step" not in first + second


@pytest.mark.parametrize("plan", [True, False], ids=["plan", "no plan"])
@pytest.mark.parametrize("count", [0, 3, 4])
def test_two_hints_a_step_are_enough(count: int, plan: bool) -> None:
    assert failure_hint(count, plan=plan) is None


def test_a_repeat_is_told_before_it_is_cancelled() -> None:
    hint = repeat_hint(3, 5, "look")

    assert hint.startswith(
        "You have called look 3 times in a row with the same arguments. Call number 5 will be cancel"
    )
