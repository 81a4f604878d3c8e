"""From where the pages see one fleet: the gateway's view of it, what its notices come to, and its levers."""

from ..gateway.feed import Feed
from ..gateway.source import FleetSource
from ..gateway.view import View
from ..ports import Clock
from .chronicle import Chronicle

__all__ = ("Seat",)

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
        """Nothing is taken in yet."""
        self.source = source
        self.feed = feed
        self.clock = clock
        self.chronicle = Chronicle()

    @property
    def view(self) -> View:
        """The fleet as it was last read."""
        return self.feed.view

    def catch_up(self) -> None:
        """Take in the notices that have come."""
        while notices := self.view.notices.read(self.chronicle.last, PAGE).notices:
            for notice in notices:
                self.chronicle.add(notice)
