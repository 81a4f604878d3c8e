"""What a model is told when tools fail and when it repeats itself.

Prose in a system prompt works sometimes; a sentence right after the failure, the same each time, works more often.
"""

from collections.abc import Mapping
from types import MappingProxyType

from .revision import UPDATE_STEP

__all__ = ("failure_hint", "repeat_hint")

WITH_PLAN: Mapping[int, str] = MappingProxyType(
    {
        1: f"A tool call failed: retry at most once, then call {UPDATE_STEP} (remove_step or replan).",
        2: f"A tool call failed again: do not retry, call {UPDATE_STEP} now (remove_step or replan).",
    }
)
WITHOUT_PLAN: Mapping[int, str] = MappingProxyType(
    {
        1: "A tool call failed: retry at most once, then go another way.",
        2: "A tool call failed again: do not retry, go another way now, or answer with what you have.",
    }
)


def failure_hint(count: int, *, plan: bool) -> str | None:
    """What follows a batch in which an output begins with `ERROR`; None where enough was said.

    Args:
        count: The how-many-th such batch of the Step it is, from 1.
        plan: Whether the model is offered `update_step`; what is not offered is not named.
    """
    return (WITH_PLAN if plan else WITHOUT_PLAN).get(count)


def repeat_hint(times: int, limit: int, tool: str) -> str:
    """What follows a call that was made `times` times in a row, where the `limit`-th will not run."""
    return (
        f"You have called {tool} {times} times in a row with the same arguments. "
        f"Call number {limit} will be cancelled: use what you have, change the arguments, or do something else."
    )
