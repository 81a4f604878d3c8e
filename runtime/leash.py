"""Has the code of an agent's user run for a time, and no longer, whatever that code makes of being cancelled."""

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeAlias, TypeVar

from .containment import CancelledItself

__all__ = ("GRACE", "End", "Gave", "Late", "Leash", "Raised")

T = TypeVar("T")

GRACE = 5.0
"""Seconds in which cancelled work may put things in order."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Gave(Generic[T]):
    """The work has ended, with this."""

    value: T


@dataclass(frozen=True, slots=True)
class Raised:
    """The work has ended, with this error. It is the work's own, even one whose class could mean the caller's end."""

    error: BaseException


class Late(StrEnum):
    """The work took too long. What became of it, for a sentence."""

    STOPPED = "was stopped"
    BROKEN = "was broken off, since it ignored its cancellation"
    LEFT = "was left behind: it may still be running"


End: TypeAlias = Gave[T] | Raised | Late


class Leash(Generic[T]):
    """Work in a task of its own.

    Cancelled work that goes on is closed where it stands. What then still keeps its task, a task of the work's own
    that goes on too, is left behind.
    """

    def __init__(self, work: Coroutine[Any, Any, T], name: str, grace: float = GRACE) -> None:
        """Begin.

        Args:
            work: What is awaited nowhere else.
            name: What the log calls it when it ignores its cancellation.
            grace: Seconds from when it is cancelled to when it is closed.
        """
        self._work = work
        self._name = name
        self._grace = grace
        self._cut = False
        self._task = asyncio.create_task(ended(work))

    async def within(self, seconds: float | None) -> End[T]:
        """Wait for the end. Only the caller's own cancellation, which ends the work too, comes out as an exception.

        Args:
            seconds: How long the work may take; None: as long as it likes.
        """
        try:
            await asyncio.wait({self._task}, timeout=seconds)
            return self._end() if self._task.done() else await self._stop()
        except asyncio.CancelledError:
            await self._stop()
            raise
        finally:
            self._close()  # it may never have begun

    def _end(self) -> End[T]:
        if self._task.cancelled():  # before its first step
            return Raised(asyncio.CancelledError())
        end = self._task.result()
        if isinstance(end, Raised) and isinstance(end.error, asyncio.CancelledError):
            if self._cut:
                return Late.STOPPED
            if self._task.cancelling():
                return Raised(CancelledItself())
        return end

    async def _stop(self) -> End[T]:
        """Have it end; who is cancelled meanwhile has it end at once."""
        self._cut = True
        self._task.cancel()
        try:
            await asyncio.wait({self._task}, timeout=self._grace)
            if self._task.done():
                return self._end()
        finally:
            if not self._task.done():
                self._break_off()
        await asyncio.wait({self._task}, timeout=self._grace)
        if self._task.done():
            return Late.BROKEN
        log.warning("%s left a task behind, which may still be running.", self._name)
        return Late.LEFT

    def _break_off(self) -> None:
        log.warning("%s ignored its cancellation and was broken off.", self._name)
        self._close()
        self._task.cancel()

    def _close(self) -> None:
        try:
            self._work.close()
        except BaseException as error:
            log.warning("%s failed when it was broken off.", self._name, exc_info=error)


async def ended(work: Coroutine[Any, Any, T]) -> Gave[T] | Raised:
    """Do the work, and say how it ended."""
    try:
        return Gave(await work)
    except BaseException as error:  # noqa: BLE001  an exit must not leave the task: it would end the loop
        return Raised(error)
