"""What is said when an agent spawns another one: what it may, what it asks for, and what came of it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from .ids import AgentId, Incarnation
from .limits import Limits
from .restarts import Restart

__all__ = (
    "Allowance",
    "SpawnAnswer",
    "SpawnCause",
    "SpawnRefusal",
    "SpawnRequest",
    "Spawned",
    "StopAnswer",
    "StopRequest",
)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one agent may spawn, in numbers.

    Attributes:
        depth: Generations below it; 1: its children spawn nobody.
        children: Agents that it may spawn in all its lives.
        live: Agents below it, in all generations, that may live at once.
        tokens: What all below it may spend together; None: no limit of its own.
    """

    depth: int = 1
    children: int = 8
    live: int = 4
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class SpawnRequest:
    """An agent asks for a child.

    Attributes:
        agent: Who asks.
        incarnation: Its life.
        kind: What the child is, of the kinds that it was given.
        name: What the child is to be called.
        call: Names the tool call that asks, in all the agent's lives: asked for again, it is the same child.
        limit: The most the child may spend; None: only the limits above it count.
        allowance: What the child may spawn; None: nobody.
        priced: Each of its presets says what its model costs.
        unbounded: A provider of its may bill any number of tokens more than it is granted.
        restart: Whether another life of the child may follow a death.
    """

    agent: AgentId
    incarnation: Incarnation
    kind: str
    name: AgentId
    call: str
    limit: Limits | None = None
    allowance: Allowance | None = None
    priced: bool = False
    unbounded: bool = False
    restart: Restart = "permanent"


class SpawnCause(StrEnum):
    """Why an agent is not spawned."""

    NOT_GRANTED = "not_granted"
    """Who asks may spawn nobody, or may do nothing more; or what the kind costs is not known where that is limited."""
    DEPTH = "depth"
    CHILDREN = "children"
    LIVE = "live"
    TOKENS = "tokens"
    """More than is left; or it has no limit, where the cost of all must have one."""
    NAME = "name"
    """It cannot be called so."""
    FAILED = "failed"
    """It was let in and could not be brought to life."""


@dataclass(frozen=True, slots=True)
class Spawned:
    """The child.

    Attributes:
        limit: The most it may spend; None: only the limits above it count.
        born: It came to life before, or somebody brings it to life anyway.
    """

    agent: AgentId
    incarnation: Incarnation
    limit: Limits | None = None
    born: bool = False


@dataclass(frozen=True, slots=True)
class SpawnRefusal:
    """Why there is no child.

    Attributes:
        why: In whole sentences, with the numbers and what can be done instead.
    """

    cause: SpawnCause
    why: str


SpawnAnswer: TypeAlias = Spawned | SpawnRefusal


@dataclass(frozen=True, slots=True)
class StopRequest:
    """An agent wants one below it to end, for good.

    Attributes:
        agent: Who asks.
        incarnation: Its life.
        child: Whom it or one below it has spawned.
    """

    agent: AgentId
    incarnation: Incarnation
    child: AgentId

    @property
    def reason(self) -> str:
        """Why the child may do nothing more."""
        return f"stopped by {self.agent}"


@dataclass(frozen=True, slots=True)
class StopAnswer:
    """What came of it.

    Attributes:
        stopped: Those that may do nothing more now: the child, then all under it that live.
        why: Why nobody was stopped, in whole sentences; empty: they were.
    """

    stopped: tuple[AgentId, ...] = ()
    why: str = ""
