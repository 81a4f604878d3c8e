"""What is said of waits for mail: who is waited for, how an agent stands, and why a wait would never end."""

from dataclasses import dataclass
from enum import StrEnum

from .ids import AgentId, Incarnation, RunId

__all__ = ("Endless", "Standing", "WaitRefusal", "WaitRequest")


class Endless(StrEnum):
    """Why nobody would ever end a wait.

    `KNOT`: all who could, wait themselves, and only for each other. `GONE`: all who could are dead or stopped.
    `QUIET`: all agents of the fleet are idle or waiting.
    """

    KNOT = "knot"
    GONE = "gone"
    QUIET = "quiet"


@dataclass(frozen=True, slots=True)
class WaitRequest:
    """An agent is about to wait for mail.

    Attributes:
        agent: Who waits.
        incarnation: Its life.
        step: Steps of the agent's life so far; the wait is over when there is a later one.
        op: Names the wait within the life.
        senders: Only mail of these ends it; empty: anybody's does.
    """

    agent: AgentId
    incarnation: Incarnation
    step: int
    op: int
    senders: tuple[AgentId, ...] = ()


@dataclass(frozen=True, slots=True)
class WaitRefusal:
    """Why a wait does not begin, or goes on no longer.

    Attributes:
        why: The same as a sentence without its full stop, by name: `ana waits for bob, bob waits for ana`.
        agents: Who waits for each other, or is gone; of a quiet fleet, nobody in particular.
    """

    cause: Endless
    why: str
    agents: tuple[AgentId, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """How an agent stands at one moment, as far as it tells whether anything goes on.

    Attributes:
        phase: As `AgentStatus.phase`.
        run: Its run, if it has one.
        step: Steps of its life so far.
        wait: The `op` of its wait for mail; 0: it does not wait.
        senders: Whose mail ends that wait; empty: anybody's.
        stirs: Something is there that it will act on: mail that ends its wait or wakes it, a run whose turn it is.
        paused: Somebody paused it.
        outgoing: Messages of its own that have been neither accepted nor refused.
        sent: Messages sent and accepted.
        consumed: Messages consumed.
    """

    incarnation: Incarnation
    phase: str
    run: RunId | None = None
    step: int = 0
    wait: int = 0
    senders: tuple[AgentId, ...] = ()
    stirs: bool = False
    paused: bool = False
    outgoing: int = 0
    sent: int = 0
    consumed: int = 0

    def waits_still(self, wait: WaitRequest) -> bool:
        """Whether it is in just that wait, and nothing is there or on its way from it that would change that."""
        same = (self.incarnation, self.wait) == (wait.incarnation, wait.op)
        return same and not self.stirs and not self.outgoing
