"""Waiting for notices."""

import asyncio

from ..protocols.notices import Notice
from .supervision.feed import NoticeFeed

__all__ = ("next_notices",)

MOST = 1000
"""Notices handed over at once."""


async def next_notices(feed: NoticeFeed, after: int, wait: float) -> tuple[Notice, ...]:
    """Notices numbered above `after`, oldest first; waits up to `wait` seconds while there are none.

    Below 0, `after` counts from the end: -1 gives the newest.
    """
    loop, news = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        loop.call_soon_threadsafe(news.set)

    unsubscribe = feed.subscribe(wake)
    try:
        found = feed.read(after, MOST)
        if not found and wait > 0:
            async with asyncio.timeout(wait):
                await news.wait()
            found = feed.read(after, MOST)
    except TimeoutError:
        return ()
    finally:
        unsubscribe()
    return found
