"""CPU of one tool round, beside a bare httpx loop that posts the same bodies.

The floor posts the very bodies that the agent sent, on one client with one connection, and parses each answer. It and
the local system run in this process. On Ray it is the CPU of the agent's own process that counts: Ray's threads in it
and what it takes to ask the Supervisor included, the Supervisor's own CPU not. All use the same server in another
process, in turn.
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from _measure import SOURCE, arguments, cpu, finish, interleaved, median, shown, table

sys.path.insert(0, SOURCE)

import amrita_fleet.actors  # noqa: F401, I001  sets what Ray reads when it is imported
import httpx
from _canned import canned_server
from _cluster import local_ray

from amrita_fleet import Agent, AgentRef, AmritaConfig, Fleet, create_agent, tool
from amrita_fleet.runtime.config import FunctionConfig, LLMConfig

ROUNDS = 20
RUNS = 10


@tool
async def double(number: int) -> int:
    """Twice the number."""
    return 2 * number


def describe(base_url: str, rounds: int = ROUNDS) -> Agent:
    """The agent under test."""
    functions = FunctionConfig(agent_tool_call_limit=rounds + 1, step_rounds=rounds + 1)
    config = AmritaConfig(function_config=functions, llm=LLMConfig(memory_strategy="none"))
    return create_agent(base_url=base_url, model="canned", tools=[double], config=config, memory="run")


async def relay(seen: list[bytes], port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass requests on to the server, and keep their bodies."""
    up_reader, up_writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        while True:
            head, body = await message(reader)
            seen.append(body)
            up_writer.write(head + body)
            writer.write(b"".join(await message(up_reader)))
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()
        up_writer.close()


async def message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Head and body of one HTTP message."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    return head, await reader.readexactly(length)


async def bodies_of(base_url: str, rounds: int = ROUNDS) -> list[bytes]:
    """What one run of the agent posts."""
    seen: list[bytes] = []
    port = int(base_url.removesuffix("/v1").rpartition(":")[2])
    server = await asyncio.start_server(partial(relay, seen, port), "127.0.0.1", 0)
    own = server.sockets[0].getsockname()[1]
    async with server, Fleet(system="local") as fleet:
        (agent,) = await fleet.spawn(describe(f"http://127.0.0.1:{own}/v1", rounds), ["a"])
        await agent.run("go")
    assert len(seen) == rounds, len(seen)
    return seen


async def floor(client: httpx.AsyncClient, base_url: str, bodies: list[bytes]) -> float:
    """CPU seconds a round of the bare loop."""
    url, headers = f"{base_url}/chat/completions", {"content-type": "application/json"}
    before = cpu()
    for _ in range(RUNS):
        for body in bodies:
            json.loads((await client.post(url, content=body, headers=headers)).content)
    return (cpu() - before) / (RUNS * ROUNDS)


async def ours(agent: AgentRef, used: Callable[[], float]) -> float:
    """CPU seconds a round of an agent, as `used` counts them."""
    before = used()
    for _ in range(RUNS):
        outcome = await agent.run("go")
        assert outcome.rounds == ROUNDS, outcome
    return (used() - before) / (RUNS * ROUNDS)


def cpu_of(pid: int) -> float:
    """Seconds of CPU that another process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(base_url: str, repeats: int) -> dict[str, list[float]]:
    """CPU seconds a round of each."""
    bodies = await bodies_of(base_url)
    async with httpx.AsyncClient() as client, Fleet(system="local") as local, Fleet() as remote:
        (near,) = await local.spawn(describe(base_url), ["a"])
        (far,) = await remote.spawn(describe(base_url), ["a"])
        (row,) = await remote.statuses()
        works = {
            "bare httpx": partial(floor, client, base_url, bodies),
            "local system": partial(ours, near, cpu),
            "agent's process on Ray": partial(ours, far, partial(cpu_of, row.pid)),
        }
        await interleaved(1, works)
        return await interleaved(repeats, works)


def main() -> None:
    """Print the table, and the ratios."""
    args = arguments(__doc__)
    with canned_server(ROUNDS) as base_url, local_ray():
        found = asyncio.run(measure(base_url, 3 if args.quick else 15))
    table(["CPU ms a round", "median (range)"], [[name, shown(values, 1000)] for name, values in found.items()])
    bare, *sides = found.values()
    local, ray = (round(median([a / b for a, b in zip(side, bare, strict=True)]), 3) for side in sides)
    print(f"\nof bare httpx: the local system {local:.2f} times, an agent's process on Ray {ray:.2f} times")
    finish({"ratio": local, "ray_ratio": ray, "floor_ms": round(median(bare) * 1000, 3)}, as_json=args.json)


if __name__ == "__main__":
    main()
