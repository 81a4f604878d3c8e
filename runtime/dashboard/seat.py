"""From where the pages see one fleet: the gateway's view of it, what its notices come to, and its levers."""

import logging

from ...protocols.errors import FleetError
from ..gateway.feed import Feed
from ..gateway.source import FleetSource
from ..gateway.view import View
from ..ports import Clock
from ..standing_work import StandingWork
from .chronicle import Chronicle

__all__ = ("Seat",)

log = logging.getLogger(__name__)

ASKED = 5
"""Times that the agents are asked at most, where calls are answered in that very moment."""

PAGE = 500
"""Notices that are taken in at once."""


class Seat:
    """One for each gateway; all open pages of it share it.

    Attributes:
        source: The fleet's levers.
        feed: Who reads the fleet for all.
        clock: Time.
        chronicle: What the notices come to.
    """

    def __init__(self, source: FleetSource, feed: Feed, clock: Clock) -> None:
        """Nothing is taken in yet; `open` begins that."""
        self.source = source
        self.feed = feed
        self.clock = clock
        self.chronicle = Chronicle()
        self._gaps = 0
        self._following: StandingWork | None = None

    def open(self) -> None:
        """Take in what the fleet tells from now on, whether a page is open or not. It belongs to the running loop."""
        self._following = StandingWork(self._follow(), "the pages take in no notices any more")

    async def aclose(self) -> None:
        """Take in no more."""
        if self._following is not None:
            await self._following.aclose()

    @property
    def view(self) -> View:
        """The fleet as it was last read."""
        return self.feed.view

    def catch_up(self) -> None:
        """Take in the notices that have come."""
        while (page := self.view.notices.read(self.chronicle.last, PAGE)).notices:
            self._gaps += page.gap is not None
            for notice in page.notices:
                self.chronicle.add(notice)

    async def _follow(self) -> None:
        known = 0
        while not self.feed.over:
            news = self.feed.news  # before it is read: what comes later sets it
            self.catch_up()
            if known != self._gaps:
                known = self._gaps
                await self._ask_who_waits()
            await news.wait()
        self.catch_up()

    async def _ask_who_waits(self) -> None:
        """Notices are missing: which calls wait for a person, the agents know."""
        chronicle = self.chronicle
        try:
            for further in reversed(range(ASKED)):
                answered, last = chronicle.answered, chronicle.last
                pending = await self.source.approvals()
                self.catch_up()
                if not further or chronicle.answered == answered:
                    chronicle.wait_for(pending, last)
                    return
        except FleetError as error:
            log.warning("calls that wait for a person may be missing on the pages: %s", error)
