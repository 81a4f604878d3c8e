"""The two clocks: the real one, and one whose time passes only when it is told to."""

import asyncio
import heapq
import itertools
import time
from typing import NamedTuple

__all__ = ("SystemClock", "VirtualClock")

TURNS = 50
"""Turns of the event loop that `VirtualClock` gives to what it woke."""


class SystemClock:
    """The machine's time."""

    def now(self) -> float:
        """Unix seconds, for what people read."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never go back, for deadlines."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


class Sleeper(NamedTuple):
    """One who sleeps; of those with the same `due`, who came first wakes first."""

    due: float
    turn: int
    woken: asyncio.Future[None]


class VirtualClock:
    """Time that stands still until `advance`, for tests that wait for minutes in no time.

    It belongs to one event loop.
    """

    def __init__(self, now: float = 0.0) -> None:
        """Begin at `now` Unix seconds; `monotonic` begins at 0."""
        self._start = now
        self._elapsed = 0.0
        self._turns = itertools.count()
        self._sleepers: list[Sleeper] = []

    def now(self) -> float:
        """Unix seconds, as far as this clock was advanced."""
        return self._start + self._elapsed

    def monotonic(self) -> float:
        """Seconds this clock was advanced."""
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock was advanced by as much; no time at all: only let others run."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, Sleeper(self._elapsed + seconds, next(self._turns), woken))
        await woken

    async def advance(self, seconds: float) -> None:
        """Let time pass.

        Whoever's sleep ends meanwhile wakes at its own moment, the earliest first, and runs until it waits for
        something before the next one wakes. Sleeps that begin meanwhile count as well.

        Raises:
            ValueError: Time would go back.
        """
        if seconds < 0:
            raise ValueError("Time does not go back.")
        end = self._elapsed + seconds
        await settle()
        while self._sleepers and self._sleepers[0].due <= end:
            sleeper = heapq.heappop(self._sleepers)
            if not sleeper.woken.done():  # else it was cancelled
                self._elapsed = sleeper.due
                sleeper.woken.set_result(None)
                await settle()
        self._elapsed = end


async def settle() -> None:
    """Let every task run until it waits for something.

    Where the event loop does not tell when that is, this is a number of turns that the longest chain of tasks waking
    each other stays far below.
    """
    ready = getattr(asyncio.get_running_loop(), "_ready", (None,))
    for _ in range(TURNS):
        await asyncio.sleep(0)
        if not ready:
            return
