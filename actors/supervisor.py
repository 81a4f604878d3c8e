"""The Supervisor's actor: thin methods around `runtime.supervision.Supervisor`. Those for agents are in `link.py`.

Every method is quick. A call costs Ray half a millisecond of CPU, many times what the Supervisor itself needs.
"""

import ray

from ..protocols.checkin import AgentStatus
from ..protocols.codec import decode, encode
from ..protocols.ids import SUPERVISOR, USER, AgentId, Incarnation
from ..runtime.clock import SystemClock
from ..runtime.errors import PeerUnreachable
from ..runtime.notes import NotePoster
from ..runtime.supervision.supervisor import Newcomer, Supervisor
from ..runtime.watching import next_notices
from .channel import CONTROL, RayPost
from .link import AgentsDesk

__all__ = ("WATCH", "SupervisorActor")

WATCH = "watch"
"""Concurrency group beside `CONTROL`, the default one and those of agents: watchers never delay anybody."""


class SupervisorActor(AgentsDesk):
    """The whole Supervisor, for systems and people."""

    _made: Supervisor | None = None

    @property
    def _supervisor(self) -> Supervisor:
        """The Supervisor, once the fleet is open.

        Raises:
            PeerUnreachable: It is still being started; the caller may try again.
        """
        if self._made is None:
            raise PeerUnreachable(agent=SUPERVISOR, reason="the fleet is being started")
        return self._made

    @ray.method
    async def open(self) -> None:
        """Begin a fleet without agents; its notes are posted from the default group's loop."""
        clock = SystemClock()
        self._notes = NotePoster(RayPost(self._namespace, self._row), clock)
        self._made = Supervisor(fleet=self._fleet, limit=self._limit, now=clock.now, post=self._notes)

    @ray.method
    async def close(self) -> None:
        """Give up on notes that are still on their way."""
        await self._notes.aclose()

    @ray.method(concurrency_group=CONTROL)
    async def ping(self) -> None:
        """Answer."""

    @ray.method(concurrency_group=CONTROL)
    async def admit(self, newcomers: list[Newcomer], pid: int) -> list[Incarnation]:
        """Take in agents, all or none; `pid` is the process that asks. Gives the numbers of their lives."""
        return list(self._supervisor.admit_all(newcomers, pid))

    @ray.method(concurrency_group=CONTROL)
    async def admit_user(self, pid: int) -> Incarnation:
        """Number one more process through which a person speaks."""
        return self._supervisor.admit(USER, None, None, pid)

    @ray.method(concurrency_group=CONTROL)
    async def died(self, agent: AgentId, incarnation: Incarnation, reason: str) -> None:
        """Note that a life is over."""
        self._supervisor.died(agent, incarnation, reason)

    @ray.method(concurrency_group=CONTROL)
    async def statuses(self, fresh: list[bytes]) -> bytes:
        """The rows of all agents, after these `AgentStatus` were taken in."""
        for status in fresh:
            self._supervisor.report(decode(status, AgentStatus), ())
        return encode(self._supervisor.statuses())

    @ray.method(concurrency_group=CONTROL)
    async def accounts(self) -> bytes:
        """All accounts."""
        return encode(self._supervisor.accounts())

    @ray.method(concurrency_group=CONTROL)
    async def stop(self, agents: list[AgentId], reason: str) -> list[AgentId]:
        """Put tombstones; gives those that must be told."""
        return list(self._supervisor.stop(tuple(agents), reason))

    @ray.method(concurrency_group=CONTROL)
    async def pause(self, agents: list[AgentId], reason: str | None) -> list[AgentId]:
        """Pause, or without a reason resume; gives those that must be told."""
        return list(self._supervisor.pause(tuple(agents), reason))

    @ray.method(concurrency_group=WATCH)
    async def notices(self, after: int, wait: float) -> bytes:
        """Notices numbered above `after`, from the end if below 0; parks up to `wait` seconds while there are none."""
        return encode(await next_notices(self._supervisor.feed, after, wait))

    async def _row(self, agent: AgentId) -> AgentStatus:
        return self._supervisor.find(agent)
