"""What a fleet has told so far: its notices, from the oldest that is kept up to now."""

from collections.abc import Iterable

from ...protocols.notices import Notice
from ..helm import Helm

__all__ = ("past",)


async def past(fleet: Helm, agents: Iterable[str] = (), after: int = 0) -> tuple[Notice, ...]:
    """The notices so far.

    Args:
        fleet: Whose.
        agents: Only those of these agents; empty: of all.
        after: Only those numbered above this; below 0, it counts from the end.
    """
    wanted, found = frozenset(agents), list[Notice]()
    if not await fleet.statuses():
        return ()  # there never was an agent, and nothing to tell
    newest = (await anext(fleet.notices(-1))).number
    if after >= newest:
        return ()
    async for notice in fleet.notices(after):
        if not wanted or notice.agent in wanted:
            found.append(notice)
        if notice.number >= newest:
            break
    return tuple(found)
