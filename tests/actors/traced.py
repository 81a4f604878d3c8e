"""A process that owns a fleet on a Ray of its own, in which one agent asks another."""

import asyncio

from amrita_fleet import Agent, Fleet, tool
from amrita_fleet.protocols.providers.scripted import call, say, scripted


@tool
def break_down() -> str:
    """Fail."""
    raise ValueError("on purpose")


async def own() -> None:
    """Have ana ask bob."""
    async with Fleet("traced") as fleet:
        await fleet.spawn(Agent(preset=scripted(say("three"))), ["bob"])
        asks = scripted(call("break_down"), call("ask_peer", to="bob", question="How many?", seconds=60), say("three"))
        (ana,) = await fleet.spawn(Agent(preset=asks, tools=(break_down,)), ["ana"])
        outcome = await ana.run("Ask bob.")
        print(outcome.run)


if __name__ == "__main__":
    asyncio.run(own())
