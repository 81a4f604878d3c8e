"""What a watcher sees: numbered events of a fleet."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from .ids import AgentId, RunId
from .messages import Json

__all__ = ("Notice", "NoticeType")


class NoticeType(StrEnum):
    """What a notice is about; `Notice.extra_type` says which event of that kind."""

    AGENT = "agent"
    RUN = "run"
    STEP = "step"
    MODEL = "model"
    TOOL = "tool"
    MAIL = "mail"
    BUDGET = "budget"
    WATCH = "watch"


@dataclass(frozen=True, slots=True)
class Notice:
    """One event of a fleet. Told apart by `type` and `extra_type`, as in `type == "step"` and `extra_type == "stall"`.

    Attributes:
        type: What it is about.
        extra_type: Which event of that kind.
        agent: Whom it concerns.
        text: One line for a person.
        run: The run, where there is one.
        step: Steps of the agent's life so far.
        data: The facts, as plain data.
        number: Place in the fleet's log, from 1 without gaps. On its way there: its place among what the agent's life
            reports, rising from 1, by which one that comes twice counts once; 0 of what nobody sends twice.
        at: Unix seconds.
        recorded: On its way to the fleet's log: its place among what the agent's record says in all its lives, from 1,
            by which one that a further life tells again counts once. 0: no record says it, or it is in the log.
    """

    type: NoticeType
    extra_type: str
    agent: AgentId
    text: str
    run: RunId | None = None
    step: int = 0
    data: Mapping[str, Json] = field(default_factory=dict[str, Json])
    number: int = 0
    at: float = 0.0
    recorded: int = 0

    def get(self, name: str, default: Json = None) -> Json:
        """A field or a fact by name, so that a notice can be read like the mapping it was in older systems."""
        if name in self.data:
            return self.data[name]
        value = getattr(self, name, default) if name in self.__slots__ else default
        return value if isinstance(value, str | int | float) else default

    def __str__(self) -> str:
        """One line: number, agent, kind, text."""
        kind = f"{self.type}.{self.extra_type}"
        return f"{self.number:>5} {self.agent:<12} {kind:<18} {self.text}"
