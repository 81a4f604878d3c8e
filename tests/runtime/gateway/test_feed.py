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
