"""A process that spawns agents into a service and dies as soon as one of them is ready.

Run with Ray's address, a fleet's name, and the names of the agents.
"""

import asyncio
import os
import sys

from amrita_fleet import Agent, Fleet
from amrita_fleet.protocols.providers.scripted import say

from .steady import steady


def die(_ready: int, _ordered: int) -> None:
    """In the middle of the spawn."""
    os._exit(3)


async def spawn(address: str, name: str, *agents: str) -> None:
    """Spawn them."""
    async with Fleet.attach(name, address=address) as fleet:
        await fleet.spawn(Agent(preset=steady(say("hi"))), agents, progress=die)


if __name__ == "__main__":
    asyncio.run(spawn(*sys.argv[1:]))
