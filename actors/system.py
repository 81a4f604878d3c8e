"""The system on Ray: a fleet whose actors this process owns."""

import asyncio
import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from typing import Any, cast

import ray
from anyio import to_thread
from ray.actor import ActorClass
from ray.exceptions import ActorAlreadyExistsError, ActorDiedError, ActorUnavailableError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ..protocols.errors import FleetError
from ..protocols.ids import SUPERVISOR
from ..runtime.errors import ChannelClosed, PeerUnreachable, SystemUnavailable
from ..runtime.host import Seat
from ..runtime.system import Progress, SpawnOrder
from .agent import AgentActor
from .attached import AttachedSystem
from .channel import CONTROL, MAIL, actor_name
from .connection import LOCAL, choose, connection
from .errors import death, translated
from .pickling import check_picklable
from .placement import Node, Place, cores, places
from .steering import RETRY_PAUSE, Steering, namespace
from .supervisor import CHECK_IN, SETTLE, UNSPAWNED, WATCH, SupervisorActor

__all__ = ("RaySystem", "attach_system", "open_system")

log = logging.getLogger(__name__)

READY_PATIENCE = 120.0
"""Seconds a new agent has to become ready: a worker process takes one, on a busy machine some more."""

CLOSE_PATIENCE = 2.0
"""Seconds an agent, and the Supervisor, have to end by themselves before they are killed."""

DEATH_PATIENCE = 10.0
"""Seconds to wait until Ray says that what was killed is dead."""

NEVER_AGAIN: dict[str, Any] = {"max_restarts": 0, "max_task_retries": 0, "enable_task_events": False}
"""Ray restarts nothing and repeats no call: what may be done twice is decided by those who know."""

