"""What a fleet has told so far: its notices, from the oldest that is kept up to now."""

from collections.abc import Iterable

from ...protocols.notices import Notice
from ..helm import Helm

__all__ = ("newest", "past")


async def past(fleet: Helm, agents: Iterable[str] = (), after: int = 0) -> tuple[Notice, ...]:
    """The notices so far.

    Args:
        fleet: Whose.
        agents: Only those of these agents; empty: of all.
        after: Only those numbered above this; below 0, it counts from the end.
    """
    wanted, found = frozenset(agents), list[Notice]()
    last = await newest(fleet)
    if after >= last:
        return ()
    async for notice in fleet.notices(after):
        if not wanted or notice.agent in wanted:
            found.append(notice)
        if notice.number >= last:
            break
    return tuple(found)


async def newest(fleet: Helm) -> int:
    """The number of the newest notice; 0 if there is none yet."""
    if not await fleet.statuses():
        return 0  # there never was an agent, and nothing to tell
    return (await anext(fleet.notices(-1))).number
