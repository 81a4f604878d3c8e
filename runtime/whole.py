"""Work that is done to its end, whatever becomes of those who wait for it."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ("GivenUp", "WholeWork")

T = TypeVar("T")


class GivenUp(RuntimeError):
    """What whoever waits gets when the work was given up."""


class WholeWork:
    """Does work in tasks of its own. Its loop is the one that `run` is called in."""

    def __init__(self) -> None:
        """Begin with nothing to do."""
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it, and wait for it; who is cancelled waits no longer, and that is all.

        Raises:
            GivenUp: It was given up meanwhile.
        """
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if task.cancelled() and not (caller and caller.cancelling()):
                raise GivenUp("nobody does this any more") from None
            raise

    def give_up(self) -> None:
        """Let all of it end where it is; from any thread."""
        for task in tuple(self._tasks):
            loop = task.get_loop()
            if not loop.is_closed():
                loop.call_soon_threadsafe(task.cancel)

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # perhaps nobody waits for it any more
