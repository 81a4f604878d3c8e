"""A reply that says nothing is asked for once more; what asks for it does not stay in the history."""

from dataclasses import replace

from .prompts import EMPTY_REPLY
from .state import AgentState

__all__ = ("nudge", "without_nudge")


def nudge(state: AgentState) -> AgentState:
    """Tell the model that its reply was empty."""
    run = replace(state.current, nudged=True)
    return replace(state, run=run, transcript=state.transcript.note(EMPTY_REPLY))


def without_nudge(state: AgentState) -> AgentState:
    """The agent as if it had not been nudged; called wherever a reply came or will not come."""
    if not state.current.nudged:
        return state
    return replace(state, transcript=state.transcript.without_last_note(EMPTY_REPLY))
