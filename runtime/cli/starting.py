"""Starting a fleet of one's own, which takes long on Ray."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Literal

from ..fleet import Fleet
from .screen import Screen

__all__ = ("started",)


@asynccontextmanager
async def started(fleet: Fleet, system: Literal["ray", "local"], screen: Screen) -> AsyncGenerator[Fleet, None]:
    """Enter a fleet, while the screen says so; it ends with this context.

    Raises:
        SystemUnavailable: The system cannot be started.
    """
    async with AsyncExitStack() as stack:
        with screen.waiting("Starting Ray." if system == "ray" else "Starting the fleet in this process."):
            await stack.enter_async_context(fleet)
        yield fleet
