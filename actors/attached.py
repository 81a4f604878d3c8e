"""A fleet that another process began, steered from here: what a second terminal uses."""

from functools import partial
from typing import cast

import ray
from anyio import to_thread

from ..protocols.checkin import AgentStatus
from ..protocols.codec import decode
from ..protocols.ids import SUPERVISOR, AgentId
from ..runtime.draining import drain_nobody
from ..runtime.errors import SystemUnavailable
from ..runtime.host import Seat
from ..runtime.supervision.wording import UNSPAWNED
from ..runtime.system import Progress, SpawnOrder
from .agent import AgentActor
from .channel import actor_name, namespace
from .connection import RUNNING, choose, connection
from .draining import RayDrain
from .journal import JOURNAL, JournalActor
from .lifecycle import create_agent, ready
from .placement import Place
from .remains import end_actors, end_fleet, fleets, handle
from .replaced import Replaced
from .spawning import Spawning
from .supervisor import SupervisorActor
from .ties import Ties

__all__ = ("AttachedSystem",)


class AttachedSystem(Spawning):
    """Finds a fleet's actors by name. Closing it ends nothing of the fleet.

    In a fleet that is a service it spawns too: those agents outlive this process, as all of that fleet do.
    """

    def __init__(self, fleet: str | None, address: str | None) -> None:
        """Nothing is looked for before `open`.

        Args:
            fleet: Its name; None: the only one there is.
            address: Ray's, `host:port`; None: the one that `RAY_ADDRESS` names, else the one that runs on this machine.
        """
        self.fleet = fleet or ""
        self.drain = drain_nobody
        self._address = choose(address, RUNNING)
        self._opened = False
        self._ties: Ties | None = None

    async def open(self) -> None:
        """Reach Ray and find the fleet.

        Raises:
            SystemUnavailable: Ray cannot be reached or has no such fleet; those it has are named.
            PeerUnreachable: The fleet's Supervisor does not answer.
        """
        await to_thread.run_sync(connection().join, self._address)
        try:
            supervisor = await self._find()
            service = await self._is_service(supervisor)
        except BaseException:
            await to_thread.run_sync(connection().leave)
            raise
        if service:
            journal = await to_thread.run_sync(handle, self.fleet, JOURNAL)
            self._ties = Ties(self.fleet, supervisor, cast("type[JournalActor]", journal), service=True)
        self._opened = True

    async def _find(self) -> type[SupervisorActor]:
        """The Supervisor of the fleet, whose name is known from now on."""
        self.fleet, supervisor = await to_thread.run_sync(found, self.fleet)
        return supervisor

    async def _is_service(self, supervisor: type[SupervisorActor]) -> bool:
        """Take hold of the fleet; gives whether it is a service, whose Supervisor is waited for while it is away."""
        self._reach(self.fleet, Replaced(supervisor, SUPERVISOR, self.fleet, again=True))
        service = await self._ask_supervisor(lambda supervisor: supervisor.service.remote())
        self._supervisor.again = service
        return service

    async def close(self, service_grace: float | None = None) -> None:
        """Let go of the fleet, or drain and end a service. Safe to call twice; see `System.close`.

        Raises:
            SystemUnavailable: A service shall end, and the fleet is another process's.
        """
        if not self._opened:
            return
        if service_grace is not None:
            self._own()
            await RayDrain(await self._agents(), self._supervisor)(service_grace)
            await end_fleet(self.fleet)
        self._opened = False
        self._let_go()
        await to_thread.run_sync(connection().leave)

    async def _agents(self) -> dict[Seat, type[AgentActor]]:
        """The actors of all agents that have one."""
        rows = await self._rows([])
        found = [await to_thread.run_sync(handle, self.fleet, actor_name(row.agent)) for row in rows]
        return {
            Seat(row.agent, row.incarnation, row.parent): cast("type[AgentActor]", actor)
            for row, actor in zip(rows, found, strict=True)
            if actor is not None
        }

    async def spawn(self, orders: tuple[SpawnOrder, ...], progress: Progress) -> None:
        """Bring agents of a service to life; all of them or none. See `Spawning.spawn` for what it raises.

        Raises:
            SystemUnavailable: The fleet is no service, so an agent made here would end with this process.
        """
        self._own()
        await super().spawn(orders, progress)

    def _own(self) -> Ties:
        """What binds agents to a service.

        Raises:
            SystemUnavailable: The fleet is none.
        """
        if self._ties is None:
            reason = "only the process that opened a fleet can spawn its agents or end it, because they end with it."
            raise SystemUnavailable(system="ray", reason=reason)
        return self._ties

    @property
    def _held(self) -> int:
        return 0

    async def _bring_to_life(self, seat: Seat, order: SpawnOrder, place: Place) -> None:
        newcomer = await to_thread.run_sync(create_agent, self._own(), order.agent, seat, place)
        self.post.keep(seat.name, newcomer)
        await ready(newcomer.open.remote(None), seat.name)

    async def _undo(self, seats: list[Seat]) -> None:
        """End those that were to live together with one that could not."""
        await end_actors(self.fleet, tuple(actor_name(seat.name) for seat in seats))
        for seat in seats:
            self.post.forget(seat.name)
            await self._ask_supervisor(partial(bury, seat.name))


async def bury(agent: AgentId, supervisor: type[SupervisorActor]) -> None:
    """Have a Supervisor note that an agent is dead, whichever life it is in by now."""
    row = decode(await supervisor.find.remote(agent), AgentStatus)
    await supervisor.died.remote(agent, row.incarnation, UNSPAWNED, False)  # noqa: FBT003  Ray's calls are positional


def found(fleet: str) -> tuple[str, type[SupervisorActor]]:
    """The name and the Supervisor of a fleet; an empty name means the only one there is. It blocks.

    Raises:
        SystemUnavailable: There is none of that name, or there are several to choose from.
    """
    names = fleets()
    wanted = fleet or (names[0] if len(names) == 1 else "")
    if wanted not in names:
        there = f"there are {', '.join(names)}" if names else "no fleet runs there"
        which = f"no fleet named {wanted!r}" if wanted else "no single fleet to choose"
        raise SystemUnavailable(system="ray", reason=f"{which}: {there}.")
    return wanted, cast("type[SupervisorActor]", ray.get_actor(SUPERVISOR, namespace(wanted)))
