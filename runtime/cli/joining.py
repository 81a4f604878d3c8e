"""A running fleet, as the options of a command name it."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from rich.console import Console

from ...protocols.ids import SUPERVISOR
from ..errors import ChannelClosed
from ..fleet import Fleet
from .errors import FleetOver
from .ticking import ticking

__all__ = ("running",)


@asynccontextmanager
async def running(name: str, address: str) -> AsyncGenerator[Fleet, None]:
    """The fleet of that name, or the only one that runs there. Entering joins it, leaving ends nothing.

    Args:
        name: Empty for the only one.
        address: Ray's; `auto`: what `RAY_ADDRESS` says, else the cluster of this machine, as Ray reads the word.

    Raises:
        SystemUnavailable: Ray or the fleet is not there.
        FleetOver: It was there, and has ended.
    """
    async with AsyncExitStack() as stack:
        with ticking(Console(stderr=True)):
            fleet = Fleet.attach(name or None, address=None if address == "auto" else address)
            await stack.enter_async_context(fleet)
        try:
            yield fleet
        except ChannelClosed as error:
            if error.agent != SUPERVISOR:
                raise
            raise FleetOver(fleet=fleet.name) from error
