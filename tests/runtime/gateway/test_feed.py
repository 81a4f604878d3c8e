"""Who reads the fleet for all says so when it does not answer, and when it does again."""

import asyncio

import pytest

from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.runtime.clock import SystemClock
from amrita_fleet.runtime.errors import PeerUnreachable
from amrita_fleet.runtime.gateway.feed import Feed
from amrita_fleet.runtime.gateway.recorded import RecordedSource
from amrita_fleet.runtime.gateway.recording import Recording

pytestmark = pytest.mark.anyio


class Shaky(RecordedSource):
    """A source that does not answer for a while."""

    away = False

    async def rows(self) -> tuple[AgentStatus, ...]:
        if self.away:
            raise PeerUnreachable(agent="supervisor", reason="it is replaced")
        return await super().rows()


async def test_a_fleet_that_does_not_answer_is_in_trouble_until_it_does_again() -> None:
    source = Shaky(Recording("house", ()), SystemClock())
    feed = Feed(source, SystemClock())
    await feed.open()
    with feed.watching():
        async with asyncio.timeout(30):
            source.away = True
            while not feed.trouble:
                await feed.news.wait()
            assert "it is replaced" in feed.trouble
            source.away = False
            while feed.trouble:
                await feed.news.wait()
    await feed.aclose()


class Buggy(RecordedSource):
    """A source with a bug that comes up after a while."""

    broken = False

    async def rows(self) -> tuple[AgentStatus, ...]:
        if self.broken:
            raise KeyError("a bug")
        return await super().rows()


async def test_a_bug_in_reading_ends_what_is_watched_with_a_word_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = Buggy(Recording("house", ()), SystemClock())
    feed = Feed(source, SystemClock())
    await feed.open()
    with feed.watching():
        async with asyncio.timeout(30):
            source.broken = True
            while not feed.over:
                await feed.news.wait()
    assert feed.over == "the gateway can read the fleet no longer, for a bug of which its log says more"
    await asyncio.sleep(0)
    assert "nobody reads the fleet for the gateway any more" in caplog.text
    assert "KeyError" in caplog.text
    await feed.aclose()
