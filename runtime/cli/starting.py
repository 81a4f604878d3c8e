"""A fleet of one's own: starting it, which takes long on Ray, and leaving it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Literal

from ..closing import DRAIN_GRACE
from ..fleet import Fleet
from .console import complain
from .screen import Screen

__all__ = ("DRAINS", "started")

DRAINS = (
    f"The agents drain: they go on to their next boundary, for {DRAIN_GRACE:g} seconds at most. "
    "A second signal ends them at once."
)


@asynccontextmanager
async def started(fleet: Fleet, system: Literal["ray", "local"], screen: Screen) -> AsyncGenerator[Fleet, None]:
    """Enter a fleet, while the screen says so; it ends with this context.

    Raises:
        SystemUnavailable: The system cannot be started.
    """
    async with AsyncExitStack() as stack:
        with screen.waiting("Starting Ray." if system == "ray" else "Starting the fleet in this process."):
            await stack.enter_async_context(fleet)
        try:
            yield fleet
        except asyncio.CancelledError:
            complain(DRAINS)
            raise
