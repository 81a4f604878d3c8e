"""The system on Ray: a fleet whose actors this process owns."""

import asyncio
import logging
import os
from collections.abc import Iterator
from itertools import count
from typing import cast

import ray
from anyio import to_thread
from ray.exceptions import ActorDiedError, ActorUnavailableError, RayError

from ..protocols.errors import FleetError
from ..protocols.ids import SUPERVISOR
from ..runtime.host import Seat
from ..runtime.supervision.supervisor import Newcomer
from ..runtime.supervision.wording import UNSPAWNED
from ..runtime.system import Progress, SpawnOrder
from .agent import AgentActor
from .attached import AttachedSystem
from .connection import LOCAL, choose, connection
from .errors import death, translated
from .lifecycle import create_agent, create_supervisor, end, end_all, ready
from .node_servers import NodeServers
from .pickling import check_picklable
from .placement import SLOT, Node, Place, cores, places, slots
from .steering import RETRY_PAUSE, Steering

__all__ = ("RaySystem", "attach_system", "open_system")

log = logging.getLogger(__name__)


class RaySystem(Steering):
    """A fleet whose actors end with this process, or with `close`. It belongs to one event loop."""

    def __init__(self, fleet: str, limit: int | None, address: str | None) -> None:
        """Nothing runs before `open`.

        Args:
            fleet: The fleet's name.
            limit: Tokens the fleet may spend; None: no limit.
            address: Ray's, `host:port`; None: the one that `RAY_ADDRESS` names, else a new cluster on this machine.
        """
        self.fleet = fleet
        self._limit = limit
        self._address = choose(address, LOCAL)
        # Handles that keep the actors alive: Ray ends an actor with its creator's last one.
        self._actors: dict[Seat, type[AgentActor]] = {}
        self._watches: set[asyncio.Task[None]] = set()
        self._servers = NodeServers(fleet)
        self._opened = False

    async def open(self) -> None:
        """Start or reach Ray, then start the Supervisor.

        Raises:
            SystemUnavailable: Ray cannot be started or reached, or has a fleet of this name.
        """
        await to_thread.run_sync(connection().join, self._address)
        try:
            supervisor = await to_thread.run_sync(create_supervisor, self.fleet, self._limit)
            self._reach(self.fleet, supervisor)
            try:
                await ready(supervisor.open.remote(), SUPERVISOR)
            except BaseException:
                await end(supervisor)
                raise
        except BaseException:
            await to_thread.run_sync(connection().leave)
            raise
        self._opened = True

    async def close(self) -> None:
        """End every agent, then the Supervisor, then Ray if it was started for this. Safe to call twice."""
        if not self._opened:
            return
        self._opened = False
        for watch in self._watches:
            watch.cancel()
        try:
            while self._actors:  # a spawn that was cut short may still put one there
                actors = tuple(self._actors.values())
                self._actors.clear()
                await end_all(actors)
        finally:
            await self._end_the_rest()

    async def _end_the_rest(self) -> None:
        """End what agents use, then the connection, whatever fails."""
        try:
            await self._servers.close()
        finally:
            try:
                await end(self._supervisor)
            finally:
                self._let_go()
                await to_thread.run_sync(connection().leave)

    async def spawn(self, orders: tuple[SpawnOrder, ...], progress: Progress) -> None:
        """Bring agents to life; all of them or none.

        Raises:
            NameTaken: The fleet has such an agent.
            NameInvalid: No agent can be named so.
            AgentUnknown: There is no such parent.
            Unpicklable: An agent cannot go to another process.
            SystemUnavailable: The cluster has too few slots, or an agent did not become ready.
            ToolServerFailed: An MCP server of an agent cannot be used.
        """
        for agent in {id(order.agent): order.agent for order in orders}.values():
            check_picklable(agent, "agent")
        nodes = cast("list[Node]", await to_thread.run_sync(ray.nodes))
        where = places(nodes, len(orders), await self._slots_taken(nodes, len(orders)))
        with translated(SUPERVISOR):
            newcomers = [Newcomer(order.name, order.parent, order.limit) for order in orders]
            lives = await self._supervisor.admit.remote(newcomers, os.getpid())
        seats = [Seat(order.name, life, order.parent) for order, life in zip(orders, lives, strict=True)]
        try:
            # One more than there are cores: a process that is being forked needs none yet.
            await self._bring_up(seats, orders, where, cores(nodes) + 1, progress)
        except BaseException:
            await self._undo(seats)
            raise

    async def _slots_taken(self, nodes: list[Node], wanted: int) -> int:
        """Slots that are held already, by this fleet's agents, which Ray may not have counted yet, or by others too."""
        total, own = slots(nodes), len(self._actors)
        if not total:
            return 0
        for pause in (RETRY_PAUSE, 0):  # what was given back a moment ago may not be counted yet
            free = cast("dict[str, float]", await to_thread.run_sync(ray.available_resources)).get(SLOT, 0)
            if not pause or free >= wanted or total - own < wanted:
                break
            await asyncio.sleep(pause)
        return max(own, int(total - free))

    async def _bring_up(
        self,
        seats: list[Seat],
        orders: tuple[SpawnOrder, ...],
        where: Iterator[Place],
        at_once: int,
        progress: Progress,
    ) -> None:
        """Start actors, only so many at once: each takes a core for a second, and Ray itself would start all."""
        turns = asyncio.Semaphore(at_once)
        numbers = count(1)

        async def bring_up(seat: Seat, order: SpawnOrder, place: Place) -> None:
            async with turns:
                await self._bring_to_life(seat, order, place)
            progress(next(numbers), len(orders))

        births = [
            asyncio.create_task(bring_up(seat, order, place))
            for seat, order, place in zip(seats, orders, where, strict=False)
        ]
        try:
            await asyncio.gather(*births)
        finally:
            for birth in births:
                birth.cancel()
            await asyncio.gather(*births, return_exceptions=True)

    async def _bring_to_life(self, seat: Seat, order: SpawnOrder, place: Place) -> None:
        actor = await to_thread.run_sync(self._create, seat, order, place)
        self.post.keep(seat.name, actor)
        watch = asyncio.create_task(self._watch(seat, actor))
        self._watches.add(watch)
        watch.add_done_callback(self._watches.discard)
        await ready(self._begin(seat, order, actor), seat.name)

    async def _begin(self, seat: Seat, order: SpawnOrder, actor: type[AgentActor]) -> None:
        await actor.open.remote(await self._servers.near(seat, actor) if order.agent.servers else None)

    def _create(self, seat: Seat, order: SpawnOrder, place: Place) -> type[AgentActor]:
        actor = create_agent(self.fleet, order.agent, seat, self._supervisor, place)
        # Here in the thread, so that `close` finds it even if nobody waits for this thread any more.
        self._actors[seat] = actor
        return actor

    async def _undo(self, seats: list[Seat]) -> None:
        """End those that were to live together with one that could not."""
        with translated(SUPERVISOR):
            for seat in seats:
                await self._supervisor.died.remote(seat.name, seat.incarnation, UNSPAWNED)
        await end_all([self._actors.pop(seat) for seat in seats if seat in self._actors])
        for seat in seats:
            self.post.forget(seat.name)
            await self._servers.release(seat)

    async def _watch(self, seat: Seat, actor: type[AgentActor]) -> None:
        """Wait for the agent's death and tell the Supervisor."""
        while True:
            try:
                await actor.closed.remote()
            except ActorUnavailableError:  # soon it answers again, or is known to be dead
                await asyncio.sleep(RETRY_PAUSE)
            except ActorDiedError as error:
                await self._bury(seat, death(error))
                return
            except RayError as error:
                log.warning("the death of %s would go unnoticed: %s", seat.name, error)
                return
            else:
                return

    async def _bury(self, seat: Seat, reason: str) -> None:
        self._actors.pop(seat, None)
        self.post.forget(seat.name)
        try:
            with translated(SUPERVISOR):
                await self._supervisor.died.remote(seat.name, seat.incarnation, reason)
        except FleetError as error:
            log.warning("nobody was told that %s died (%s): %s", seat.name, reason, error)
        await self._servers.release(seat)


def open_system(fleet: str, limit: int | None, address: str | None) -> RaySystem:
    """A system for `load_system("ray")`."""
    return RaySystem(fleet, limit, address)


def attach_system(fleet: str | None, address: str | None) -> AttachedSystem:
    """The system of a fleet that another process owns; None: the only one there is."""
    return AttachedSystem(fleet, address)
