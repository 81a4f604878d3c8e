"""Which actor runs the MCP servers of which node, and for which agents: the end of a fleet's owner."""

import asyncio
import logging

from anyio import to_thread

from ..protocols.errors import FleetError
from ..runtime.host import Seat
from .agent import AgentActor
from .lifecycle import end_all
from .tool_server_link import RayToolServers
from .tool_servers import ToolServersActor, create_tool_servers

__all__ = ("NodeServers",)

log = logging.getLogger(__name__)


class NodeServers:
    """The tool servers' actors of one fleet. They live as long as these handles, which are their creator's."""

    def __init__(self, fleet: str) -> None:
        """None is needed yet."""
        self._fleet = fleet
        self._actors: dict[str, type[ToolServersActor]] = {}
        self._users: dict[Seat, type[ToolServersActor]] = {}
        self._creating = asyncio.Lock()

    async def near(self, seat: Seat, actor: type[AgentActor]) -> type[ToolServersActor]:
        """The actor that runs servers on an agent's node. From now on `release` lets go of what the agent holds."""
        node = await actor.node.remote()
        async with self._creating:  # a second handle to an actor does not keep it alive
            if node not in self._actors:
                self._actors[node] = await to_thread.run_sync(create_tool_servers, self._fleet, node)
        self._users[seat] = self._actors[node]
        return self._actors[node]

    async def release(self, seat: Seat) -> None:
        """Let go of what a life that is over has held. Safe to call twice, also at once."""
        actor = self._users.get(seat)
        if actor is None:
            return
        try:
            await RayToolServers(actor).release((seat.name, seat.incarnation))
        except FleetError as error:
            log.warning("MCP servers of %s may run until its fleet ends: %s", seat.name, error)
        self._users.pop(seat, None)

    async def close(self) -> None:
        """End all servers and their actors."""
        self._users.clear()
        actors = tuple(self._actors.values())
        self._actors.clear()
        await end_all(actors)
