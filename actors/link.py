"""An agent's way to its Supervisor: what it may ask there, and the end that asks.

An agent's process loads this, and nothing of the Supervisor itself.
"""

from abc import ABC, abstractmethod
from typing import Protocol, cast

import ray

from ..protocols.checkin import AgentStatus, CheckIn, Directive, Settlement
from ..protocols.codec import decode, encode
from ..protocols.ids import AgentId, Incarnation
from ..protocols.notices import Notice
from ..runtime.lease import is_latest
from .channel import CONTROL
from .journal import JournalActor
from .replaced import Replaced

__all__ = ("CHECK_IN", "SETTLE", "AgentsDesk", "AgentsSupervisor", "RayLink")

CHECK_IN = "checkin"
SETTLE = "settle"
"""Concurrency groups of the Supervisor's actor: a crowd of reports never delays a check-in."""


class AgentsSupervisor(Protocol):
    """What of the Supervisor agents use."""

    def check_in(self, asked: CheckIn) -> Directive:
        """Answer a check-in."""
        ...

    def settle(self, settlement: Settlement) -> None:
        """Take what an attempt came to."""
        ...

    def report(self, status: AgentStatus, notices: tuple[Notice, ...]) -> None:
        """Take how an agent is, and the notices that led to it."""
        ...

    def peers(self, agent: AgentId) -> tuple[AgentStatus, ...]:
        """The rows of all other agents."""
        ...

    def find(self, agent: AgentId) -> AgentStatus:
        """The row of one agent.

        Raises:
            AgentUnknown: There is none of that name.
        """
        ...


class AgentsDesk(ABC):
    """What agents may ask of the Supervisor. Protocol values travel as the codec's bytes. `SupervisorActor` answers."""

    def __init__(self, fleet: str, limit: int | None, journal: type[JournalActor] | None) -> None:
        """Keep what `open` needs."""
        self._fleet = fleet
        self._limit = limit
        self._journal = journal

    @property
    @abstractmethod
    def _supervisor(self) -> AgentsSupervisor:
        """Who answers.

        Raises:
            PeerUnreachable: It is still being started; the caller may try again.
        """

    @abstractmethod
    async def _written(self) -> None:
        """Wait until what was asked so far is in the journal, if there is one: no answer goes out before."""

    @ray.method(concurrency_group=CONTROL)  # noqa: B027  that it answers says enough
    async def ping(self) -> None:
        """Answer."""

    @ray.method(concurrency_group=CHECK_IN)
    async def check_in(self, asked: bytes) -> bytes:
        """Take a `CheckIn`, give a `Directive`."""
        directive = self._supervisor.check_in(decode(asked, CheckIn))
        await self._written()
        return encode(directive)

    @ray.method(concurrency_group=SETTLE)
    async def settle(self, settlement: bytes) -> None:
        """Take a `Settlement`."""
        self._supervisor.settle(decode(settlement, Settlement))
        await self._written()

    @ray.method(concurrency_group=SETTLE)
    async def report(self, status: bytes, notices: bytes) -> None:
        """Take an `AgentStatus` and the notices that led to it."""
        self._supervisor.report(decode(status, AgentStatus), decode(notices, tuple[Notice, ...]))
        await self._written()

    @ray.method(concurrency_group=CONTROL)
    async def peers(self, agent: AgentId) -> bytes:
        """The rows of all other agents."""
        return encode(self._supervisor.peers(agent))

    @ray.method(concurrency_group=CONTROL)
    async def find(self, agent: AgentId) -> bytes:
        """The row of one agent."""
        return encode(self._supervisor.find(agent))


class RayLink:
    """An agent's way to its Supervisor: the port `SupervisorLink`, and the look-up of peers."""

    def __init__(self, desk: Replaced[type[AgentsDesk]]) -> None:
        """Keep the way to the Supervisor's actor."""
        self._desk = desk

    async def check_in(self, asked: CheckIn) -> Directive:
        """Ask for leave.

        Raises:
            FleetError: The Supervisor cannot be reached.
        """
        answer = await self._desk.ask(lambda desk: desk.check_in.remote(encode(asked)))
        return decode(answer, cast("type[Directive]", Directive))

    async def settle(self, settlement: Settlement) -> None:
        """Say what an attempt came to.

        Raises:
            FleetError: The Supervisor cannot be reached.
        """
        await self._desk.ask(lambda desk: desk.settle.remote(encode(settlement)))

    async def report(self, status: AgentStatus, notices: tuple[Notice, ...]) -> None:
        """Tell how the agent is.

        Raises:
            FleetError: The Supervisor cannot be reached.
        """
        await self._desk.ask(lambda desk: desk.report.remote(encode(status), encode(notices)))

    async def renew(self, agent: AgentId, incarnation: Incarnation) -> bool:
        """Whether this life is the latest.

        Raises:
            FleetError: The Supervisor cannot be reached.
        """
        return is_latest(await self.find(agent), incarnation)

    async def peers(self, agent: AgentId, incarnation: Incarnation) -> tuple[AgentStatus, ...]:  # noqa: ARG002
        """The other agents.

        Raises:
            FleetError: The Supervisor cannot be reached.
        """
        return decode(await self._desk.ask(lambda desk: desk.peers.remote(agent)), tuple[AgentStatus, ...])

    async def find(self, agent: AgentId) -> AgentStatus:
        """An agent's row.

        Raises:
            AgentUnknown: There is none of that name; the error has names like it.
            FleetError: The Supervisor cannot be reached.
        """
        return decode(await self._desk.ask(lambda desk: desk.find.remote(agent)), AgentStatus)
