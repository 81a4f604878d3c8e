"""How a run ended."""

from dataclasses import dataclass
from enum import StrEnum

from .ids import AgentId, RunId

__all__ = ("Ending", "Limit", "Outcome")


class Ending(StrEnum):
    """The ways a run can end."""

    ANSWERED = "answered"
    STALLED = "stalled"
    LIMIT = "limit"
    STOPPED = "stopped"
    FAILED = "failed"


class Limit(StrEnum):
    """Which limit ended a run."""

    ROUNDS = "agent_tool_call_limit"
    STEP_TOKENS = "agent_step_token_budget"
    TOKENS = "tokens"
    FLEET_TOKENS = "fleet_tokens"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended and what it came to.

    Attributes:
        ending: In which way.
        text: The last answer; made without a model where no call was possible.
        limit: Which limit, when one ended it.
        reason: One sentence on why, when it did not simply answer.
        tokens: Prompt and completion tokens of all its model calls.
        rounds: Model calls that were answered.
        steps: Steps it took.
    """

    run: RunId
    agent: AgentId
    ending: Ending
    text: str
    limit: Limit | None = None
    reason: str = ""
    tokens: int = 0
    rounds: int = 0
    steps: int = 0

    @property
    def answered(self) -> bool:
        """The run ended by itself, with an answer."""
        return self.ending is Ending.ANSWERED

    def __str__(self) -> str:
        """The ending as one word, or `limit:<which>`."""
        return f"limit:{self.limit}" if self.limit else self.ending.value
