"""A process that owns a fleet on a Ray of its own, in which one agent asks another.

It prints the run, and the span in which it asked for that.
"""

import asyncio

from opentelemetry.sdk.trace import TracerProvider

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
        with TracerProvider().get_tracer("owner").start_as_current_span("asks") as span:
            outcome = await ana.run("Ask bob.")
        print(outcome.run, format(span.get_span_context().span_id, "016x"))


if __name__ == "__main__":
    asyncio.run(own())
