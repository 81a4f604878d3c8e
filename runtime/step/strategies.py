"""What a user may decide in the loop's place: a strategy, an object that only computes.

A strategy returns values; the core looks at them and keeps pairing, limits and reasoning whatever they are. What it
raises or returns amiss costs nothing but its say: the built-in answer counts, and a notice tells.
"""

from typing import Protocol

from ...protocols.messages import Turn
from .plan import Plan
from .stall import Window

__all__ = ("BuiltinStrategy", "Strategy")


class Strategy(Protocol):
    """Decides in the loop. Methods are pure and quick: they run between two awaits of the agent's loop."""

    def next_node(self, plan: Plan) -> str | None:
        """Which of `plan.ready` is worked on next; None: the first in topological order."""
        ...

    def stalled(self, window: Window) -> bool:
        """Whether the agent goes in circles, beside what the core sees itself. Asked after each round of calls."""
        ...

    def compact(self, turns: tuple[Turn, ...], why: str) -> int | None:
        """How many of the newest rounds stay as they are when the history is made smaller; None: as many as fit."""
        ...

    def final_prompt(self, plan: Plan) -> str | None:
        """What asks for the final answer once all nodes are over; None: the built-in text."""
        ...


class BuiltinStrategy:
    """Leaves everything to the core. A base for strategies that decide one thing, with whatever they need for it."""

    def next_node(self, plan: Plan) -> str | None:  # noqa: ARG002
        """The first in topological order."""
        return None

    def stalled(self, window: Window) -> bool:  # noqa: ARG002
        """Nothing beside what the core sees."""
        return False

    def compact(self, turns: tuple[Turn, ...], why: str) -> int | None:  # noqa: ARG002
        """As many rounds as fit."""
        return None

    def final_prompt(self, plan: Plan) -> str | None:  # noqa: ARG002
        """The built-in text."""
        return None
