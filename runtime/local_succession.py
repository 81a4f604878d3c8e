"""The end of one life within this process, and the next one, which goes on where it was."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..protocols.errors import FleetError
from ..protocols.ids import AgentId, RunId
from ..protocols.outcome import Outcome
from .agent import Agent
from .errors import ChannelClosed
from .host import AgentHost, Seat
from .local_ways import LocalPost
from .supervision.supervisor import Supervisor
from .system import SpawnOrder
from .tools.mcp.pool import ServerPool

__all__ = ("LocalSuccession",)

Begin: TypeAlias = Callable[[Seat, Agent], Coroutine[Any, Any, None]]
"""Brings an agent to life."""


@dataclass
class LocalSuccession:
    """Ends lives, and begins the next ones. It belongs to the system's loop.

    Attributes:
        supervisor: Buries and admits.
        post: Has whoever writes to an agent between two lives write again.
        hosts: The system's table of them.
        servers: Of which a life that is over uses none any more.
        begin: Brings an agent to life.
        ends: Told of an agent whose run ends with its life, because nobody could go on with it, and why.
        again: Another life follows, since everything it needs is in a journal.
    """

    supervisor: Supervisor
    post: LocalPost
    hosts: dict[AgentId, AgentHost]
    servers: ServerPool
    begin: Begin
    ends: Callable[[AgentId, str], Awaitable[object]]
    again: bool
    _orders: dict[AgentId, SpawnOrder] = field(default_factory=dict[AgentId, SpawnOrder])
    _under_way: dict[AgentId, asyncio.Event] = field(default_factory=dict[AgentId, asyncio.Event])

    async def begin_first(self, seat: Seat, order: SpawnOrder) -> None:
        """Bring an agent to life, and know from now on how it was ordered."""
        self._orders[order.name] = order
        await self._begin(seat, order.agent)

    def described(self, agent: AgentId) -> Agent:
        """What an agent is that has come to life here."""
        return self._orders[agent].agent

    async def _begin(self, seat: Seat, agent: Agent) -> None:
        # A task of its own, so that the agent's configuration is that of its tools alone.
        await asyncio.create_task(self.begin(seat, agent))

    async def outcome(self, agent: AgentId, run: RunId) -> Outcome:
        """Wait for the end of a run, in whichever life of the agent.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It is being spawned or has died.
            RunUnknown: It has no such run, or it ended too long ago.
        """
        while True:
            try:
                return await self.post.host(agent).outcome(run)
            except ChannelClosed:
                if (over := self._under_way.get(agent)) is None:
                    raise
                await over.wait()

    async def kill(self, agent: AgentId, reason: str) -> None:
        """End the life of an agent that does not get on, and begin the next one.

        Raises:
            FleetError: The next one could not begin: the agent is dead.
        """
        if not self.again:
            await self.ends(agent, reason)
        host = self.hosts.get(agent)
        if host is None:  # it was ended meanwhile
            return
        self._under_way[agent] = over = asyncio.Event()
        try:
            await self._end(agent, host, reason)
        finally:
            del self._under_way[agent]
            self.post.coming.discard(agent)
            over.set()

    async def end_process(self, agent: AgentId) -> None:
        """End the life of an agent at once, as on Ray its process would be ended; see `Kill`.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It is being spawned or has died.
            FleetError: The next life could not begin: the agent is dead.
        """
        self.post.host(agent)
        await self.kill(agent, "somebody killed it")

    async def _end(self, agent: AgentId, host: AgentHost, reason: str) -> None:
        life = host.status().incarnation
        self.post.coming.add(agent)
        await host.close()
        self.hosts.pop(agent, None)
        await self.servers.release((agent, life))
        if self.supervisor.died(agent, life, reason, restart=self.again):
            await self._revive(self._orders[agent])

    async def _revive(self, order: SpawnOrder) -> None:
        (life,) = self.supervisor.admit_all([order.newcomer], os.getpid())
        try:
            await self.supervisor.log.written()
            await self._begin(Seat(order.name, life, order.parent), order.agent)
        except FleetError as error:
            self.supervisor.died(order.name, life, str(error))
            raise
