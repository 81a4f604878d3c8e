"""How a run ended."""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, Self, TypeVar

from .errors import OutputMissing
from .ids import AgentId, RunId
from .messages import Json

__all__ = ("Ending", "Limit", "Outcome")


class Ending(StrEnum):
    """The ways a run can end."""

    ANSWERED = "answered"
    STALLED = "stalled"
    LIMIT = "limit"
    STOPPED = "stopped"
    FAILED = "failed"


class Limit(StrEnum):
    """Which limit ended a run: one of its loop, or what an account lacked; its agent's where none is named."""

    ROUNDS = "agent_tool_call_limit"
    STEP_TOKENS = "agent_step_token_budget"
    TIME = "time"
    TOKENS = "tokens"
    DOLLARS = "dollars"
    MODEL_CALLS = "model_calls"
    TOOL_CALLS = "tool_calls"
    SECONDS = "seconds"
    FLEET_TOKENS = "fleet_tokens"
    FLEET_DOLLARS = "fleet_dollars"
    FLEET_MODEL_CALLS = "fleet_model_calls"
    FLEET_TOOL_CALLS = "fleet_tool_calls"
    FLEET_SECONDS = "fleet_seconds"
    TEAM_TOKENS = "team_tokens"
    TEAM_DOLLARS = "team_dollars"
    TEAM_MODEL_CALLS = "team_model_calls"
    TEAM_TOOL_CALLS = "team_tool_calls"
    TEAM_SECONDS = "team_seconds"
    RUN_TOKENS = "run_tokens"
    RUN_DOLLARS = "run_dollars"
    RUN_MODEL_CALLS = "run_model_calls"
    RUN_TOOL_CALLS = "run_tool_calls"

    @property
    def exhausts_agent(self) -> bool:
        """Whether the agent can make no more model calls: its own limit is reached, or one above it."""
        own = self not in {Limit.ROUNDS, Limit.STEP_TOKENS, Limit.TIME}
        return own and not self.value.startswith("run_")


class Readable(Protocol):
    """A pydantic model, as far as an outcome knows one."""

    @classmethod
    def model_validate_json(cls, json_data: str, /, *, by_alias: bool, by_name: bool) -> Self:
        """The model that JSON text describes."""
        ...


R = TypeVar("R", bound=Readable)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended and what it came to.

    Attributes:
        ending: In which way.
        text: The last answer; made without a model where no call was possible.
        limit: Which limit, when one ended it.
        reason: One sentence on why, when it did not simply answer.
        tokens: Prompt and completion tokens of all its model calls.
        rounds: Model calls of the conversation that were answered; a last answer, plans and summaries are none.
        steps: Steps it took.
        output: The validated value as plain data, where the agent has an output type.
        error: Class of the error with which a model call failed the run, as in `AuthRefused`; empty: none did.
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
    output: Json = None
    error: str = ""

    @property
    def answered(self) -> bool:
        """The run ended by itself, with an answer."""
        return self.ending is Ending.ANSWERED

    def typed(self, model: type[R]) -> R:
        """The output as an instance of `model`, the agent's output type.

        Raises:
            OutputMissing: There is none, or it is of another type.
        """
        if self.output is None:
            why = f"; it ended {self} ({self.reason})" if self.reason else "; its agent has no output type"
            raise OutputMissing(run=self.run, reason=f"look at `outcome.output` before you ask for a value{why}")
        try:
            # As JSON, since a strict model takes a date's text from nowhere else; by name, since that is how it stands.
            return model.model_validate_json(json.dumps(self.output), by_alias=True, by_name=True)
        except ValueError as error:
            reason = f"it does not fit {model.__name__}, which is not the agent's output type"
            raise OutputMissing(run=self.run, reason=reason) from error

    def __str__(self) -> str:
        """The ending as one word, or `limit:<which>`."""
        return f"limit:{self.limit}" if self.limit else self.ending.value
