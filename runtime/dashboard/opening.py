"""The one dashboard of a fleet, wherever it runs: the gateway, with the pages."""

import asyncio
from typing import TYPE_CHECKING

from anyio import to_thread

from ..gateway.serving import Dashboard, GatewayHost, Serving, check_address, check_extra
from ..gateway.source import FleetSource, SystemSource
from ..helm import Helm
from ..system import System

if TYPE_CHECKING:
    from ..gateway.both import OpenPages

__all__ = ("OneGateway", "open_dashboard")


class OneGateway:
    """Opened at most once, and closed with the fleet."""

    def __init__(self) -> None:
        """None is open."""
        self._turn = asyncio.Lock()
        self._open: tuple[Serving, Dashboard] | None = None

    async def open(self, helm: Helm, system: System, host: str, port: int) -> Dashboard:
        """Open it: where the system has a process for it, there, else in this one. Gives the one that is open already.

        Raises:
            ArgumentInvalid: The host or the port is none.
            ExtraMissing: The extra `dashboard` is not installed.
            DashboardElsewhere: Another event loop of this process serves one.
            SystemUnavailable: The port is taken, the address cannot be used, or there can be no token.
        """
        check_address(host, port)
        check_extra()
        async with self._turn:
            if self._open is None:
                if isinstance(system, GatewayHost):
                    self._open = await system.open_gateway(host, port)
                else:
                    self._open = await open_dashboard(SystemSource(helm, system), host, port)
            return self._open[1]

    async def over(self) -> str:
        """Wait until it has nothing more to show, and give why; at once, an empty text, where none is open."""
        return "" if self._open is None else await self._open[0].over()

    async def aclose(self) -> None:
        """Close it, one that is just being opened as well. Safe to call twice."""
        async with self._turn:
            if self._open is not None:
                await self._open[0].aclose()


async def open_dashboard(source: FleetSource, host: str, port: int) -> tuple[Serving, Dashboard]:
    """Serve a fleet, or a recording of one, from this process, under the token of its user.

    Raises:
        DashboardElsewhere: Another event loop of this process serves one.
        SystemUnavailable: The port is taken, the address cannot be used, or there can be no token.
        FleetError: The fleet cannot be read.
    """
    # NiceGUI takes a second to be imported, in which the fleet goes on.
    pages = await to_thread.run_sync(load_pages)
    from ..gateway.server import open_gateway

    return await open_gateway(source, host, port, pages)


def load_pages() -> "OpenPages":
    """What opens the pages."""
    from .hall import open_pages

    return open_pages