# Ray's typing knows no concurrency groups. The numbers are calls at once; waiting ones cost nothing.
Agents = cast(
    "ActorClass[AgentActor]",
    cast("Any", ray.remote)(concurrency_groups={MAIL: 64, CONTROL: 64})(AgentActor),
)
Supervisors = cast(
    "ActorClass[SupervisorActor]",
    cast("Any", ray.remote)(concurrency_groups={CHECK_IN: 1000, SETTLE: 1000, CONTROL: 1000, WATCH: 1000})(
        SupervisorActor
    ),
)


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
        self._opened = False

    async def open(self) -> None:
        """Start or reach Ray, then start the Supervisor.

        Raises:
            SystemUnavailable: Ray cannot be started or reached, or has a fleet of this name.
        """
        await to_thread.run_sync(connection().join, self._address)
        try:
            supervisor = await to_thread.run_sync(self._create_supervisor)
            self._reach(self.fleet, supervisor)
            with translated(SUPERVISOR):
                async with asyncio.timeout(READY_PATIENCE):
                    await supervisor.open.remote()
        except (ChannelClosed, PeerUnreachable, TimeoutError) as error:
            await to_thread.run_sync(connection().leave)
            raise SystemUnavailable(system="ray", reason=f"the Supervisor did not start: {error}") from error
        except BaseException:
            await to_thread.run_sync(connection().leave)
            raise
        self._opened = True

    def _create_supervisor(self) -> type[SupervisorActor]:
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
        space = namespace(self.fleet)
        options = Supervisors.options(
            name=SUPERVISOR, namespace=space, num_cpus=0, scheduling_strategy=here, **NEVER_AGAIN
        )
        try:
            return cast("type[SupervisorActor]", options.remote(self.fleet, self._limit, space))
        except ActorAlreadyExistsError:
            reason = f"a fleet named {self.fleet!r} runs there already: choose another name."
            raise SystemUnavailable(system="ray", reason=reason) from None

    async def close(self) -> None:
        """End every agent, then the Supervisor, then Ray if it was started for this. Safe to call twice."""
        if not self._opened:
            return
        self._opened = False
        for watch in self._watches:
            watch.cancel()
        while self._actors:  # a spawn that was cut short may still put one there
            actors = tuple(self._actors.values())
            self._actors.clear()
            await asyncio.gather(*(end(actor) for actor in actors))
        await end(self._supervisor)
        await to_thread.run_sync(connection().leave)

    async def spawn(self, orders: tuple[SpawnOrder, ...], progress: Progress) -> None:
        """Bring agents to life; all of them or none.

        Raises:
            NameTaken: The fleet has such an agent.
            NameInvalid: No agent can be named so.
            AgentUnknown: There is no such parent.
            Unpicklable: An agent cannot go to another process.
            SystemUnavailable: The cluster has too few slots, or an agent did not become ready.
        """
        for agent in {id(order.agent): order.agent for order in orders}.values():
            check_picklable(agent, "agent")
        nodes = cast("list[Node]", await to_thread.run_sync(ray.nodes))
        where = places(nodes, len(orders))
        with translated(SUPERVISOR):
            newcomers = [(order.name, order.parent, order.limit) for order in orders]
            lives = await self._supervisor.admit.remote(newcomers, os.getpid())
        seats = [Seat(order.name, life, order.parent) for order, life in zip(orders, lives, strict=True)]
        try:
            await self._bring_up(seats, orders, where, cores(nodes), progress)
        except BaseException:
            await self._undo(seats)
            raise

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
        try:
            with translated(seat.name):
                async with asyncio.timeout(READY_PATIENCE):
                    await actor.open.remote()
        except TimeoutError:
            reason = f"{seat.name!r} was not ready after {READY_PATIENCE:g} seconds; is there room for another agent?"
            raise SystemUnavailable(system="ray", reason=reason) from None
        except ChannelClosed as error:
            raise SystemUnavailable(
                system="ray", reason=f"{seat.name!r} could not be started: {error.reason}."
            ) from None

    def _create(self, seat: Seat, order: SpawnOrder, place: Place) -> type[AgentActor]:
        space = namespace(self.fleet)
        options = Agents.options(name=actor_name(seat.name), namespace=space, num_cpus=0, **place, **NEVER_AGAIN)
        actor = cast("type[AgentActor]", options.remote(order.agent, seat, self._supervisor, space))
        # Here in the thread, so that `close` finds it even if nobody waits for this thread any more.
        self._actors[seat] = actor
        return actor

    async def _undo(self, seats: list[Seat]) -> None:
        """End those that were to live together with one that could not."""
        with translated(SUPERVISOR):
            for seat in seats:
                await self._supervisor.died.remote(seat.name, seat.incarnation, UNSPAWNED)
        await asyncio.gather(*(end(self._actors.pop(seat)) for seat in seats if seat in self._actors))
        for seat in seats:
            self.post.forget(seat.name)

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


async def end(actor: type[AgentActor] | type[SupervisorActor]) -> None:
    """Have an actor end by itself, then kill it, and wait until it is dead."""
    with suppress(TimeoutError, RayError):  # blocked or dead: all the same now
        async with asyncio.timeout(CLOSE_PATIENCE):
            await actor.close.remote()
    await to_thread.run_sync(cast("Any", ray.kill), actor)
    with suppress(TimeoutError):
        async with asyncio.timeout(DEATH_PATIENCE):
            await dead(actor)


async def dead(actor: type[AgentActor] | type[SupervisorActor]) -> None:
    """Wait until Ray says that an actor is dead."""
    while True:
        try:
            await actor.ping.remote()
        except ActorDiedError:
            return
        except ActorUnavailableError:
            await asyncio.sleep(RETRY_PAUSE)


def open_system(fleet: str, limit: int | None, address: str | None) -> RaySystem:
    """A system for `load_system("ray")`."""
    return RaySystem(fleet, limit, address)


def attach_system(fleet: str | None, address: str | None) -> AttachedSystem:
    """The system of a fleet that another process owns; None: the only one there is."""
    return AttachedSystem(fleet, address)
