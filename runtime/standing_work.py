"""Work that goes on beside everything else, for as long as whoever began it is there."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

__all__ = ("StandingWork",)

log = logging.getLogger(__name__)


class StandingWork:
    """A task that ends when it is closed. Nobody waits for it: where a bug ends it before, the log says so."""

    def __init__(self, work: Coroutine[Any, Any, None], lost: str) -> None:
        """Begin, in the running loop.

        Args:
            work: What is done.
            lost: What the log says when it ends by an error: what nobody does any more.
        """
        self._lost = lost
        self._task = asyncio.create_task(work)
        self._task.add_done_callback(self._ended)

    async def aclose(self) -> None:
        """End it. Safe to call twice."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error(self._lost, exc_info=error)
