"""MCP servers on a cluster: one actor a node runs them for all of a fleet's agents there."""

import ray

from ..runtime.tools.mcp.pool import ServerPool
from .channel import CONTROL
from .tool_server_link import ToolServersDesk

__all__ = ("ToolServersActor", "actor_name")


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
