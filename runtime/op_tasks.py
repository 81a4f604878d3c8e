"""The tasks that work on what the core awaits: one for each op, which can be cancelled, and some that are never cut."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any

from .step.phases import Op

__all__ = ("OpTasks",)


class OpTasks:
    """Belongs to one loop. `failed` is told of each bug: an error, or a task that cancelled itself.

    A task that ends without its event would leave the agent waiting for ever, so neither is passed over.
    """

    def __init__(self, failed: Callable[[BaseException], None]) -> None:
        """Begin with none."""
        self._failed = failed
        self._by_op: dict[Op, asyncio.Task[None]] = {}
        self._whole: set[asyncio.Task[None]] = set()

    def start(self, op: Op, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Start what `cancel` may end."""
        task = self._by_op[op] = asyncio.create_task(work)
        task.add_done_callback(partial(self._ended, op))
        return task

    def start_whole(self, work: Coroutine[Any, Any, None]) -> None:
        """Start what must not be cut: a check-in may have reserved tokens, a settlement frees them."""
        task = asyncio.create_task(work)
        self._whole.add(task)
        task.add_done_callback(self._ended_whole)

    def cancel(self, ops: Iterable[Op]) -> None:
        """End what works on these."""
        for op in ops:
            if task := self._by_op.pop(op, None):
                task.cancel()

    def cancel_all(self) -> None:
        """End everything: the agent's life is over."""
        tasks, self._by_op = tuple(self._by_op.values()), {}
        for task in (*tasks, *self._whole):
            task.cancel()

    def _ended(self, op: Op, task: "asyncio.Task[None]") -> None:
        cancelled_here = self._by_op.pop(op, None) is None
        if task.cancelled() and not cancelled_here:
            self._failed(RuntimeError("what was awaited cancelled itself"))
        self._look(task)

    def _ended_whole(self, task: "asyncio.Task[None]") -> None:
        self._whole.discard(task)
        self._look(task)

    def _look(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(error)
