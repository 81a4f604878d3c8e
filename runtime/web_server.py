"""A web server inside a process that does other things as well: how it listens, and how it ends."""

import asyncio
import contextlib
import errno
import socket
from collections.abc import Generator

import uvicorn
from starlette.types import ASGIApp

from .errors import SystemUnavailable

__all__ = ("LOOPBACK", "QuietServer", "listen", "quiet_server")

LOOPBACK = "127.0.0.1"

SOCKET_LIMIT = 2**20
"""Bytes that one message of a WebSocket may have."""

GRACE = 1
"""Seconds that answers in flight have when the server stops."""


class QuietServer(uvicorn.Server):
    """A server that leaves the signals of its process alone, and stops at once.

    uvicorn's own looks ten times a second whether it should stop, and then pauses as long again.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        """Serve until `ending` is set."""
        super().__init__(config)
        self.ending = asyncio.Event()

    async def main_loop(self) -> None:
        """Wait for the end."""
        await self.on_tick(0)  # writes the headers that all answers have
        await self.ending.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002  uvicorn's signature
        """Take no more requests, let answers in flight end, and close all connections."""
        for listener in self.servers:
            listener.close()
        connections = tuple(self.server_state.connections)
        for connection in connections:
            connection.shutdown()
        if self.server_state.tasks:
            _, late = await asyncio.wait(self.server_state.tasks, timeout=GRACE)
            for task in late:
                task.cancel()
        for connection in connections:
            if connection.transport:
                connection.transport.close()
        await asyncio.sleep(0)  # closing takes one turn of the loop

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Capture none."""
        yield


def quiet_server(app: ASGIApp, *, sockets: bool = False) -> QuietServer:
    """A server of an application, which writes no logs of its own; `sockets`: it takes WebSockets as well."""
    config = uvicorn.Config(
        app,
        lifespan="off",
        ws="websockets-sansio" if sockets else "none",
        ws_max_size=SOCKET_LIMIT,
        log_config=None,
        access_log=False,
        date_header=False,
        server_header=False,
    )
    return QuietServer(config)


def listen(system: str, host: str, port: int) -> socket.socket:
    """A socket that listens; `system` is who listens, for the error.

    Raises:
        SystemUnavailable: The port is taken, or the address cannot be used.
    """
    try:
        listener = socket.create_server((host, port), backlog=2048)
    except OSError as error:
        taken = f"port {port} of {host} is taken: choose another one, or 0 for any that is free."
        reason = taken if error.errno == errno.EADDRINUSE else f"{host}:{port} cannot be listened on: {error.strerror}."
        raise SystemUnavailable(system=system, reason=reason) from error
    # Its connections inherit this. Without it the body of an answer waits 40 ms until its head is acknowledged; asyncio
    # sees to that only where a socket names TCP as its protocol, and this one names none.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
