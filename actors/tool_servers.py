"""MCP servers on a cluster: one actor a node runs them for all of a fleet's agents there."""

from typing import Any, cast

import ray
from ray.actor import ActorClass

from ..runtime.tools.mcp.pool import ServerPool
from .channel import CONTROL, namespace
from .lifetimes import DETACHED, OWNED, on
from .tool_server_link import ToolServersDesk

__all__ = ("ToolServersActor", "actor_name", "create_tool_servers")


def actor_name(node: str) -> str:
    """The name, among a fleet's actors, of the one that runs a node's servers."""
    return f"tools:{node}"


class ToolServersActor(ToolServersDesk):
    """The MCP servers of one node. Should its process die, Ray starts another, and calls start servers again."""

    def __init__(self) -> None:
        """No server runs yet."""
        self._pool = ServerPool()
        super().__init__(self._pool)

    @ray.method
    async def close(self) -> None:
        """End all servers."""
        await self._pool.aclose()

    @ray.method(concurrency_group=CONTROL)
    async def ping(self) -> None:
        """Answer."""


ToolServers = cast(
    "ActorClass[ToolServersActor]",
    cast("Any", ray.remote)(concurrency_groups={CONTROL: 64})(ToolServersActor),
)


def create_tool_servers(fleet: str, node: str, *, service: bool = False) -> type[ToolServersActor]:
    """Make the actor that runs MCP servers on a node; a service's is the one that is there, if there is one. It blocks.

    A process of it that dies is replaced: it has nothing that the next call does not bring with it.
    """
    living = {**DETACHED, "get_if_exists": True} if service else {**OWNED, "max_restarts": -1}
    options = ToolServers.options(name=actor_name(node), namespace=namespace(fleet), **on(node, soft=True), **living)
    return cast("type[ToolServersActor]", options.remote())
