"""CPU of one model call through an adapter, beside a bare httpx loop that posts the same bodies and parses the answers.

Both run in this process against the same server in another one, in turn. An adapter's round is all that it does: the
draft of a history that is two turns longer each time, the call, the reading of the reply.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable

from _measure import SOURCE, arguments, cpu, finish, interleaved, median, shown, table

sys.path.insert(0, SOURCE)

import httpx
from _canned import canned_server

from amrita_fleet.protocols.messages import Message, Role, ToolResult, Turn
from amrita_fleet.protocols.presets import ModelPreset
from amrita_fleet.protocols.providers.base import Draft, Provider, ToolSchema
from amrita_fleet.protocols.providers.connection import connect

ROUNDS = 20
RUNS = 10
DOUBLE = ToolSchema("double", "Twice the number.", {"type": "object", "properties": {"number": {"type": "integer"}}})


async def run(provider: Provider) -> list[bytes]:
    """One run of a model that calls a tool in each round but the last; gives the bodies that were posted."""
    turns: tuple[Turn, ...] = (Message(Role.USER, "go"),)
    draft: Draft | None = None
    bodies: list[bytes] = []
    for _ in range(ROUNDS):
        draft = provider.draft(turns, (DOUBLE,), draft)
        reply = await provider.call(draft, 4096)
        bodies.append(draft.body(4096))
        results = (ToolResult(call.id, call.name, "42") for call in reply.message.calls)
        turns = (*turns, reply.message, *results)
    return bodies


def works(
    provider: Provider, client: httpx.AsyncClient, url: str, bodies: list[bytes]
) -> dict[str, Callable[[], Awaitable[float]]]:
    """What is measured: CPU seconds a round of each."""

    async def floor() -> float:
        before = cpu()
        for _ in range(RUNS):
            for body in bodies:
                json.loads((await client.post(url, content=body, headers={"content-type": "application/json"})).content)
        return (cpu() - before) / (RUNS * ROUNDS)

    async def ours() -> float:
        before = cpu()
        for _ in range(RUNS):
            await run(provider)
        return (cpu() - before) / (RUNS * ROUNDS)

    return {"bare httpx": floor, "adapter": ours}


async def measure(base_url: str, repeats: int) -> dict[str, list[float]]:
    """Measure both in turn, after a first round of each that does not count."""
    provider = connect(ModelPreset(model="canned", base_url=base_url))
    async with httpx.AsyncClient() as client:
        todo = works(provider, client, f"{base_url}/chat/completions", await run(provider))
        for work in todo.values():
            await work()
        found = await interleaved(repeats, todo)
    await provider.aclose()
    return found


def main() -> None:
    """Print the table, and the ratio."""
    args = arguments(__doc__)
    with canned_server(ROUNDS) as base_url:
        found = asyncio.run(measure(base_url, 3 if args.quick else 15))
    ratio = median([ours / floor for floor, ours in zip(*found.values(), strict=True)])
    table(["CPU ms a round", "median (range)"], [[name, shown(values, 1000)] for name, values in found.items()])
    print(f"\nof bare httpx: the adapter {ratio:.2f} times")
    finish({"ratio": round(ratio, 3)}, as_json=args.json)


if __name__ == "__main__":
    main()
