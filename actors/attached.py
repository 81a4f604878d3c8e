"""A fleet that another process began, steered from here: what a second terminal uses."""

from functools import partial
from typing import cast

import ray
from anyio import to_thread

from ..protocols.checkin import AgentStatus
from ..protocols.codec import decode
from ..protocols.ids import SUPERVISOR, AgentId
from ..runtime.draining import Drain, drain_nobody
from ..runtime.errors import SystemUnavailable
from ..runtime.host import Seat
from ..runtime.supervision.wording import UNSPAWNED
from ..runtime.system import Progress, SpawnOrder
from .agent import AgentActor
from .channel import actor_name, namespace
from .connection import RUNNING, choose, connection
from .draining import RayDrain
from .journal import JOURNAL, JournalActor
from .lifecycle import create_agent, made, ready
from .placement import Place
from .remains import end_actors, end_fleet, fleets, handle
from .replaced import Replaced
from .spawning import Spawning, description_of
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
        self.drain: Drain = drain_nobody
        self._address = choose(address, RUNNING)
        self._opened = False
        self._ends = False
        self._ties: Ties | None = None

    async def open(self) -> None:
        """Reach Ray and find the fleet.

        Raises:
            SystemUnavailable: Ray cannot be reached or has no such fleet; those it has are named.
            PeerUnreachable: The fleet's Supervisor does not answer.
        """
        await to_thread.run_sync(connection().join, self._address)
        try:
            self.fleet, supervisor = await self._obtain()
            self._reach(self.fleet, Replaced(supervisor, SUPERVISOR, self.fleet, again=True))
            service = await self._ask_supervisor(lambda supervisor: supervisor.service.remote())
            self._supervisor.again = service  # else its owner may start another, and nobody says whether it will
            self._ties = await self._bound(supervisor) if service else None
        except BaseException:
            self._let_go()
            await to_thread.run_sync(connection().leave)
            raise
        self._opened = True

    async def _obtain(self) -> tuple[str, type[SupervisorActor]]:
        """The fleet's name, and its Supervisor."""
        return await to_thread.run_sync(found, self.fleet)

    async def _bound(self, supervisor: type[SupervisorActor]) -> Ties:
        """What binds agents to a service.

        Raises:
            SystemUnavailable: Its journal's actor is gone, without which nothing of it can go on.
        """
        journal = await to_thread.run_sync(handle, self.fleet, JOURNAL)
        if journal is None:
            reason = (
                f"the fleet {self.fleet!r} has lost its journal: end it with `amrita-fleet gc --fleet {self.fleet}`."
            )
            raise SystemUnavailable(system="ray", reason=reason)
        return Ties(self.fleet, supervisor, cast("type[JournalActor]", journal), service=True)

    async def end_on_close(self) -> None:
        """Have `close` end the fleet, a service, and `drain` have its agents drain.

        Raises:
            SystemUnavailable: The fleet is another process's.
        """
        self._own()
        self.drain = RayDrain(await self._agents(), self._supervisor, outlived=True)
        self._ends = True

    async def close(self) -> None:
        """Let go of the fleet. Safe to call twice."""
        if not self._opened:
            return
        self._opened = False
        try:
            if self._ends:
                await end_fleet(self.fleet)
        finally:
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
        newcomer = await made(partial(create_agent, self._own(), description_of(order), seat, place))
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
