"""An agent's way to its Supervisor: what it may ask there, and the end that asks.

An agent's process loads this, and nothing of the Supervisor itself.
"""

from abc import ABC, abstractmethod
from math import inf
from time import perf_counter
from typing import NamedTuple, Protocol, cast

import ray

from ..protocols.checkin import AgentStatus, CheckIn, Directive, Settlement
from ..protocols.codec import decode, encode
from ..protocols.ids import AgentId, Incarnation, MessageId
from ..protocols.limits import Limits
from ..protocols.mail import Receipt
from ..protocols.notices import Notice
from ..protocols.restarts import RestartPolicy
from ..protocols.waits import WaitRefusal, WaitRequest
from ..runtime.agent_channel import Seat
from ..runtime.lease import is_latest
from .channel import CONTROL
from .journal import JournalActor
from .replaced import Replaced
from .tool_server_link import ToolServersDesk

__all__ = ("CHECK_IN", "SETTLE", "AgentsDesk", "AgentsSupervisor", "Bear", "Charter", "RayLink")

CHECK_IN = "checkin"
SETTLE = "settle"
"""Concurrency groups of the Supervisor's actor: a crowd of reports never delays a check-in."""


class CallsDesk(Protocol):
    """Who is asked before each model call, and told what came of it."""

    def check_in(self, asked: CheckIn) -> Directive:
        """Answer a check-in."""
        ...

    def settle(self, settlement: Settlement) -> None:
        """Take what an attempt came to."""
        ...


class AgentsSupervisor(Protocol):
    """What else of the Supervisor agents use."""

    def report(self, status: AgentStatus, notices: tuple[Notice, ...]) -> None:
        """Take how an agent is, and the notices that led to it."""
        ...

    def statuses(self) -> tuple[AgentStatus, ...]:
        """The rows of all agents."""
        ...

    def find(self, agent: AgentId) -> AgentStatus:
        """The row of one agent.

        Raises:
            AgentUnknown: There is none of that name.
        """
        ...


class WaitsDesk(Protocol):
    """Who is told of waits for mail."""

    def heard(self, status: AgentStatus) -> None:
        """Take how an agent is, in any thread."""
        ...

    async def ask(self, wait: WaitRequest) -> WaitRefusal | None:
        """Take that a wait begins; gives why nobody would ever end it."""
        ...


class Bear(Protocol):
    """Brings to life whom an agent of a service has spawned, from the Supervisor's process."""

    async def __call__(
        self, charter: "Charter", desk: "type[AgentsDesk]", seat: Seat, description: tuple[bytes, ...]
    ) -> None:
        """Make a child's actor, or see that there is one; leave nothing behind where that cannot be."""
        ...


class Charter(NamedTuple):
    """What a Supervisor's actor is made for.

    Attributes:
        fleet: The fleet's name.
        limit: The most that all agents together may spend; None: no limit.
        journal: The journal's actor; None: there is none.
        owner: Names this opening of the fleet; the processes that follow one that died have the same.
        service: The fleet outlives the process that began it.
        restarts: How often an agent may be restarted.
        spawn_patience: Seconds without news of a spawn after which, in a service, nobody goes on with it.
        bear: Brings to life whom agents spawn; None: the fleet's owner does, with whom its actors end.
    """

    fleet: str
    limit: Limits | None
    journal: type[JournalActor] | None
    owner: str
    service: bool
    restarts: RestartPolicy
    spawn_patience: float = inf
    bear: Bear | None = None


