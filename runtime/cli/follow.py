"""Watching a fleet until its runs are over."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from ...protocols.ids import AgentId, RunId
from ..fleet import Fleet
from .screen import Screen
from .tally import Tally

__all__ = ("GRACE", "Followed", "follow")

GRACE = 10.0
"""Seconds that other agents have to end what they are doing, once the runs that count are over."""


class Followed(Protocol):
    """A run, as `Run` names one."""

    @property
    def id(self) -> RunId:
        """Which."""
        ...

    @property
    def agent(self) -> AgentId:
        """Whose."""
        ...


async def follow(fleet: Fleet, runs: Sequence[Followed], tally: Tally, screen: Screen, after: int = 0) -> None:
    """Take in and show every notice until the runs are over and all is quiet, or the grace is over.

    Args:
        fleet: Who is watched.
        runs: Those that count.
        tally: Takes the notices in.
        screen: Shows them.
        after: The number of the last notice that the tally has taken in already.
    """
    deadline = asyncio.timeout(None)
    try:
        async with deadline:
            if not settled(runs, tally, deadline):
                await watch(fleet, runs, tally, screen, deadline, after)
    except TimeoutError:
        if not deadline.expired():
            raise
    screen.rows(await fleet.statuses(), tally)


async def watch(
    fleet: Fleet, runs: Sequence[Followed], tally: Tally, screen: Screen, deadline: asyncio.Timeout, after: int
) -> None:
    """Follow the notices until all is settled."""
    async for notice in fleet.notices(after):
        tally.add(notice)
        screen.tell(notice)
        if screen.wants_rows():
            screen.rows(await fleet.statuses(), tally)
        if settled(runs, tally, deadline):
            return


def settled(runs: Sequence[Followed], tally: Tally, deadline: asyncio.Timeout) -> bool:
    """Whether there is nothing to wait for; sets the deadline once the runs that count are over and others work."""
    if not all(tally.over(run.id, run.agent) for run in runs):
        return False
    if not tally.quiet and deadline.when() is None:
        deadline.reschedule(asyncio.get_running_loop().time() + GRACE)
    return tally.quiet
