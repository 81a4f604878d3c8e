"""The notice log for many threads: one writes, others read and are woken."""

from collections.abc import Callable
from threading import Lock

from ...protocols.notices import Notice
from ..ports import Wake
from .notice_log import SILENCE, NoticeLog, NoticeLogState

__all__ = ("NoticeFeed",)


class NoticeFeed:
    """A `NoticeLog` that any thread may use, and that wakes those who wait for news."""

    def __init__(self, now: Callable[[], float], state: NoticeLogState = SILENCE) -> None:
        """Begin an empty feed, or go on with another one's notices, for which nobody is woken.

        Args:
            now: Gives Unix seconds.
            state: What that other one's notices were.
        """
        self._now = now
        self._lock = Lock()
        self._log = NoticeLog(state=state)
        self._wakes: dict[object, Wake] = {}
        self._told = self._log.last

    def append(self, *notices: Notice) -> None:
        """Number and keep notices, in this order. Nobody is woken before `wake_all`."""
        with self._lock:
            for notice in notices:
                self._log.append(notice, self._now())

    def read(self, after: int, most: int) -> tuple[Notice, ...]:
        """Up to `most` notices with numbers above `after`, oldest first; below 0, `after` counts from the end.

        A first number above `after + 1` means that those between are forgotten.
        """
        with self._lock:
            return self._log.read(after, most)

    def subscribe(self, wake: Wake) -> Callable[[], None]:
        """Have `wake` called, from any thread, when there are new notices.

        Args:
            wake: Must return at once and raise nothing. One last call may come while it is being unsubscribed.

        Returns:
            Ends the subscription; calling it again does nothing.
        """
        key = object()
        with self._lock:
            self._wakes[key] = wake

        def unsubscribe() -> None:
            with self._lock:
                self._wakes.pop(key, None)

        return unsubscribe

    def wake_all(self) -> None:
        """Call every subscriber if something was appended since the last time; no lock is held meanwhile."""
        with self._lock:
            news = self._log.last > self._told
            self._told = self._log.last
            wakes = tuple(self._wakes.values()) if news else ()
        for wake in wakes:
            wake()

    def state(self) -> NoticeLogState:
        """All notices that are remembered now. Who subscribes is no part of it."""
        with self._lock:
            return self._log.state()
