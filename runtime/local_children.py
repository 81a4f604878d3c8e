"""The children of agents, in this process: whom they spawn, and whom of those they stop."""

from collections.abc import Mapping
from functools import partial

from ..protocols.ids import AgentId, Incarnation
from ..protocols.spawning import SpawnAnswer, SpawnRequest, StopAnswer, StopRequest
from .agent import kind_of
from .host import AgentHost, Seat
from .local_succession import LocalSuccession
from .local_ways import LocalPost, one_owner
from .supervision.spawn_desk import Close, SpawnDesk
from .supervision.supervisor import Supervisor
from .system import SpawnOrder

__all__ = ("LocalChildren",)


class LocalChildren:
    """Spawns and stops children for the agents of one fleet."""

    def __init__(
        self,
        fleet: str,
        supervisor: Supervisor,
        post: LocalPost,
        hosts: Mapping[AgentId, AgentHost],
        lives: LocalSuccession,
        close: Close,
    ) -> None:
        """Share the system's parts.

        Args:
            fleet: Its name.
            supervisor: Who lets children in.
            post: Has whoever writes to a child that is being born write again.
            hosts: Those that live.
            lives: Begins lives, and knows what the agents are.
            close: Closes mailboxes of the dead.
        """
        self._fleet = fleet
        self._supervisor = supervisor
        self._desk = SpawnDesk(supervisor, supervisor.log.written, close)
        self._post = post
        self._hosts = hosts
        self._lives = lives

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
        kind = kind_of(self._lives.described(request.agent), request.kind)
        order = SpawnOrder(request.name, kind, request.agent, again=True)
        self._post.coming.add(request.name)
        try:
            await self._lives.begin_first(Seat(request.name, life, request.agent), order)
        except BaseException:
            await self._lives.servers.release((request.name, life))
            raise
        finally:
            self._post.coming.discard(request.name)
