"""What the watch knows of one agent: a value that each fact makes a new one of.

All times are the watch's own: those that agents give are of other machines' clocks.
"""

from dataclasses import dataclass, replace
from math import inf
from typing import assert_never

from ...protocols.checkin import DEAD, RESTARTING, STOPPED, AgentStatus, Proceed, Wait
from ...protocols.ids import AgentId, Incarnation, RunId
from ..step.phases import Phase
from .facts import CheckedIn, Observed, Pulse, Seen, Settled

__all__ = ("ASKING", "Granted", "OpenCall", "Sight", "Told")

ASKING = (Phase.DECOMPOSING, Phase.THINKING, Phase.SUMMARISING, Phase.COMPACTING, Phase.WINDING_DOWN)
"""Phases in which a model is asked."""


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A tool call that has no output yet.

    Attributes:
        call: Its number, unique in its agent's lives.
        since: When it began.
        beat: Its last sign of life.
        held: Why it waits for a person; empty: it does not.
    """

    call: int
    tool: str
    since: float
    beat: float
    held: str = ""


@dataclass(frozen=True, slots=True)
class Granted:
    """An attempt of a model call is under way, since it was granted."""

    reservation: str
    provider: str
    since: float


@dataclass(frozen=True, slots=True)
class Told:
    """Leave for a model call was asked for and not given yet, for this reason, since it was first refused."""

    reason: str
    since: float


@dataclass(frozen=True, slots=True)
class Sight:
    """One agent as the watch knows it.

    Attributes:
        since: When its phase was first seen.
        moved: When it last did something.
        note: What it says itself of why it stands.
        stood: When it last said so.
        ended: Why its life is over, or why it may do nothing more; None: neither.
        calls: Its tool calls under way, oldest first.
        tools: The tools it is in, as it says itself: a tool that blocks its loop keeps the notice of its start back.
        asking: How far its model call is; None: none is known of.
        senders: Whose mail it waits for; empty: anybody's.
        loop_silent: Since when the loop it works in does not answer; None: it does.
        process_silent: The same of its process.
    """

    agent: AgentId
    incarnation: Incarnation
    since: float
    moved: float
    parent: AgentId | None = None
    phase: str = Phase.IDLE
    run: RunId | None = None
    step: int = 0
    round: int = 0
    note: str = ""
    stood: float = -inf
    ended: str | None = None
    calls: tuple[OpenCall, ...] = ()
    tools: tuple[str, ...] = ()
    asking: Granted | Told | None = None
    senders: tuple[str, ...] = ()
    loop_silent: float | None = None
    process_silent: float | None = None

    @property
    def over(self) -> bool:
        """It is dead or stopped: nothing is expected of it."""
        return self.phase in {DEAD, RESTARTING, STOPPED}

    def learnt(self, fact: Observed, at: float) -> "Sight":
        """It is as this fact says."""
        match fact:
            case Seen(status, asked):
                return self if self.moved > asked else self._saw(status, at)
            case CheckedIn():
                return self._checked_in(fact, at)
            case Settled():
                return self._settled(fact, at)
            case Pulse():
                return self._pulsed(fact, at)
            case _:
                assert_never(fact)

    def _saw(self, status: AgentStatus, at: float) -> "Sight":
        """It is as this row says."""
        mark = (status.phase, status.run, status.step, status.round)
        moved = mark != (self.phase, self.run, self.step, self.round)
        ended = status.note if status.phase in {DEAD, RESTARTING, STOPPED} else None
        return replace(
            self,
            parent=self.parent if status.parent is None else status.parent,
            phase=status.phase,
            run=status.run,
            step=status.step,
            round=status.round,
            note=status.note,
            ended=ended,
            since=self.since if status.phase == self.phase else at,
            moved=at if moved else self.moved,
            calls=self.calls if status.phase == Phase.ACTING else (),
            tools=status.tools,
            asking=self.asking if status.phase in ASKING else None,
            senders=self.senders if status.phase == Phase.WAITING else (),
        )

    def _checked_in(self, fact: CheckedIn, at: float) -> "Sight":
        """It asked for leave."""
        now = replace(self, moved=at, phase=fact.asked.phase, calls=(), tools=(), senders=())
        match fact.directive:
            case Proceed(grant=grant):
                call = Granted(grant.reservation, fact.asked.provider, at + grant.after)
                return replace(now, asking=call)
            case Wait(reason=reason):
                since = self.asking.since if isinstance(self.asking, Told) else at
                return replace(now, asking=Told(reason, since))
            case _:
                return replace(now, asking=None)

    def _settled(self, fact: Settled, at: float) -> "Sight":
        """An attempt of its model calls has ended; a late word on an earlier one changes nothing."""
        if isinstance(self.asking, Granted) and self.asking.reservation == fact.settlement.reservation:
            return replace(self, moved=at, asking=None)
        return self

    def _pulsed(self, pulse: Pulse, at: float) -> "Sight":
        """It was asked for a sign of life. Of a process that does not answer nothing is known of its loop.

        One that answers has just been seen: what its row says of why it stands is not of an earlier time.
        """
        loop = self.loop_silent if not pulse.control else None if pulse.loop else first(self.loop_silent, at)
        process = None if pulse.control else first(self.process_silent, at)
        stood = at if pulse.control and self.note else self.stood
        return replace(self, loop_silent=loop, process_silent=process, stood=stood)

    def at_rest(self) -> "Sight":
        """It is in no tool and waits for no mail."""
        return replace(self, calls=(), tools=(), senders=())


def first(since: float | None, at: float) -> float:
    """When something began that goes on."""
    return at if since is None else since
