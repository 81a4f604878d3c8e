"""How much of a tool's result is written out: the time that takes must not depend on how large a result is."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from ..step.sizes import shortened, size_of

__all__ = ("Room", "TooLarge")

T = TypeVar("T")

TIMES = 8
"""Bytes that are written for each that is shown, so that what is cut away is mostly known by its size."""

ELEMENT = 8
"""Bytes that count for each value beside its text."""

SMALL = 32 * 1024
"""Bytes that are written in a few milliseconds."""


class TooLarge(Exception):
    """A result is too large to be written while others wait."""


class Room:
    """What may still be written of one result.

    Attributes:
        limit: Bytes of it that are shown.
        cut: Something was left out.
    """

    def __init__(self, limit: int, *, brief: bool = False) -> None:
        """All is free.

        Args:
            limit: Bytes that are shown.
            brief: Others wait: what takes more than a few milliseconds is refused, not left out.
        """
        self.limit = limit
        self.cut = False
        self._brief = brief
        self._left = min(SMALL, limit * TIMES) if brief else limit * TIMES

    def text(self, text: str) -> str:
        """A value's text; one that takes all the room by itself is shortened.

        Raises:
            TooLarge: Others wait.
        """
        if len(text) > self._left:
            self.slow()
            text = shortened(text, self.limit // 2)
        self.take(size_of(text))
        return text

    def take(self, size: int) -> None:
        """Use up some bytes."""
        self._left -= size

    def each(self, values: Iterable[T]) -> Iterator[T]:
        """Of some values those for which there is room.

        Raises:
            TooLarge: Others wait, and there is none for all.
        """
        for value in values:
            if self._left <= 0:
                self.slow()
                self.cut = True
                return
            self.take(ELEMENT)
            yield value

    def slow(self) -> None:
        """Something follows that may take longer.

        Raises:
            TooLarge: Others wait.
        """
        if self._brief:
            raise TooLarge
