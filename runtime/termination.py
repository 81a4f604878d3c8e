"""SIGTERM, as asyncio has SIGINT: it cancels a task, so that what the task has open is left in good order."""

import asyncio
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from types import FrameType
from typing import NoReturn, TypeAlias

__all__ = ("TERMINATED", "Termination", "end_by_signal", "termination")

MOST = 2
"""Signals that only cancel."""

TERMINATED = 128 + signal.SIGTERM
"""The exit status that a shell gives a process which SIGTERM ended."""


Handler: TypeAlias = "Callable[[int, FrameType | None], object] | int | None"


def nothing() -> None:
    """What nobody wants to be told."""


class Termination:
    """What SIGTERM does while tasks of the main thread want to be cancelled by it.

    A second one cancels them again, which gives up what they still wait for; a third one ends the process where it is.
    It takes the signal only while the program has not: a handler of its own is left alone.
    """

    def __init__(self, after: Callable[[], object] = nothing, heard: Callable[[], object] = nothing) -> None:
        """Nobody watches for it.

        Args:
            after: Called in the event loop when all that it cancelled is over.
            heard: Called there when it came, for each task that it cancels.
        """
        self._times = 0
        self._after = after
        self._heard = heard
        self._before: Handler = signal.SIG_DFL
        self._watching: list[asyncio.Task[object]] = []
        self._cancelled: set[asyncio.Task[object]] = set()

    def watch(self) -> "asyncio.Task[object] | None":
        """Have SIGTERM cancel the current task; gives what `release` takes, None where that cannot be."""
        task = asyncio.current_task()
        if task is None or threading.current_thread() is not threading.main_thread():
            return None
        handler = signal.getsignal(signal.SIGTERM)
        if is_nobodys(handler):
            self._before = signal.signal(signal.SIGTERM, self._signalled)
        elif handler != self._signalled:
            return None
        self._watching.append(task)
        return task

    def release(self, task: "asyncio.Task[object] | None") -> None:
        """Cancel the task no more; from its loop. With the last one, the signal is handled as it was before."""
        if task in self._watching:
            self._watching.remove(task)
            if not self._watching and signal.getsignal(signal.SIGTERM) == self._signalled:
                signal.signal(signal.SIGTERM, self._before)

    @staticmethod
    def renew() -> None:
        """Put Python's handler, whosever it is, in its place again, after something was loaded that has one in C.

        Ray 2.60's, for one, prints a stack trace, lets Python have the signal too, and aborts the process three seconds
        later, whatever that does.
        """
        handler = signal.getsignal(signal.SIGTERM)
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)

    @property
    def received(self) -> bool:
        """The signal came."""
        return self._times > 0

    def _signalled(self, _number: int, _frame: FrameType | None) -> None:
        """Python calls this in the main thread, wherever that is."""
        tasks = {task for task in (*self._watching, *self._cancelled) if not task.done()}
        self._times += 1
        if self._times > MOST or not tasks:  # whoever opened something is gone
            end_by_signal()
        for task in tasks:
            if task not in self._cancelled:
                self._cancelled.add(task)
                task.add_done_callback(self._over)
            task.cancel()
            task.get_loop().call_soon_threadsafe(self._heard if self._times == 1 else nothing)  # wakes it as well

    def _over(self, task: "asyncio.Task[object]") -> None:
        self._cancelled.discard(task)
        if not self._cancelled:
            self._after()


def is_nobodys(handler: object) -> bool:
    """Whether the program leaves the signal alone. Ray 2.60's own handler, which exits with status 15, is no wish."""
    return handler == signal.SIG_DFL or str(getattr(handler, "__module__", "")).startswith("ray.")


def end_by_signal() -> NoReturn:
    """End this process as SIGTERM does where nobody handles it, so that whoever waits for it sees that.

    Raises:
        SystemExit: The signal cannot end this process: to the first one of a container, Linux does not send it so.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(
            OSError, ValueError, RuntimeError
        ):  # closed, or interrupted by the signal in the midst of a write
            stream.flush()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.raise_signal(signal.SIGTERM)
    raise SystemExit(TERMINATED)


@cache
def termination() -> Termination:
    """The one of this process's fleets: a signal's handler is the whole process's."""
    return Termination(end_by_signal)
