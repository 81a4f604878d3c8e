"""The system on Ray: a fleet whose actors this process owns."""

import asyncio
import logging
import os
import secrets
from math import inf
from pathlib import Path

from anyio import to_thread
from ray.exceptions import RayError

from ..protocols.checkin import AgentStatus
from ..protocols.codec import decode
from ..protocols.errors import FleetError
from ..protocols.ids import SUPERVISOR, AgentId, Incarnation, RunId
from ..protocols.limits import Limits
from ..protocols.outcome import Ending, Outcome
from ..protocols.restarts import RestartPolicy
from ..runtime.errors import ChannelClosed, FleetClosed, NameTaken, SystemUnavailable
from ..runtime.gateway.serving import Dashboard
from ..runtime.host import Seat
from ..runtime.journal_errors import JournalUnavailable
from ..runtime.life_end import CLOSED
from ..runtime.ports import Journal
from ..runtime.supervision.policy import WatchPolicy
from ..runtime.supervision.restart import USUAL
from ..runtime.supervision.wording import UNSPAWNED
from ..runtime.system import SpawnOrder
from .agent import AgentActor
from .attached import AttachedSystem
from .connection import LOCAL, choose, connection
from .description import unpacked
from .draining import RayDrain
from .gateway_host import RayGateway, open_gateway
from .journal import JOURNAL, JournalActor, JournalPlace, journal_place
from .keeping import Kept
from .lifecycle import create_agent, create_journal, create_supervisor, death_of, end_all, kill, ready
from .link import Charter
from .node_servers import NodeServers
from .placement import Place
from .remains import collect
from .replaced import RETRY_PAUSE
from .room import room
from .service import ServiceSystem
from .spawn_orders import Ordered, SpawnService
from .spawning import Spawning, description_of
from .supervisor import SupervisorActor
from .ties import Ties

__all__ = ("RaySystem", "attach_system", "collect", "open_system")

log = logging.getLogger(__name__)

ENDED_ELSEWHERE = "it was ended by another process"
"""Why an agent is dead whose process closed without its owner having asked for that."""


