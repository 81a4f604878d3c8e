"""What an agent's model says at the moment, for those who listen. Nothing of it is kept once the next reply begins."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from ..protocols.ids import Incarnation
from ..protocols.insight import NOTHING, Heard, Spoken
from ..protocols.providers.base import Delta, Watcher
from .first_of import first_of
from .ports import Clock

__all__ = ("GATHER", "Speech")

GATHER = 0.03
"""Seconds in which pieces gather before they are handed on together."""


class Speech:
    """Takes the pieces of each reply that is streamed. It belongs to the work loop.

    Nobody is sent anything: who listens says how far it has heard, and is given the rest. So it costs nothing but the
    pieces of one reply while nobody does.
    """

    def __init__(self, incarnation: Incarnation, clock: Clock) -> None:
        """Nothing is said yet. Replies of one life are told apart from those of another."""
        self._life = incarnation
        self._clock = clock
        self._count = 0
        self._pieces: list[Delta] = []
        self._over = True
        self._news = asyncio.Event()

    @contextmanager
    def reply(self) -> Generator[Watcher]:
        """A reply begins; gives what takes its pieces. Afterwards it is over, whatever came of it."""
        self._count += 1
        self._pieces, self._over = [], False
        self._wake()
        try:
            yield self._take
        finally:
            self._over = True
            self._wake()

    async def listen(self, heard: Heard, wait: float) -> Spoken:
        """What was said beyond that, as soon as there is something; after `wait` seconds without it, nothing.

        Replies that were over before somebody asked again are passed over.
        """
        if self._heard == heard:
            await first_of(self._news.wait(), self._clock.sleep(wait))
        if self._heard != heard and not self._over:
            await self._clock.sleep(GATHER)
        return self._beyond(heard)

    @property
    def _heard(self) -> Heard:
        """How far one has heard who has heard all."""
        return Heard(f"{self._life}.{self._count}", len(self._pieces), self._over) if self._count else NOTHING

    def _beyond(self, heard: Heard) -> Spoken:
        now = self._heard
        begins = now.reply != heard.reply
        rest = self._pieces[0 if begins else heard.pieces :]
        return Spoken(
            now,
            begins=begins,
            text="".join(piece.text for piece in rest if not piece.reasoning),
            reasoning="".join(piece.text for piece in rest if piece.reasoning),
        )

    def _take(self, piece: Delta) -> None:
        self._pieces.append(piece)
        self._wake()

    def _wake(self) -> None:
        told, self._news = self._news, asyncio.Event()
        told.set()
