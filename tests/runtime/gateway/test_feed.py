"""Who reads the fleet for all says so when it does not answer, and when it does again."""

import asyncio

import pytest

from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.runtime.clock import SystemClock
from amrita_fleet.runtime.errors import PeerUnreachable
from amrita_fleet.runtime.gateway.events import Encoder, stream
from amrita_fleet.runtime.gateway.feed import Feed
from amrita_fleet.runtime.gateway.recorded import RecordedSource
from amrita_fleet.runtime.gateway.recording import Recording

pytestmark = pytest.mark.anyio


class Shaky(RecordedSource):
    """A source that does not answer for a while, because of `failure`."""

    failure: Exception | None = None

    async def rows(self) -> tuple[AgentStatus, ...]:
        if self.failure is not None:
            raise self.failure
        return await super().rows()


async def test_a_fleet_that_does_not_answer_is_in_trouble_until_it_does_again() -> None:
    source = Shaky(Recording("house", ()), SystemClock())
    feed = Feed(source, SystemClock())
    await feed.open()
    with feed.watching():
        async with asyncio.timeout(30):
            source.failure = PeerUnreachable(agent="supervisor", reason="it is replaced")
            while not feed.trouble:
                await feed.news.wait()
            assert "it is replaced" in feed.trouble
            source.failure = None
            while feed.trouble:
                await feed.news.wait()
    await feed.aclose()


async def test_a_bug_in_reading_is_logged_and_told_to_those_who_watch_and_it_is_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = SystemClock()
    source = Shaky(Recording("house", ()), clock)
    feed = Feed(source, clock)
    await feed.open()
    async with asyncio.timeout(30):
        with feed.watching():
            watched = stream(feed, Encoder(), 0, clock)
            source.failure = ZeroDivisionError("no such luck")
            while 'event: trouble\ndata: {"reason":"this is a bug' not in await anext(watched):
                pass
            assert "no such luck" in caplog.text
            source.failure = None
            while 'event: trouble\ndata: {"reason":""}' not in await anext(watched):
                pass
            await watched.aclose()
    await feed.aclose()
