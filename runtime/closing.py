"""How a fleet is closed: its agents drain first, then all of it ends, whoever asks for that and however often."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

__all__ = ("DRAIN_GRACE", "Closing", "patiently")

log = logging.getLogger(__name__)

DRAIN_GRACE = 10.0
"""Seconds that agents have to reach their next boundary: a model call and its tools, and no more than service managers
and clusters wait before they kill."""

Work: TypeAlias = Coroutine[Any, Any, None]


class Closing:
    """Closes one fleet, once. Whoever asks waits until it is done, each with a grace of his own.

    Who is cancelled lets the agents drain all the same, the first time; the one that made him leave the fleet counts. A
    second time he gives that up. What then ends takes a few seconds at most, and is done to its end in any case: else
    something would be left behind.
    """

    def __init__(self, drain: Callable[[float], Work], end: Callable[[], Work]) -> None:
        """Nothing is closed yet.

        Args:
            drain: Has the agents drain, within so many seconds.
            end: Ends everything.
        """
        self._drain = drain
        self._end = end
        self._draining: set[asyncio.Task[None]] = set()
        self._ending: asyncio.Task[None] | None = None

    async def run(self, grace: float, *, cancelled: bool = False) -> None:
        """Drain, then end everything; nothing happens once that is done.

        Args:
            grace: Seconds for the drain; 0: all ends at once, also where somebody else would wait longer.
            cancelled: Who asks was cancelled before.

        Raises:
            CancelledError: Who asks was cancelled meanwhile.
        """
        if self._ending is not None and self._ending.done():
            return
        cuts = int(cancelled)
        if grace > 0 and self._ending is None:
            draining = asyncio.create_task(self._drain(grace))
            self._draining.add(draining)
            cuts = await patiently(draining, cuts)
        for other in self._draining:
            other.cancel()
        if self._ending is None:
            self._ending = asyncio.create_task(self._end())
        for each in (*self._draining, self._ending):
            cuts = await patiently(each, cuts, most=None)
        failures = [error for each in (*self._draining, self._ending) if (error := error_of(each)) is not None]
        for error in failures:
            log.error("a fleet was not closed in good order", exc_info=error)
        if cuts > cancelled:
            raise asyncio.CancelledError
        for error in failures:
            raise error


async def patiently(task: "asyncio.Task[None]", cuts: int, most: int | None = 1) -> int:
    """Wait until a task is over. Who waits may be cancelled `most` times in all until the task is; None: any number.

    Returns:
        How often who waits was cancelled in all, `cuts` being how often he was before.
    """
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cuts += 1
            if most is not None and cuts > most:
                task.cancel()
    return cuts


def error_of(task: "asyncio.Task[None]") -> BaseException | None:
    """What a task that is over failed with."""
    return None if task.cancelled() else task.exception()
