"""An agent's way to the MCP servers of its node: what it may ask there, and the end that asks.

An agent's process loads this, and nothing that runs a server.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import ray

from ..protocols.messages import Json
from ..protocols.providers.base import ToolSchema
from ..runtime.tools.output import ToolOutput
from ..runtime.tools.servers import Holder, McpServer, ToolServers
from .errors import translated

__all__ = ("RayToolServers", "ToolServersDesk")

POOL = "the tool servers of this node"
"""What their actor is called in errors."""


class ToolServersDesk:
    """What agents may ask of their node's servers. `ToolServersActor` says who runs them."""

    def __init__(self, servers: ToolServers) -> None:
        """Pass on what is asked."""
        self._servers = servers

    @ray.method
    async def acquire(self, holder: Holder, server: McpServer) -> tuple[ToolSchema, ...]:
        """Hold a server and give its tools."""
        return await self._servers.acquire(holder, server)

    @ray.method
    async def call(self, holder: Holder, server: McpServer, tool: str, arguments: Mapping[str, Json]) -> ToolOutput:
        """Call a tool."""
        return await self._servers.call(holder, server, tool, arguments)

    @ray.method
    async def release(self, holder: Holder) -> None:
        """Let go of all that a life holds."""
        await self._servers.release(holder)


class RayToolServers:
    """An agent's way to the servers of its node: the port `ToolServers`."""

    def __init__(self, actor: type[ToolServersDesk]) -> None:
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
