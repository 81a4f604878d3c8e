"""A process that begins a fleet as a service and does not live to see it work.

Run with Ray's address, a fleet's name, a journal, and a gate's port.
"""

import asyncio
import sys

from amrita_fleet import Agent, Fleet, tool
from amrita_fleet.protocols.providers.scripted import call, say

from .steady import steady


async def own(address: str, name: str, journal: str, port: int) -> None:
    """Have an agent wait at the gate, twice."""

    @tool
    async def gate(name: str) -> str:
        """Wait until the test says go on."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{name}\n".encode())
        return (await reader.readline()).decode().strip()

    async with Fleet(name, address=address, journal=journal, service=True) as fleet:
        model = steady(call("gate", name="one"), call("gate", name="two"), say("done"))
        (ana,) = await fleet.spawn(Agent(preset=model, tools=(gate,)), ["ana"])
        await ana.start("go")
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(own(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
