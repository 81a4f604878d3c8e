"""What agents run on, as a fleet sees it: this process (`local`) or a Ray cluster (`ray`)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ..protocols.checkin import AgentStatus
from ..protocols.ids import AgentId, Incarnation, RunId
from ..protocols.notices import Notice
from ..protocols.outcome import Outcome
from .agent import Agent
from .ports import PostOffice
from .supervision.account import Account

__all__ = ("STOP_PATIENCE", "Progress", "SpawnOrder", "System")

Progress = Callable[[int, int], None]
"""Called as agents become ready: how many are, and how many were ordered."""


STOP_PATIENCE = 5.0
"""Seconds a stop waits for one agent's acknowledgement."""


@dataclass(frozen=True)
class SpawnOrder:
    """One agent to be spawned: `limit` in tokens; `parent` is told by mail when it ends badly."""

    name: AgentId
    agent: Agent
    parent: AgentId | None = None
    limit: int | None = None


class System(Protocol):
    """Where agents live. Opened once, closed once.

    Attributes:
        fleet: The fleet's name; one that is joined without being named has it once the system is open.
    """

    fleet: str

    @property
    def post(self) -> PostOffice:
        """The way to the mailboxes; there once the system is open."""
        ...

    async def open(self) -> None:
        """Start what agents need: the Supervisor first.

        Raises:
            SystemUnavailable: It cannot be started or reached.
        """
        ...

    async def close(self) -> None:
        """End everything this system started. Safe to call twice."""
        ...

    async def spawn(self, orders: tuple[SpawnOrder, ...], progress: Progress) -> None:
        """Bring agents to life; all of them or none.

        Raises:
            NameTaken: The fleet has such an agent.
            NameInvalid: No agent can be named so.
            Unpicklable: An agent cannot go to another process.
        """
        ...

    async def admit_user(self) -> Incarnation:
        """A new life of the person who sends: each process that sends for people has its own."""
        ...

    async def start(self, agent: AgentId, task: str, time_limit: float | None) -> RunId:
        """Queue a run; its Steps begin when those before it are over.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It has stopped.
            QueueFull: Too many runs wait.
        """
        ...

    async def outcome(self, agent: AgentId, run: RunId) -> Outcome:
        """Wait for the end of a run.

        Raises:
            AgentUnknown: There is no such agent or run.
            ChannelClosed: The agent died before the run ended.
        """
        ...

    async def stop(self, agents: tuple[AgentId, ...], reason: str) -> tuple[AgentId, ...]:
        """Stop agents and those below them; none given: all. Answers when they have stopped, with their names."""
        ...

    async def pause(self, agent: AgentId, reason: str | None) -> None:
        """Pause an agent and those below it at the next boundary or model call; without a reason, let them go on.

        Raises:
            AgentUnknown: There is no such agent.
        """
        ...

    async def statuses(self) -> tuple[AgentStatus, ...]:
        """One row for each agent, in the order they were admitted."""
        ...

    async def notices(self, after: int, wait: float) -> tuple[Notice, ...]:
        """Notices numbered above `after`; waits up to `wait` seconds while there are none."""
        ...

    async def accounts(self) -> tuple[Account, ...]:
        """The Supervisor's accounts."""
        ...
