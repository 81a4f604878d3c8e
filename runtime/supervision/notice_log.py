"""The fleet's notices in order, numbered from 1 without gaps; the oldest are forgotten."""

from collections import deque
from dataclasses import dataclass, replace
from itertools import islice

from ...protocols.notices import Notice

__all__ = ("NoticeLog", "NoticeLogState")

KEPT = 10_000
"""Notices that are remembered, if they have no more than `CHARACTERS_KEPT`."""

CHARACTERS_KEPT = 8 * 2**20
"""Characters of text and facts that are remembered: most notices have a hundred, that of a run's end its whole text."""


@dataclass(frozen=True, slots=True)
class NoticeLogState:
    """A log at one moment.

    Attributes:
        last: Number of the newest notice.
        kept: Those that are remembered, oldest first.
    """

    last: int = 0
    kept: tuple[Notice, ...] = ()


SILENCE = NoticeLogState()


class NoticeLog:
    """A log of the last notices.

    Attributes:
        last: Number of the newest notice; 0 before the first.
    """

    def __init__(self, kept: int = KEPT, characters: int = CHARACTERS_KEPT, state: NoticeLogState = SILENCE) -> None:
        """Begin an empty log, or go on with another one.

        Args:
            kept: Notices that are remembered.
            characters: What these may have together; of more, the oldest are forgotten.
            state: What that other one was. Of its notices, as many of the newest are taken as are remembered here.
        """
        self._most = kept
        self._most_characters = characters
        self._kept = deque[Notice]()
        self._characters = 0
        self.last = state.last
        for notice in state.kept:
            self._keep(notice)

    @property
    def first(self) -> int:
        """Number of the oldest notice remembered; one more than `last` while there is none."""
        return self.last - len(self._kept) + 1

    def append(self, notice: Notice, at: float) -> Notice:
        """Number a notice and keep it. Its time is `at`, in Unix seconds, unless it has one."""
        self.last += 1
        numbered = replace(notice, number=self.last, at=notice.at or at, recorded=0)
        self._keep(numbered)
        return numbered

    def read(self, after: int, most: int) -> tuple[Notice, ...]:
        """Up to `most` notices with numbers above `after`, oldest first; below 0, `after` counts from the end.

        What was forgotten shows as a gap: then the first notice has the number `first`, not `after + 1`.
        """
        after = after if after >= 0 else self.last + after
        begin = max(0, after - self.first + 1)
        return tuple(islice(self._kept, begin, begin + max(0, most)))

    def state(self) -> NoticeLogState:
        """The whole log as it is now."""
        return NoticeLogState(self.last, tuple(self._kept))

    def _keep(self, notice: Notice) -> None:
        """Remember a notice, and forget the oldest that are too many or too long; the newest one always stays."""
        self._kept.append(notice)
        self._characters += characters(notice)
        while len(self._kept) > self._most or (self._characters > self._most_characters and len(self._kept) > 1):
            self._characters -= characters(self._kept.popleft())


def characters(notice: Notice) -> int:
    """Roughly how many a notice has; the same for equal notices."""
    return len(notice.text) + len(str(notice.data))