class AgentsDesk(ABC):
    """What agents may ask of the Supervisor. Protocol values travel as the codec's bytes. `SupervisorActor` answers."""

    def __init__(self, charter: Charter) -> None:
        """Keep what `open` needs."""
        self._charter = charter

    @property
    @abstractmethod
    def _supervisor(self) -> AgentsSupervisor:
        """Who answers.

        Raises:
            PeerUnreachable: It is still being started; the caller may try again.
        """

    @property
    @abstractmethod
    def _calls(self) -> CallsDesk:
        """Who answers check-ins and takes settlements; raises what `_supervisor` raises."""

    @property
    @abstractmethod
    def _waits(self) -> WaitsDesk:
        """Who is told of waits; raises what `_supervisor` raises."""

    @abstractmethod
    async def _written(self) -> None:
        """Wait until what was asked so far is in the journal, if there is one: no answer goes out before.

        Who is stopped or paused is told first.
        """

    @ray.method(concurrency_group=CONTROL)  # noqa: B027  that it answers says enough
    async def ping(self) -> None:
        """Answer."""

    @ray.method(concurrency_group=CHECK_IN)
    async def check_in(self, asked: bytes) -> bytes:
        """Take a `CheckIn`, give a `Directive`."""
        began = perf_counter()
        directive = self._calls.check_in(decode(asked, CheckIn))
        await self._written()
        self._answered(perf_counter() - began)
        return encode(directive)

    def _answered(self, seconds: float) -> None:  # noqa: B027  nobody has to want to know
        """A check-in was answered, which took so long."""

    @ray.method(concurrency_group=SETTLE)
    async def settle(self, settlement: bytes) -> None:
        """Take a `Settlement`."""
        self._calls.settle(decode(settlement, Settlement))
        await self._written()

    @ray.method(concurrency_group=SETTLE)
    async def report(self, status: bytes, notices: bytes) -> None:
        """Take an `AgentStatus` and the notices that led to it."""
        said = decode(status, AgentStatus)
        self._supervisor.report(said, decode(notices, tuple[Notice, ...]))
        self._waits.heard(said)
        await self._written()

    @ray.method
    async def wait(self, asked: bytes) -> bytes:
        """Take a `WaitRequest`; give a `WaitRefusal`, or no bytes at all. It parks while others are asked."""
        refusal = await self._waits.ask(decode(asked, WaitRequest))
        return b"" if refusal is None else encode(refusal)

    @ray.method
    @abstractmethod
    async def spawn(self, request: bytes, *description: bytes) -> bytes:
        """Take a `SpawnRequest` and what the child is; give a `SpawnAnswer`. It parks until the child lives."""

    @ray.method
    @abstractmethod
    async def stop_child(self, request: bytes) -> bytes:
        """Take a `StopRequest`, give a `StopAnswer`."""

    @ray.method(concurrency_group=CONTROL)
    @abstractmethod
    async def next_life(self, agent: AgentId, ended: Incarnation, pid: int) -> Incarnation | None:
        """Bury a life whose process died and admit the next, which runs in another process of the same actor.

        Asked again after a lost answer, it gives the same. None: there is to be no further life.
        """

    @ray.method(concurrency_group=CONTROL)
    @abstractmethod
    async def tool_servers(self, node: str) -> type[ToolServersDesk]:
        """The actor that runs MCP servers on a node for a fleet that is a service."""

    @ray.method(concurrency_group=CONTROL)
    @abstractmethod
    async def receipt(self, agent: AgentId, message: MessageId) -> bytes:
        """What became of a message to an agent that has no process: a `Receipt`, or no bytes at all."""

    @ray.method(concurrency_group=CONTROL)
    async def peers(self, agent: AgentId) -> bytes:
        """The rows of all other agents."""
        return encode(tuple(row for row in self._supervisor.statuses() if row.agent != agent))

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

    async def wait(self, asked: WaitRequest) -> WaitRefusal | None:
        """Say that a wait for mail begins.

        Raises:
            FleetError: The Supervisor cannot be reached.
        """
        answer = await self._desk.ask(lambda desk: desk.wait.remote(encode(asked)))
        return decode(answer, WaitRefusal) if answer else None

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

    async def receipt(self, agent: AgentId, message: MessageId) -> Receipt | None:
        """What became of a message to an agent that has no process; None where nobody knows.

        Raises:
            AgentUnknown: There is none of that name.
            FleetError: The Supervisor, or the journal, cannot be reached.
        """
        found = await self._desk.ask(lambda desk: desk.receipt.remote(agent, message))
        return decode(found, Receipt) if found else None
