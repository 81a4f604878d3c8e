"""From where the pages see a fleet: what its notices come to is known whether a page is open or not."""

import asyncio

import pytest

from amrita_fleet.protocols.approval import Approval
from amrita_fleet.protocols.ids import RunId
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.runtime.clock import SystemClock
from amrita_fleet.runtime.dashboard.seat import Seat
from amrita_fleet.runtime.gateway.feed import Feed

from ..gateway.speaker import ANA, Speaker

pytestmark = pytest.mark.anyio


class Asking(Speaker):
    """Ana tells what a test says, and a call of hers waits for a person."""

    def __init__(self) -> None:
        super().__init__()
        self.news: tuple[Notice, ...] = ()
        self.pending: tuple[Approval, ...] = ()

    async def notices(self, after: int, wait: float) -> tuple[Notice, ...]:
        found = tuple(each for each in self.news if each.number > max(after, 1))
        return found or await super().notices(after, min(wait, 0.05))

    async def approvals(self) -> tuple[Approval, ...]:
        return self.pending


async def until(feed: Feed, seat: Seat, number: int) -> None:
    """Wait until the seat has taken in a notice."""
    async with asyncio.timeout(30):
        while True:
            news = feed.news
            if seat.chronicle.last >= number:
                return
            await news.wait()
            await asyncio.sleep(0)


async def test_notices_are_taken_in_while_nobody_looks_and_missing_ones_are_asked_for() -> None:
    source = Asking()
    feed = Feed(source, SystemClock())
    await feed.open()
    seat = Seat(source, feed, SystemClock())
    seat.open()
    source.news = (Notice(NoticeType.STEP, "stall", ANA, "goes in circles", number=2, at=2.0),)
    await until(feed, seat, 2)
    assert [each.extra_type for each in seat.chronicle.alerts] == ["stall"]
    assert seat.chronicle.waiting == {}

    call = Approval("ana.1.1.5", ANA, RunId("ana.1.1"), 1, "delete", '{"path":"old.txt"}', "it asks", 3.0)
    source.pending = (call,)
    source.news = (*source.news, Notice(NoticeType.AGENT, "ready", ANA, "ready", number=5, at=5.0))
    await until(feed, seat, 5)
    async with asyncio.timeout(30):
        while True:
            if seat.chronicle.waiting:
                break
            await asyncio.sleep(0)
    assert seat.chronicle.waiting[call.id].data["arguments"] == call.arguments
    await seat.aclose()
    await feed.aclose()
