"""A tool that waits for the test, in whatever process it runs: a line over loopback instead of a sleep."""

import asyncio
from collections import defaultdict
from contextlib import suppress
from types import TracebackType
from typing import Self

from amrita_fleet import Tool, tool


class Gate:
    """The test's end: knows which calls have begun, and lets them go on."""

    def __init__(self) -> None:
        self._begun: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._open: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._cut: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._lines: set[asyncio.Task[None]] = set()
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for event in self._open.values():
            event.set()
        self._server.close()
        await asyncio.gather(*self._lines)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = asyncio.create_task(self._hold(reader, writer))
        self._lines.add(line)
        line.add_done_callback(self._lines.discard)
        await line

    async def _hold(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        name = (await reader.readline()).decode().strip()
        self._begun[name].set()
        going = asyncio.create_task(self._open[name].wait())
        line = asyncio.create_task(reader.read())
        await asyncio.wait({going, line}, return_when=asyncio.FIRST_COMPLETED)
        if line.done():
            self._cut[name].set()
        else:
            writer.write(b"go\n")
        for each in (going, line):
            each.cancel()
        await asyncio.gather(going, line, return_exceptions=True)
        writer.close()
        with suppress(ConnectionError):  # whoever called may be dead
            await writer.wait_closed()

    async def begun(self, name: str) -> None:
        """Wait until a call with this name has begun."""
        async with asyncio.timeout(30):
            await self._begun[name].wait()

    async def cut(self, name: str) -> None:
        """Wait until a call with this name has ended before it was let go on."""
        async with asyncio.timeout(30):
            await self._cut[name].wait()

    def has_begun(self, name: str) -> bool:
        return self._begun[name].is_set()

    def was_cut(self, name: str) -> bool:
        return self._cut[name].is_set()

    def let(self, name: str) -> None:
        """Let calls with this name end."""
        self._open[name].set()

    @property
    def tool(self) -> Tool:
        """The agent's end; a local function, so that it goes to other processes by value."""
        port = self.port

        @tool
        async def gate(name: str) -> str:
            """Wait until the test says go on."""
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(f"{name}\n".encode())
                return (await reader.readline()).decode().strip() or "closed"
            finally:
                writer.close()

        return gate
