"""The signs of life of one long tool call."""

import asyncio
from collections.abc import Callable

from .ports import Clock

__all__ = ("BEAT", "Heartbeat")

BEAT = 5.0
"""Seconds in which one sign of life is passed on: a tool may give one with every line that it reads."""


class Heartbeat:
    """Takes signs of life from any thread and passes them on in the loop it was made in, not too many."""

    def __init__(self, clock: Clock, tell: Callable[[str], None]) -> None:
        """Take the running loop; `tell` is called there, with what the tool says of how far it is."""
        self._loop = asyncio.get_running_loop()
        self._clock = clock
        self._tell = tell
        self._next = clock.monotonic()

    def __call__(self, text: str) -> None:
        """The call goes on. Returns at once; what comes too soon after the last is dropped."""
        now = self._clock.monotonic()
        if now >= self._next and not self._loop.is_closed():
            self._next = now + BEAT
            self._loop.call_soon_threadsafe(self._tell, text)
