"""The event loop that an agent works in, as other threads see it."""

import asyncio
from collections.abc import Callable
from typing import TypeVarTuple

__all__ = ("WorkLoop",)

Ts = TypeVarTuple("Ts")


class WorkLoop:
    """One agent's loop, from when it is bound until it is closed. Any thread may ask it to do something soon."""

    def __init__(self) -> None:
        """There is none yet."""
        self._loop: asyncio.AbstractEventLoop | None = None

    def bind(self) -> None:
        """Have the running loop for the agent's."""
        self._loop = asyncio.get_running_loop()

    def soon(self, callback: Callable[[*Ts], object], *arguments: *Ts) -> None:
        """Have it call something; nothing happens before it is bound and once it is closed, for then nobody works."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(callback, *arguments)
