"""The one gateway of a fleet, wherever it runs."""

import asyncio

from ..helm import Helm
from ..system import System
from .serving import Dashboard, GatewayHost, Serving, check_address, check_extra

__all__ = ("OneGateway",)


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
            SystemUnavailable: The port is taken, the address cannot be used, or there can be no token.
        """
        check_address(host, port)
        check_extra()
        async with self._turn:
            if self._open is None:
                if isinstance(system, GatewayHost):
                    self._open = await system.open_gateway(host, port)
                else:
                    from .server import open_gateway
                    from .source import SystemSource

                    self._open = await open_gateway(SystemSource(helm, system), host, port)
            return self._open[1]

    async def over(self) -> str:
        """Wait until it has nothing more to show, and give why; at once, an empty text, where none is open."""
        return "" if self._open is None else await self._open[0].over()

    async def aclose(self) -> None:
        """Close it, one that is just being opened as well. Safe to call twice."""
        async with self._turn:
            if self._open is not None:
                await self._open[0].aclose()
