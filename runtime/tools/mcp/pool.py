"""The MCP servers of one node: each runs once, while an agent holds it."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from time import monotonic

from ....protocols.messages import Json
from ....protocols.providers.base import ToolSchema
from ...errors import ToolServerFailed
from ..output import ToolOutput
from ..servers import Holder, McpServer
from .connection import Connection

__all__ = ("ServerPool",)

STARTS = 5
WINDOW = 60.0
"""A server is started so many times in so many seconds, and then not before they have passed."""


class ServerPool:
    """The port `ToolServers`, on one event loop.

    Equal descriptions are one server. It starts when the first life holds it and ends with the last that lets go. One
    that has ended by itself is started again by the next call that needs it.
    """

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        """Nothing runs yet.

        Args:
            now: Seconds that never go back.
        """
        self._now = now
        self._holders: dict[McpServer, set[Holder]] = {}
        self._connections: dict[McpServer, Connection] = {}
        self._starts: dict[McpServer, deque[float]] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._closed = False

    async def acquire(self, holder: Holder, server: McpServer) -> tuple[ToolSchema, ...]:
        """Hold a server, which starts it unless it runs, and give its tools under its own names for them.

        Raises:
            ToolServerFailed: It cannot be started, does not answer in time, or lacks a tool that was asked for.
        """
        try:
            return await self._running(holder, server).tools()
        except BaseException:
            await self._let_go(holder, (server,))
            raise

    async def call(self, holder: Holder, server: McpServer, tool: str, arguments: Mapping[str, Json]) -> ToolOutput:
        """Call a tool, by its server's own name. A server that has ended is started again; no call runs twice.

        Whatever goes wrong is a failed output.
        """
        try:
            connection = self._running(holder, server)
        except ToolServerFailed as error:
            return ToolOutput.failure(str(error))
        return await connection.call(tool, arguments)

    async def release(self, holder: Holder) -> None:
        """Let go of all that this life holds; once this is over, servers that nobody holds any more have ended.

        Safe to call twice, also at once.
        """
        await self._let_go(holder, tuple(self._holders))

    async def aclose(self) -> None:
        """End all servers, and start no more. Safe to call twice."""
        self._closed = True
        self._holders.clear()
        for server in tuple(self._connections):
            self._end(server)
        await asyncio.gather(*self._ending)

    async def _let_go(self, holder: Holder, servers: Iterable[McpServer]) -> None:
        for server in servers:
            holders = self._holders.get(server, set())
            holders.discard(holder)
            if not holders:
                self._holders.pop(server, None)
                self._starts.pop(server, None)
                self._end(server)
        # For those that end already too: who lets go a second time finds no process either.
        await asyncio.gather(*map(asyncio.shield, self._ending))

    def _running(self, holder: Holder, server: McpServer) -> Connection:
        """The connection to a server, held by this life and started again if it has ended.

        Raises:
            ToolServerFailed: It has been started too often, or the fleet ends.
        """
        if self._closed:
            raise ToolServerFailed(server=server.name, reason="the fleet ends")
        self._holders.setdefault(server, set()).add(holder)
        connection = self._connections.get(server)
        if connection is None or connection.over:
            self._count_start(server)
            self._end(server)
            connection = self._connections[server] = Connection(server)
        return connection

    def _count_start(self, server: McpServer) -> None:
        starts, now = self._starts.setdefault(server, deque(maxlen=STARTS)), self._now()
        if len(starts) == STARTS and now - starts[0] < WINDOW:
            reason = (
                f"it was started {STARTS} times in {WINDOW:g} seconds and is not started again before they are over"
            )
            raise ToolServerFailed(server=server.name, reason=reason)
        starts.append(now)

    def _end(self, server: McpServer) -> None:
        """Have a connection end, if there is one."""
        connection = self._connections.pop(server, None)
        if connection is not None:
            task = asyncio.create_task(connection.close())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
