"""The Supervisor's actor: thin methods around `runtime.supervision.Supervisor`, and an agent's way to them.

Every method is quick. A call costs Ray half a millisecond of CPU, many times what the Supervisor itself needs.
"""

from typing import cast

import ray

from ..protocols.checkin import AgentStatus, CheckIn, Directive, Settlement
from ..protocols.codec import decode, encode
from ..protocols.ids import SUPERVISOR, USER, AgentId, Incarnation
from ..protocols.notices import Notice
from ..runtime.clock import SystemClock
from ..runtime.errors import PeerUnreachable
from ..runtime.notes import NotePoster
from ..runtime.supervision.supervisor import Newcomer, Supervisor
from ..runtime.watching import next_notices
from .channel import CONTROL, RayPost
from .errors import translated

__all__ = ("CHECK_IN", "SETTLE", "WATCH", "AgentsDesk", "RayLink", "SupervisorActor")

CHECK_IN = "checkin"
SETTLE = "settle"
WATCH = "watch"
"""Concurrency groups beside `CONTROL` and the default one: a crowd of watchers or reports never delays a check-in."""


class AgentsDesk:
    """What agents may ask of the Supervisor. Protocol values travel as the codec's bytes."""

    _made: Supervisor | None = None

    def __init__(self, fleet: str, limit: int | None, namespace: str) -> None:
        """Keep what `open` needs."""
        self._fleet = fleet
        self._limit = limit
        self._namespace = namespace

    @property
    def _supervisor(self) -> Supervisor:
        """The Supervisor, once the fleet is open.

        Raises:
            PeerUnreachable: It is still being started; the caller may try again.
        """
        if self._made is None:
            raise PeerUnreachable(agent=SUPERVISOR, reason="the fleet is being started")
        return self._made

    @ray.method(concurrency_group=CHECK_IN)
    async def check_in(self, asked: bytes) -> bytes:
        """Take a `CheckIn`, give a `Directive`."""
        return encode(self._supervisor.check_in(decode(asked, CheckIn)))

    @ray.method(concurrency_group=SETTLE)
    async def settle(self, settlement: bytes) -> None:
        """Take a `Settlement`."""
        self._supervisor.settle(decode(settlement, Settlement))

    @ray.method(concurrency_group=SETTLE)
    async def report(self, status: bytes, notices: bytes) -> None:
        """Take an `AgentStatus` and the notices that led to it."""
        self._supervisor.report(decode(status, AgentStatus), decode(notices, tuple[Notice, ...]))

    @ray.method(concurrency_group=CONTROL)
    async def peers(self, agent: AgentId) -> bytes:
        """The rows of all other agents."""
        return encode(self._supervisor.peers(agent))

    @ray.method(concurrency_group=CONTROL)
    async def ping(self) -> None:
        """Answer."""

    @ray.method(concurrency_group=CONTROL)
    async def find(self, agent: AgentId) -> bytes:
        """The row of one agent."""
        return encode(self._supervisor.find(agent))


class SupervisorActor(AgentsDesk):
    """The whole Supervisor, for systems and people."""

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


class RayLink:
    """An agent's way to its Supervisor: the port `SupervisorLink`, and the look-up of peers."""

    def __init__(self, desk: type[AgentsDesk]) -> None:
        """Keep the Supervisor's handle."""
        self._desk = desk

    async def check_in(self, asked: CheckIn) -> Directive:
        """Ask for leave.

        Raises:
            FleetError: The Supervisor cannot be reached.
        """
        with translated(SUPERVISOR):
            answer = await self._desk.check_in.remote(encode(asked))
        return decode(answer, cast("type[Directive]", Directive))

    async def settle(self, settlement: Settlement) -> None:
        """Say what an attempt came to.

        Raises:
            FleetError: The Supervisor cannot be reached.
        """
        with translated(SUPERVISOR):
            await self._desk.settle.remote(encode(settlement))

    async def report(self, status: AgentStatus, notices: tuple[Notice, ...]) -> None:
        """Tell how the agent is.

        Raises:
            FleetError: The Supervisor cannot be reached.
        """
        with translated(SUPERVISOR):
            await self._desk.report.remote(encode(status), encode(notices))

    async def peers(self, agent: AgentId, incarnation: Incarnation) -> tuple[AgentStatus, ...]:  # noqa: ARG002
        """The other agents.

        Raises:
            FleetError: The Supervisor cannot be reached.
        """
        with translated(SUPERVISOR):
            return decode(await self._desk.peers.remote(agent), tuple[AgentStatus, ...])

    async def find(self, agent: AgentId) -> AgentStatus:
        """An agent's row.

        Raises:
            AgentUnknown: There is none of that name; the error has names like it.
            FleetError: The Supervisor cannot be reached.
        """
        with translated(SUPERVISOR):
            return decode(await self._desk.find.remote(agent), AgentStatus)
