"""The fleet's notices in order, numbered from 1 without gaps; the oldest are forgotten."""

from collections import deque
from dataclasses import replace
from itertools import islice

from ...protocols.notices import Notice

__all__ = ("NoticeLog",)

KEPT = 10_000
"""Notices that are remembered."""


class NoticeLog:
    """A log of the last notices.

    Attributes:
        last: Number of the newest notice; 0 before the first.
    """

    def __init__(self, kept: int = KEPT) -> None:
        """Begin an empty log that remembers the last `kept` notices."""
        self._kept = deque[Notice](maxlen=kept)
        self.last = 0

    @property
    def first(self) -> int:
        """Number of the oldest notice remembered; one more than `last` while there is none."""
        return self.last - len(self._kept) + 1

    def append(self, notice: Notice, at: float) -> Notice:
        """Number a notice and keep it. Its time is `at`, in Unix seconds, unless it has one."""
        self.last += 1
        numbered = replace(notice, number=self.last, at=notice.at or at)
        self._kept.append(numbered)
        return numbered

    def read(self, after: int, most: int) -> tuple[Notice, ...]:
        """Up to `most` notices with numbers above `after`, oldest first; below 0, `after` counts from the end.

        What was forgotten shows as a gap: then the first notice has the number `first`, not `after + 1`.
        """
        after = after if after >= 0 else self.last + after
        begin = max(0, after - self.first + 1)
        return tuple(islice(self._kept, begin, begin + max(0, most)))
