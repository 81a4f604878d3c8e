"""A process that owns a fleet and does not live to close it. Run with Ray's address, a journal, and a gate's port."""

import asyncio
import sys

from amrita_fleet import Agent, Fleet, tool
from amrita_fleet.protocols.providers.scripted import call, scripted


async def own(address: str, journal: str, port: int) -> None:
    """Have an agent wait at the gate."""

    @tool
    async def gate(name: str) -> str:
        """Wait until the test says go on."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{name}\n".encode())
        return (await reader.readline()).decode().strip()

    async with Fleet("owned", address=address, journal=journal) as fleet:
        (ana,) = await fleet.spawn(Agent(preset=scripted(call("gate", name="one")), tools=(gate,)), ["ana"])
        await ana.start("go")
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(own(sys.argv[1], sys.argv[2], int(sys.argv[3])))
