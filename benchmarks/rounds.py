"""CPU of one tool round on the local system, beside a bare httpx loop that posts the same bodies.

Both run in this process against the same server in another one, in turn. The floor posts the very bodies that the
agent sent, on one client with one connection, and parses each answer.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from _measure import SOURCE, arguments, cpu, finish, interleaved, median, shown, table

sys.path.insert(0, SOURCE)

import httpx

from amrita_fleet import AmritaConfig, Fleet, create_agent, tool
from amrita_fleet.runtime.config import FunctionConfig

ROUNDS = 20
RUNS = 10


@tool
async def double(number: int) -> int:
    """Twice the number."""
    return 2 * number


@contextmanager
def canned_server() -> Iterator[str]:
    """The server in a process of its own; gives its base URL."""
    script = Path(__file__).with_name("_canned_server.py")
    process = subprocess.Popen([sys.executable, str(script), str(ROUNDS)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.kill()
        process.wait()


def describe(base_url: str):  # noqa: ANN201
    """The agent under test."""
    config = AmritaConfig(function_config=FunctionConfig(agent_tool_call_limit=ROUNDS + 1, step_rounds=ROUNDS + 1))
    return create_agent(base_url=base_url, model="canned", tools=[double], config=config, memory="run")


async def bodies_of(base_url: str) -> list[bytes]:
    """What one run of the agent posts."""
    seen: list[bytes] = []
    reader_done = asyncio.Event()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = base_url.removeprefix("http://").removesuffix("/v1").split(":")
        up_reader, up_writer = await asyncio.open_connection(host, int(port))
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
                body = await reader.readexactly(length)
                seen.append(body)
                up_writer.write(head + body)
                answer = await up_reader.readuntil(b"\r\n\r\n")
                size = int(answer.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
                writer.write(answer + await up_reader.readexactly(size))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
            up_writer.close()
            reader_done.set()

    server = await asyncio.start_server(relay, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with Fleet(system="local") as fleet:
        (agent,) = await fleet.spawn(describe(f"http://127.0.0.1:{port}/v1"), ["a"])
        await agent.run("go")
    await reader_done.wait()
    server.close()
    return seen


async def measure(base_url: str, repeats: int) -> dict[str, list[float]]:
    """CPU seconds a round of each."""
    bodies = await bodies_of(base_url)
    assert len(bodies) == ROUNDS, len(bodies)
    url, headers = f"{base_url}/chat/completions", {"content-type": "application/json"}
    async with httpx.AsyncClient() as client, Fleet(system="local") as fleet:
        (agent,) = await fleet.spawn(describe(base_url), ["a"])

        async def floor() -> float:
            before = cpu()
            for _ in range(RUNS):
                for body in bodies:
                    json.loads((await client.post(url, content=body, headers=headers)).content)
            return (cpu() - before) / (RUNS * ROUNDS)

        async def ours() -> float:
            before = cpu()
            for _ in range(RUNS):
                outcome = await agent.run("go")
                assert outcome.rounds == ROUNDS, outcome
            return (cpu() - before) / (RUNS * ROUNDS)

        await floor()
        await ours()
        return await interleaved(repeats, {"httpx": floor, "local": ours})


def main() -> None:
    """Print the table, and the ratio."""
    args = arguments(__doc__)
    with canned_server() as base_url:
        found = asyncio.run(measure(base_url, 3 if args.quick else 15))
    ratio = median([ours / floor for ours, floor in zip(found["local"], found["httpx"], strict=True)])
    table(["CPU ms a round", "median (range)"], [[name, shown(values, 1000)] for name, values in found.items()])
    print(f"\nlocal system / bare httpx: {ratio:.2f}")
    finish({"ratio": round(ratio, 3)}, as_json=args.json)


if __name__ == "__main__":
    main()