class RaySystem(Spawning):
    """A fleet whose actors end with this process, or with `close`. It belongs to one event loop."""

    def __init__(
        self,
        fleet: str,
        limit: Limits | None,
        address: str | None,
        journal: JournalPlace | None = None,
        restarts: RestartPolicy = USUAL,
        watch: WatchPolicy | None = None,
    ) -> None:
        """Nothing runs before `open`.

        Args:
            fleet: The fleet's name; with a journal that has a fleet of this name, that one is gone on with.
            limit: The most that the fleet may spend; None: no limit.
            address: Ray's, `host:port`; None: the one that `RAY_ADDRESS` names, else a new cluster on this machine.
            journal: Where everything is written that another process needs to go on. With it, agents whose process dies
                are restarted, and so are the Supervisor and the journal's actor. None: nowhere, and nothing is.
            restarts: How often an agent may be restarted.
            watch: What is done about agents that hang or loop; None: the defaults.
        """
        self.fleet = fleet
        self._address = choose(address, LOCAL)
        self._journal = None if journal is None else kept_journal(fleet, journal)
        self._desk = kept_supervisor(fleet, limit, self._journal, restarts, watch)
        # Handles that keep the actors alive: Ray ends an actor with its creator's last one.
        self._actors: dict[Seat, type[AgentActor]] = {}
        self._orders: dict[AgentId, SpawnOrder] = {}
        self._watches: set[asyncio.Task[None]] = set()
        self._servers = NodeServers(fleet)
        self._births = SpawnService(self._fresh, self._ended, self._bear, lambda seat: self._undo([seat]))
        self._opened = False

    async def open(self) -> None:
        """Start or reach Ray, then start the journal's actor and the Supervisor.

        Raises:
            SystemUnavailable: Ray cannot be started or reached, or has a fleet of this name.
            JournalUnavailable: The journal cannot be reached.
            JournalInvalid: It is something else, or its records cannot be read.
        """
        await to_thread.run_sync(connection().join, self._address)
        try:
            if self._journal is not None:
                await self._journal.open(again=True)
            await self._desk.open(again=self._journal is not None)
        except BaseException:
            if self._journal is not None:
                await self._journal.close()
            await to_thread.run_sync(connection().leave)
            raise
        self._reach(self.fleet, self._desk.way)
        self.drain = self._drain = RayDrain(self._actors, self._desk.way)
        self._births.start()
        self._opened = True

    async def close(self) -> None:
        """End every agent, the Supervisor, the journal, and Ray if it was started for this. Safe to call twice."""
        if not self._opened:
            return
        self._opened = False
        await self._births.aclose()
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)
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
                await self._desk.close()
                if self._journal is not None:
                    await self._journal.close()
            finally:
                self._let_go()
                await to_thread.run_sync(connection().leave)

    async def open_gateway(self, host: str, port: int) -> tuple[RayGateway, Dashboard]:
        """Serve the fleet over HTTP from an actor of its own; see `GatewayHost`."""
        return await open_gateway(self.fleet, host, port)

    async def outcome(self, agent: AgentId, run: RunId) -> Outcome:
        """Wait for the end of a run; see `System`.

        An agent that was killed, because a tool blocked it when the fleet was closed, cannot say how its run ended.
        """
        opened = self._opened
        try:
            return await super().outcome(agent, run)
        except ChannelClosed:
            if not opened or self._opened or self._journal is not None:
                raise
            return Outcome(run, agent, Ending.STOPPED, "", reason=CLOSED)

    async def _bring_to_life(self, seat: Seat, order: SpawnOrder, place: Place) -> None:
        if self._drain.begun:
            raise FleetClosed(fleet=self.fleet, stage="closed")
        actor = await self._make(seat, order, place)
        await ready(self._begin(seat, order, actor), seat.name)
        if self._journal is not None:
            self._orders[seat.name] = order

    async def _fresh(self, known: list[str]) -> list[Ordered]:
        """Children that are to be brought to life here."""
        return await self._ask_supervisor(lambda supervisor: supervisor.spawn_orders.remote(known), inf)

    async def _ended(self, ordered: Ordered, failure: str) -> bool:
        """Say what became of one; gives whether it is to live."""
        order, seat = ordered.order, ordered.seat
        return await self._ask_supervisor(lambda supervisor: supervisor.spawn_ended.remote(order, seat, failure), inf)

    async def _bear(self, ordered: Ordered) -> None:
        """Bring to life whom an agent has spawned; asked again, after a Supervisor died, go on with what there is."""
        seat = ordered.seat
        agent = unpacked(ordered.description).agent
        order = SpawnOrder(seat.name, agent, seat.parent, again=True, carried=ordered.description)
        try:
            if seat in self._actors:
                await ready(self._begin(seat, order, self._actors[seat]), seat.name)
            else:
                _, where = await room(1, self._held)
                await self._bring_to_life(seat, order, next(where))
        except BaseException:
            await self._undo([seat])
            raise

    @property
    def _held(self) -> int:
        return len(self._actors)

    async def _make(self, seat: Seat, order: SpawnOrder, place: Place) -> type[AgentActor]:
        """Make an agent's actor, and watch over it."""
        actor = await to_thread.run_sync(self._create, seat, order, place)
        self.post.keep(seat.name, actor)
        watch = asyncio.create_task(self._watch(seat, actor))
        self._watches.add(watch)
        watch.add_done_callback(self._watch_ended)
        return actor

    async def _begin(self, seat: Seat, order: SpawnOrder, actor: type[AgentActor]) -> None:
        await actor.open.remote(await self._servers.near(seat, actor) if order.agent.servers else None)

    def _create(self, seat: Seat, order: SpawnOrder, place: Place) -> type[AgentActor]:
        ties = Ties(self.fleet, self._desk.way.handle, None if self._journal is None else self._journal.way.handle)
        actor = create_agent(ties, description_of(order), seat, place)
        # Here in the thread, so that `close` finds it even if nobody waits for this thread any more.
        self._actors[seat] = actor
        return actor

    async def _undo(self, seats: list[Seat]) -> None:
        """End those that were to live together with one that could not."""
        for seat in seats:
            self._orders.pop(seat.name, None)
            await self._died(seat, UNSPAWNED, restart=False)
        await end_all([self._actors.pop(seat) for seat in seats if seat in self._actors])
        for seat in seats:
            self.post.forget(seat.name)
            await self._servers.release(seat)

    async def _watch(self, seat: Seat, actor: type[AgentActor]) -> None:
        """Wait for the agent's death, tell the Supervisor, and begin the next life if there is to be one."""
        reason = await death_of(actor, seat.name)
        if self._actors.pop(seat, None) is None:
            return
        if reason is None:  # `close` would have cancelled this: somebody else wants it to be over
            self._orders.pop(seat.name, None)
        await self._bury(seat, reason or ENDED_ELSEWHERE)

    def _watch_ended(self, watch: "asyncio.Task[None]") -> None:
        self._watches.discard(watch)
        if not watch.cancelled() and (error := watch.exception()) is not None:
            log.error("an agent that died is not restarted", exc_info=error)

    async def _bury(self, seat: Seat, reason: str) -> None:
        self.post.forget(seat.name)
        order = self._orders.get(seat.name)
        again = False
        try:
            again = await self._died(seat, reason, restart=order is not None)
        except FleetError as error:
            log.warning("nobody was told that %s died (%s): %s", seat.name, reason, error)
        await self._servers.release(seat)
        if again and order is not None:
            await self._revive(seat, order)

    async def _died(self, seat: Seat, reason: str, *, restart: bool) -> bool:
        """Tell the Supervisor; gives whether the next life is to be begun."""
        return await self._ask_supervisor(
            lambda supervisor: supervisor.died.remote(seat.name, seat.incarnation, reason, restart), inf
        )

    async def _revive(self, seat: Seat, order: SpawnOrder) -> None:
        """Begin the next life, on any node that has room for it; waits until there is one."""
        if self._drain.begun:  # it is begun when the fleet is opened again
            return
        where = await self._room(seat.name)
        life = await self._admit_again(seat, order)
        following = Seat(order.name, life, order.parent)
        try:
            actor = await self._make(following, order, where)
        except (FleetError, RayError) as error:
            await self._bury(following, str(error))
            return
        try:
            await self._begin_again(following, order, actor)
        except (FleetError, RayError) as error:
            if self._actors.pop(following, None) is not None:  # else it died, and its watch buries it
                await kill(actor)
                await self._bury(following, str(error))

    async def _begin_again(self, seat: Seat, order: SpawnOrder, actor: type[AgentActor]) -> None:
        """Have an actor begin, however long its journal is away."""
        while True:
            try:
                await ready(self._begin(seat, order, actor), seat.name)
            except JournalUnavailable as error:
                log.warning("%s waits for its journal to live again: %s", seat.name, error)
                await asyncio.sleep(RETRY_PAUSE)
            else:
                return

    async def _room(self, agent: AgentId) -> Place:
        told = False
        while True:
            try:
                _, where = await room(1, self._held)
            except SystemUnavailable as error:
                if not told:
                    log.warning("%s waits for room to live again: %s", agent, error)
                told = True
                await asyncio.sleep(RETRY_PAUSE)
            else:
                return next(where)

    async def _admit_again(self, seat: Seat, order: SpawnOrder) -> Incarnation:
        """The number of the next life. An answer may have been lost: only this system admits, so what came is ours."""
        newcomer = order.newcomer
        try:
            admitted = await self._ask_supervisor(
                lambda supervisor: supervisor.admit.remote([newcomer], os.getpid()), inf
            )
        except NameTaken:
            row = await self._ask_supervisor(lambda supervisor: supervisor.find.remote(seat.name))
            return decode(row, AgentStatus).incarnation
        return admitted[0]


