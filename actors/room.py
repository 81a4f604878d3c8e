"""Room for further agents on the cluster, as Ray counts it now."""

import asyncio
from collections.abc import Iterator
from typing import cast

import ray
from anyio import to_thread

from .placement import SLOT, Node, Place, places, slots
from .replaced import RETRY_PAUSE

__all__ = ("room",)


async def room(wanted: int, held: int) -> tuple[list[Node], Iterator[Place]]:
    """The cluster's nodes, and where on them further agents go.

    Args:
        wanted: How many agents there are to place.
        held: Slots that agents hold, as far as is known here without asking Ray, which may not know yet.

    Raises:
        SystemUnavailable: The cluster has too few slots.
    """
    nodes = cast("list[Node]", await to_thread.run_sync(ray.nodes))
    return nodes, places(nodes, wanted, await slots_taken(nodes, wanted, held))


async def slots_taken(nodes: list[Node], wanted: int, held: int) -> int:
    """Slots that are held: by those who are known here, which Ray may not have counted yet, or by others too."""
    total = slots(nodes)
    if not total:
        return 0
    for pause in (RETRY_PAUSE, 0):  # what was given back a moment ago may not be counted yet
        free = cast("dict[str, float]", await to_thread.run_sync(ray.available_resources)).get(SLOT, 0)
        if not pause or free >= wanted or total - held < wanted:
            break
        await asyncio.sleep(pause)
    return max(held, int(total - free))
