"""Watching a fleet until its runs are over."""

import asyncio
from collections.abc import Sequence

from ..fleet import Fleet
from ..run import Run
from .screen import Screen
from .tally import Tally

__all__ = ("GRACE", "follow")

GRACE = 10.0
"""Seconds that other agents have to end what they are doing, once the runs that count are over."""


async def follow(fleet: Fleet, runs: Sequence[Run], tally: Tally, screen: Screen) -> None:
    """Take in and show every notice until the runs are over and all is quiet, or the grace is over."""
    deadline = asyncio.timeout(None)
    try:
        async with deadline:
            await watch(fleet, runs, tally, screen, deadline)
    except TimeoutError:
        if not deadline.expired():
            raise
    screen.rows(await fleet.statuses(), tally)


async def watch(fleet: Fleet, runs: Sequence[Run], tally: Tally, screen: Screen, deadline: asyncio.Timeout) -> None:
    """Follow the notices; set the deadline once the runs that count are over and others still work."""
    async for notice in fleet.notices():
        tally.add(notice)
        screen.tell(notice)
        if screen.wants_rows():
            screen.rows(await fleet.statuses(), tally)
        if all(tally.over(run.id, run.agent) for run in runs):
            if tally.quiet:
                return
            if deadline.when() is None:
                deadline.reschedule(asyncio.get_running_loop().time() + GRACE)
