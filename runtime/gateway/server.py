"""The gateway as a server of this process, from the moment it listens to its end."""

import asyncio
import os
from pathlib import Path

from anyio import to_thread

from ..clock import SystemClock
from ..ports import Clock
from ..web_server import LOOPBACK, listen, quiet_server
from .app import build_app
from .both import Both, OpenPages, Pages
from .feed import Feed
from .guard import Door, Guard, bracketed
from .serving import Dashboard
from .source import FleetSource
from .token_file import token_file, token_in

__all__ = ("Gateway", "open_gateway")


class Gateway:
    """A gateway that runs in the current event loop, between `open` and `aclose`."""

    def __init__(
        self, source: FleetSource, token: str, clock: Clock | None = None, pages: OpenPages | None = None
    ) -> None:
        """Nothing runs yet.

        Args:
            source: The fleet.
            token: What has to be shown by whoever comes.
            clock: Time; None: the machine's.
            pages: What opens the pages for a browser; None: there are none.
        """
        self._source = source
        self._token = token
        self._clock = clock or SystemClock()
        self._feed = Feed(source, self._clock)
        self._running: asyncio.Task[None] | None = None
        self._open_pages = pages
        self._pages: Pages | None = None

    async def open(self, host: str = LOOPBACK, port: int = 0) -> Dashboard:
        """Read the fleet, then listen; `port`: 0 for any that is free.

        Raises:
            SystemUnavailable: The port is taken, or the address cannot be used.
            FleetError: The fleet cannot be read.
        """
        listener = listen("gateway", host, port)
        try:
            await self._feed.open()
            if self._open_pages is not None:
                self._pages = await self._open_pages(self._source, self._feed, self._clock)
        except BaseException:
            listener.close()
            await self._feed.aclose()
            raise
        port = listener.getsockname()[1]
        app = Both(build_app(self._source, self._feed, self._clock), self._pages)
        self._server = quiet_server(Guard(app, Door(self._token, host, port)), sockets=self._pages is not None)
        self._running = asyncio.create_task(self._server.serve([listener]), name="gateway")
        return Dashboard(f"http://{bracketed(host)}:{port}", self._token)

    async def over(self) -> str:
        """Wait until there is nothing more to show, and give why."""
        while not self._feed.over:
            await self._feed.news.wait()
        return self._feed.over

    async def aclose(self) -> None:
        """End: event streams say so, and other answers in flight have a moment. Safe to call twice."""
        await self._feed.aclose()
        running, self._running = self._running, None
        if running is not None:
            self._server.ending.set()
            await running
        pages, self._pages = self._pages, None
        if pages is not None:
            await pages.aclose()


async def open_gateway(
    source: FleetSource, host: str, port: int, pages: OpenPages | None = None
) -> tuple[Gateway, Dashboard]:
    """Serve a fleet from this process, under the token of its user.

    Raises:
        DashboardElsewhere: Another event loop of this process serves pages.
        SystemUnavailable: The port is taken, the address cannot be used, or there can be no token.
        FleetError: The fleet cannot be read.
    """
    token = await to_thread.run_sync(token_in, token_file(environ=os.environ, home=Path.home()))
    gateway = Gateway(source, token, pages=pages)
    return gateway, await gateway.open(host, port)
