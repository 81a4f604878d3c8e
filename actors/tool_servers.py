"""MCP servers on a cluster: one actor a node runs them for all of a fleet's agents there."""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import ray

from ..protocols.messages import Json
from ..protocols.providers.base import ToolSchema
from ..runtime.tools.mcp.pool import ServerPool
from ..runtime.tools.output import ToolOutput
from ..runtime.tools.servers import Holder, McpServer
from .channel import CONTROL
from .errors import translated

__all__ = ("RayToolServers", "ToolServersActor", "actor_name")

POOL = "the tool servers of this node"
"""What their actor is called in errors."""


def actor_name(node: str) -> str:
    """The name, among a fleet's actors, of the one that runs a node's servers."""
    return f"tools:{node}"


class ToolServersActor:
    """The MCP servers of one node. Should its process die, Ray starts another, and calls start servers again."""

    def __init__(self) -> None:
        """No server runs yet."""
        self._pool = ServerPool()

    @ray.method
    async def acquire(self, holder: Holder, server: McpServer) -> tuple[ToolSchema, ...]:
        """Hold a server and give its tools."""
        return await self._pool.acquire(holder, server)

    @ray.method
    async def call(self, holder: Holder, server: McpServer, tool: str, arguments: Mapping[str, Json]) -> ToolOutput:
        """Call a tool."""
        return await self._pool.call(holder, server, tool, arguments)

    @ray.method
    async def release(self, holder: Holder) -> None:
        """Let go of all that a life holds."""
        await self._pool.release(holder)

    @ray.method
    async def close(self) -> None:
        """End all servers."""
        await self._pool.aclose()

    @ray.method(concurrency_group=CONTROL)
    async def ping(self) -> None:
        """Answer."""


class RayToolServers:
    """An agent's way to the servers of its node: the port `ToolServers`."""

    def __init__(self, actor: type[ToolServersActor]) -> None:
        """Keep the actor's handle."""
        self._actor = actor

    async def acquire(self, holder: Holder, server: McpServer) -> tuple[ToolSchema, ...]:
        """Hold a server and give its tools.

        Raises:
            ToolServerFailed: It cannot be used.
            FleetError: The servers' actor cannot be reached.
        """
        with translated(POOL):
            return await self._actor.acquire.remote(holder, server)

    async def call(self, holder: Holder, server: McpServer, tool: str, arguments: Mapping[str, Json]) -> ToolOutput:
        """Call a tool; cancelled, the call there is cancelled too.

        Raises:
            FleetError: The servers' actor cannot be reached.
        """
        with translated(POOL):
            answer = self._actor.call.remote(holder, server, tool, arguments)
            try:
                return await answer
            except asyncio.CancelledError:
                cast("Any", ray.cancel)(answer, recursive=False)
                raise

    async def release(self, holder: Holder) -> None:
        """Let go of all that a life holds.

        Raises:
            FleetError: The servers' actor cannot be reached.
        """
        with translated(POOL):
            await self._actor.release.remote(holder)
