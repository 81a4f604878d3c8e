"""Waiting for notices."""

import asyncio
from collections.abc import Awaitable, Callable

from ..protocols.notices import Notice
from .supervision.feed import NoticeFeed

__all__ = ("next_notices",)

MOST = 1000
"""Notices handed over at once."""


async def at_once() -> None:
    """Nothing is waited for."""


async def next_notices(
    feed: NoticeFeed, after: int, wait: float, written: Callable[[], Awaitable[None]] = at_once
) -> tuple[Notice, ...]:
    """Notices numbered above `after`, oldest first; waits up to `wait` seconds while there are none.

    Args:
        feed: Where they are.
        after: Below 0, it counts from the end: -1 gives the newest.
        wait: Seconds; what `written` takes comes on top.
        written: Waits until what the feed has now is in the journal, and raises what its owner does. Where whoever
            reads outlives the feed's process, nothing is handed over before that: the process that follows gives the
            number of a notice that nobody has written down to another one. The reader would miss that one, and get the
            first one twice, since whoever told it tells it again.
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
    if found:
        await written()
    return found