def kept_journal(fleet: str, place: JournalPlace) -> Kept[type[JournalActor]]:
    """The actor of a fleet's journal."""
    return Kept(
        JOURNAL, fleet, lambda first: create_journal(fleet, place, create=first), lambda actor, _: actor.begin.remote()
    )


def kept_supervisor(
    fleet: str,
    limit: Limits | None,
    journal: Kept[type[JournalActor]] | None,
    restarts: RestartPolicy,
    watch: WatchPolicy | None,
) -> Kept[type[SupervisorActor]]:
    """A fleet's Supervisor."""
    owner = secrets.token_hex(8)

    def create(_: bool) -> type[SupervisorActor]:  # noqa: FBT001
        there = None if journal is None else journal.way.handle
        return create_supervisor(Charter(fleet, limit, there, owner, service=False, restarts=restarts), watch)

    return Kept(SUPERVISOR, fleet, create, lambda actor, first: actor.open.remote(first))


def open_system(  # noqa: PLR0913  what a fleet is told once
    fleet: str,
    limit: Limits | None,
    address: str | None,
    journal: Journal | str | Path | None = None,
    restarts: RestartPolicy | None = None,
    watch: WatchPolicy | None = None,
    *,
    service: bool = False,
) -> RaySystem | ServiceSystem:
    """A system for `load_system("ray")`. Its journal is named by a path or a URL.

    Raises:
        SystemUnavailable: The journal is an object, or a service has none.
        JournalInvalid: The URL is none, or one of something else.
    """
    if not (journal is None or isinstance(journal, str | Path)):
        reason = "its journal is in a process of its own, so give a path or a URL, not an object."
        raise SystemUnavailable(system="ray", reason=reason)
    place = None if journal is None else journal_place(journal)
    policy = restarts or USUAL
    if not service:
        return RaySystem(fleet, limit, address, place, policy, watch)
    if place is None:
        reason = "a service outlives processes, its Supervisor's as well, so it needs a journal: give a path or a URL."
        raise SystemUnavailable(system="ray", reason=reason)
    return ServiceSystem(fleet, limit, address, place, policy, watch)


def attach_system(fleet: str | None, address: str | None) -> AttachedSystem:
    """The system of a fleet that another process owns; None: the only one there is."""
    return AttachedSystem(fleet, address)
