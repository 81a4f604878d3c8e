"""A tool that blocks its agent's event loop until the test lets it go, and fleets as Ray sees them."""

import asyncio
import os
import select
import socket
from collections.abc import Callable
from types import TracebackType
from typing import Self, cast

from ray.util import list_named_actors

from amrita_fleet import Fleet, Tool, tool


class Blocker:
    """The test's end of the line on which the tool blocks."""

    def __init__(self) -> None:
        self._begun = asyncio.Event()
        self._free = asyncio.Event()
        self._port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.free()
        self._server.close()

    async def _serve(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._begun.set()
        await self._free.wait()
        writer.close()

    async def begun(self) -> None:
        """Wait until the tool blocks."""
        async with asyncio.timeout(30):
            await self._begun.wait()

    def free(self) -> None:
        """Let it go."""
        self._free.set()

    @property
    def tool(self) -> Tool:
        """Local, so that it goes to the agent's process by value."""
        blocked = self.blocked

        @tool
        async def block() -> str:
            """Hold up everything."""
            blocked()
            return "free"

        return block

    @property
    def blocked(self) -> Callable[[], bool]:
        """What the tool does, to be called by something else that an agent's process runs."""
        port = self._port

        def blocked() -> bool:
            with socket.create_connection(("127.0.0.1", port)) as line:
                line.recv(1)
            return True

        return blocked


def actors_of(fleet: Fleet) -> list[str]:
    """Names of the fleet's actors that Ray knows."""
    actors = cast("list[dict[str, str]]", list_named_actors(all_namespaces=True))
    return sorted(each["name"] for each in actors if each["namespace"] == f"amrita-{fleet.name}")


async def ended(pid: int) -> None:
    """Wait until a process is gone."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        done, _, _ = await asyncio.to_thread(select.select, [descriptor], [], [], 30)
        assert done, f"process {pid} still runs"
    finally:
        os.close(descriptor)
