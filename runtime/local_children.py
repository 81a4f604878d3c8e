"""The children of agents, in this process: whom they spawn, and whom of those they stop."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import TypeAlias

from ..protocols.ids import AgentId, Incarnation
from ..protocols.spawning import SpawnAnswer, SpawnRequest, StopAnswer, StopRequest
from .agent import Agent, kind_of
from .host import AgentHost, Seat
from .local_ways import one_owner
from .supervision.spawn_desk import SpawnDesk
from .supervision.supervisor import Supervisor

__all__ = ("LocalChildren",)

BringToLife: TypeAlias = Callable[[Seat, Agent], Coroutine[None, None, None]]


class LocalChildren:
    """Spawns and stops children for the agents of one fleet."""

    def __init__(
        self,
        fleet: str,
        supervisor: Supervisor,
        hosts: Mapping[AgentId, AgentHost],
        described: Mapping[AgentId, Agent],
        bring_to_life: BringToLife,
    ) -> None:
        """Share the system's tables.

        Args:
            fleet: Its name.
            supervisor: Who lets children in.
            hosts: Those that live.
            described: What they are.
            bring_to_life: Has one more live, or leaves nothing of it behind.
        """
        self._fleet = fleet
        self._supervisor = supervisor
        self._desk = SpawnDesk(supervisor, supervisor.log.written)
        self._hosts = hosts
        self._described = described
        self._bring_to_life = bring_to_life

    async def spawn(self, request: SpawnRequest) -> SpawnAnswer:
        """Have a child come to life; see `Children`."""
        with one_owner(self._fleet):
            return await self._desk.ask(request, partial(self._bear, request))

    async def stop_child(self, request: StopRequest) -> StopAnswer:
        """Stop one, and all under it; see `Children`."""
        answer = self._supervisor.stop_child(request)
        for host in [self._hosts[name] for name in answer.stopped if name in self._hosts]:
            host.stop(request.reason)
        with one_owner(self._fleet):
            await self._supervisor.log.written()
        return answer

    async def aclose(self) -> None:
        """End the births that are under way."""
        await self._desk.aclose()

    async def _bear(self, request: SpawnRequest, life: Incarnation) -> None:
        if request.name in self._hosts:  # it is asked for again, and lives
            return
        kind = kind_of(self._described[request.agent], request.kind)
        # A task of its own, so that the agent's configuration is that of its tools alone.
        await asyncio.create_task(self._bring_to_life(Seat(request.name, life, request.agent), kind))
