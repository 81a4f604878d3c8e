"""Where agents say that they begin to wait for mail, and are told when nobody would ever end it.

What the Supervisor knows of waits is late: their ends are reported in batches. So it only raises a suspicion, and all
who are part of it are asked how they stand now. They are asked twice, for what was on its way from one of them when it
was looked at first may have come to another one right after that was.
"""

import asyncio
from threading import Lock
from typing import Protocol

from ...protocols.checkin import DEAD, STOPPED, AgentStatus
from ...protocols.ids import AgentId, Incarnation
from ...protocols.waits import Standing, WaitRefusal, WaitRequest
from ..errors import AgentUnknown
from . import wording
from .supervisor import Supervisor
from .waits import Knot, Waits

__all__ = ("GONE", "WAITING", "Agents", "WaitDesk")

GONE = (DEAD, STOPPED)
"""The phases of agents that will never write again, once what they sent before has come."""

WAITING = "waiting"
"""The phase of an agent that waits for mail."""

LOOKS = 2
"""How often those who seem to wait for each other are looked at."""


class Agents(Protocol):
    """The way to all agents of a fleet, for one who asks how they stand. No call takes longer than about a second."""

    async def standing(self, agent: AgentId) -> Standing | None:
        """How an agent stands now; None: it does not say."""
        ...

    async def end_wait(self, agent: AgentId, incarnation: Incarnation, op: int, refusal: WaitRefusal) -> None:
        """End one wait of an agent's life, if it can be told and the wait is not over."""
        ...


class WaitDesk:
    """Keeps the waits of a fleet. It belongs to one event loop, but for `heard`.

    Attributes:
        news: Set whenever somebody is heard to wait.
    """

    def __init__(self, supervisor: Supervisor, agents: Agents) -> None:
        """Take the running loop; nobody waits."""
        self.news = asyncio.Event()
        self._supervisor = supervisor
        self._agents = agents
        self._loop = asyncio.get_running_loop()
        self._lock = Lock()
        self._waits = Waits()
        self._turn = asyncio.Lock()

    def heard(self, status: AgentStatus) -> None:
        """An agent has said how it is, in whatever thread."""
        with self._lock:
            self._waits.heard(status)
        if status.phase == WAITING and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.news.set)

    async def ask(self, wait: WaitRequest) -> WaitRefusal | None:
        """A wait begins; gives why nobody would ever end it, and then it does not."""
        row = self._row(wait.agent)
        if row is None or row.phase in GONE or row.incarnation != wait.incarnation:
            return None
        self.begin(wait)
        return await self.judged(wait)

    def begin(self, wait: WaitRequest) -> None:
        """Keep a wait. Whoever asks while it is judged must know of it: of two that close a knot one is let through."""
        with self._lock:
            self._waits.begin(wait)
        self.news.set()

    def end(self, wait: WaitRequest) -> None:
        """Forget a wait that is over."""
        with self._lock:
            self._waits.end(wait)

    @property
    def waits(self) -> dict[AgentId, WaitRequest]:
        """The waits that are kept."""
        with self._lock:
            return {wait.agent: wait for wait in self._waits}

    async def judged(self, wait: WaitRequest) -> WaitRefusal | None:
        """Why nobody would ever end a wait, which is forgotten then; None if somebody may."""
        if self._knot(wait, set()) is None:
            return None
        async with self._turn:  # what is refused meanwhile is not part of a later one's knot
            acting = set[AgentId]()
            while (knot := self._knot(wait, acting)) is not None:
                found = await self._acting(knot)
                if not found:
                    self.end(wait)
                    return wording.endless(knot, self._rows(knot.gone))
                acting |= found
            return None

    def _knot(self, wait: WaitRequest, acting: set[AgentId]) -> Knot | None:
        """The knot that a wait is part of by what is known here, and as those have said that may act after all."""
        with self._lock:
            reached = self._waits.reached(wait.agent) if self._waits.of(wait.agent) == wait else ()
        gone = {agent for agent, row in self._rows(reached).items() if row.phase in GONE} - acting
        with self._lock:
            return self._waits.knot(wait.agent, gone=gone, acting=acting)

    async def _acting(self, knot: Knot) -> set[AgentId]:
        """Those of a knot that may write after all; none: it is one."""
        stopped = [agent for agent, row in self._rows(knot.gone).items() if row.phase == STOPPED]
        for _ in range(LOOKS):
            waiting, ended = await asyncio.gather(
                asyncio.gather(*(self._agents.standing(wait.agent) for wait in knot.waits)),
                asyncio.gather(*(self._agents.standing(agent) for agent in stopped)),
            )
            acting = {
                wait.agent
                for wait, each in zip(knot.waits, waiting, strict=True)
                if each is None or not each.waits_still(wait)
            }
            acting |= {agent for agent, each in zip(stopped, ended, strict=True) if not is_over(each)}
            if acting:
                return acting
        return set()

    def _rows(self, agents: tuple[AgentId, ...]) -> dict[AgentId, AgentStatus]:
        rows = ((agent, self._row(agent)) for agent in agents)
        return {agent: row for agent, row in rows if row is not None}

    def _row(self, agent: AgentId) -> AgentStatus | None:
        """An agent's row; None of one that the fleet does not have, such as a person."""
        try:
            return self._supervisor.find(agent)
        except AgentUnknown:
            return None


def is_over(standing: Standing | None) -> bool:
    """Whether a stopped agent has ended its run, and its last words have come."""
    return standing is not None and standing.phase == STOPPED and not standing.outgoing
