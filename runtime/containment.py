"""Keeps a work loop, and the tasks that wait for an agent's code, alive.

asyncio lets `SystemExit` and `KeyboardInterrupt` out of a task and through the loop, which then ends: every later call
on it waits for ever, while the process answers elsewhere as if it lived. In an agent's process nobody is to be
interrupted so, and whoever raises them there means no more than an error.
"""

import asyncio
from collections.abc import Coroutine, Generator
from contextvars import Context
from typing import Any, TypeVar, cast

__all__ = ("CancelledItself", "TaskLeft", "apart", "contained")

T = TypeVar("T")


class TaskLeft(RuntimeError):
    """What a task raises in the place of the `SystemExit` or `KeyboardInterrupt` that would have ended its loop."""


def contained(
    loop: asyncio.AbstractEventLoop,
    work: Coroutine[Any, Any, T] | Generator[Any, None, T],
    /,
    *,
    context: Context | None = None,
) -> "asyncio.Future[T]":
    """A task factory for `loop.set_task_factory`."""
    return asyncio.Task(contain(cast("Coroutine[Any, Any, T]", work)), loop=loop, context=context)


async def contain(work: Coroutine[Any, Any, T]) -> T:
    """Do the work; an exit it raises becomes an error.

    Raises:
        TaskLeft: The work raised `SystemExit` or `KeyboardInterrupt`.
    """
    try:
        return await work
    except (SystemExit, KeyboardInterrupt) as error:
        raise TaskLeft(f"{type(error).__name__} was raised in a task") from error


class CancelledItself(RuntimeError):
    """What a caller gets in the place of a cancellation that nobody asked for."""

    def __init__(self) -> None:
        """Say it."""
        super().__init__("it cancelled the task that it ran in")


async def apart(work: Coroutine[Any, Any, T]) -> T:
    """Do the work in a task of its own: code that cancels the task it runs in ends that one alone.

    Raises:
        CancelledItself: The work ended as cancelled, and nobody had cancelled the caller.
        TaskLeft: The work raised `SystemExit` or `KeyboardInterrupt`.
    """
    try:
        return await asyncio.create_task(contain(work))
    except asyncio.CancelledError:
        caller = asyncio.current_task()
        if caller is None or caller.cancelling():
            raise
        raise CancelledItself from None
    finally:
        work.close()  # it may never have begun
