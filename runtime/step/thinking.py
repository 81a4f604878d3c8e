"""Asking the model for the next reply of the conversation."""

from ...protocols.outcome import Ending, Limit
from ...protocols.plural import plural
from .asking import ask
from .effects import Moved
from .ending import wind_down
from .phases import Ask, Thinking
from .state import AgentState

__all__ = ("rounds_spent", "think")


def think(state: AgentState) -> Moved:
    """Ask the model, unless the run has had all its rounds."""
    if state.rounds_left <= 0:
        return rounds_spent(state)
    return ask(state, Thinking(Ask()))


def rounds_spent(state: AgentState) -> Moved:
    """The run has no rounds left: a last answer follows."""
    allowed = state.rules.rounds + state.current.extra
    return wind_down(state, Ending.LIMIT, f"the run has had its {plural(allowed, 'round')}", Limit.ROUNDS)
