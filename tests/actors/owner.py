"""A process that owns a fleet and does not live to close it. Run with Ray's address, a journal, and a gate's port."""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from amrita_fleet import Agent, tool
from amrita_fleet.actors.system import open_system
from amrita_fleet.protocols.ids import AgentId
from amrita_fleet.protocols.providers.scripted import call, scripted
from amrita_fleet.runtime.system import SpawnOrder


async def own(address: str, journal: str, port: int) -> None:
    """Have an agent wait at the gate."""

    @tool
    async def gate(name: str) -> str:
        """Wait until the test says go on."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{name}\n".encode())
        return (await reader.readline()).decode().strip()

    ana = AgentId("ana")
    system = open_system("owned", None, address, journal)
    await system.open()
    order = SpawnOrder(ana, Agent(preset=scripted(call("gate", name="one")), tools=(gate,)))
    await system.spawn((order,), lambda _ready, _ordered: None)
    await system.start(ana, "go", None)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(own(sys.argv[1], sys.argv[2], int(sys.argv[3])))
