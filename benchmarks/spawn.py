"""What an agent costs above a bare Ray actor: private memory after its first model call, and time to spawn.

The bare actor is an async one with the same concurrency groups. Both sides are created only so many at once as there
are CPUs, and count as spawned when they have answered. The fleet's Supervisor is there already.
"""

import asyncio
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

from _measure import SOURCE, arguments, finish, median, shown, table

sys.path.insert(0, SOURCE)

import amrita_fleet.actors  # noqa: F401, I001  sets what Ray reads when it is imported
import ray
from _canned import canned_server
from _cluster import local_ray

from amrita_fleet import Agent, Fleet, create_agent, tool
from amrita_fleet.actors.channel import CONTROL, MAIL

CALLS = 50
"""Calls in each group of a bare actor before its memory counts as that of a warm one."""


class Bare:
    """An actor with an agent's concurrency groups, and nothing in it."""

    async def work(self) -> int:
        return os.getpid()

    @ray.method(concurrency_group=MAIL)
    async def deliver(self, batch: bytes) -> bytes:
        return batch

    @ray.method(concurrency_group=CONTROL)
    async def ping(self) -> None:
        pass


@tool
async def double(number: int) -> int:
    """Twice the number."""
    return 2 * number


Actors = ray.remote(concurrency_groups={MAIL: 64, CONTROL: 64}, num_cpus=0, enable_task_events=False)(Bare)


async def spawn_bare(count: int) -> list[Any]:
    """Create bare actors and wait for their answers."""
    turns = asyncio.Semaphore(os.cpu_count() or 1)

    async def bring_up() -> Any:  # noqa: ANN401  Ray's handle
        async with turns:
            actor = await asyncio.to_thread(Actors.remote)
            await actor.work.remote()
        return actor

    return await asyncio.gather(*(bring_up() for _ in range(count)))


def private(pid: int) -> float:
    """MB that a process shares with no other."""
    rows = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(kb) for kb in re.findall(r"Private_(?:Clean|Dirty): +(\d+) kB", rows)) / 1024


async def times(agent: Agent, count: int, repeats: int) -> dict[str, list[float]]:
    """Seconds an actor that each side takes, in turn."""
    found: dict[str, list[float]] = {"agents": [], "bare actors": []}
    for turn in range(repeats + 1):
        began = time.perf_counter()
        actors = await spawn_bare(count)
        bare = (time.perf_counter() - began) / count
        for actor in actors:
            ray.kill(actor)
        async with Fleet() as fleet:
            began = time.perf_counter()
            await fleet.spawn(agent, [f"a{number}" for number in range(count)])
            ours = (time.perf_counter() - began) / count
        if turn:  # the first one has the workers that Ray started in advance
            found["agents"].append(ours)
            found["bare actors"].append(bare)
    return found


async def memory(base_url: str, rounds: int, count: int) -> list[float]:
    """Private MB of agents after a run of so many rounds, the last of which calls no tool."""
    async with Fleet() as fleet:
        agent = create_agent(base_url=base_url, model="canned", tools=[double])
        for ref in await fleet.spawn(agent, [f"a{number}" for number in range(count)]):
            outcome = await ref.run("go")
            assert outcome.rounds == rounds, outcome
        return [private(status.pid) for status in await fleet.statuses()]


async def bare_memory(count: int) -> list[float]:
    """Private MB of warm bare actors."""
    actors = await spawn_bare(count)
    for actor in actors:
        for _ in range(CALLS):
            await asyncio.gather(actor.work.remote(), actor.deliver.remote(b"x" * 300), actor.ping.remote())
    found = [private(await actor.work.remote()) for actor in actors]
    for actor in actors:
        ray.kill(actor)
    return found


async def measure(count: int, repeats: int, samples: int) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Memory and times, by name."""
    with canned_server(1) as text, canned_server(2) as call:
        used = {
            "bare actor": await bare_memory(samples),
            "agent after a model call": await memory(text, 1, samples),
            "agent after a tool's call": await memory(call, 2, samples),
        }
        return used, await times(create_agent(base_url=text, model="canned", tools=[double]), count, repeats)


def main() -> None:
    """Print the tables, and the ratios."""
    args = arguments(__doc__)
    with local_ray():
        used, took = asyncio.run(measure(2, 1, 1) if args.quick else measure(4, 9, 3))
    table(["private MB", "median (range)"], [[name, shown(values)] for name, values in used.items()])
    print()
    table(["spawn seconds each", "median (range)"], [[name, shown(values)] for name, values in took.items()])
    bare, called, with_tool = (median(values) for values in used.values())
    ratio = median([ours / bare for ours, bare in zip(took["agents"], took["bare actors"], strict=True)])
    print(f"\nan agent has {called - bare:.1f} MB more than a bare actor, and takes {ratio:.2f} times as long to spawn")
    finish(
        {
            "memory_mb_above_bare": round(called - bare, 2),
            "memory_mb_above_bare_with_tool": round(with_tool - bare, 2),
            "spawn_ratio": round(ratio, 3),
            "spawn_seconds": round(median(took["agents"]), 3),
        },
        as_json=args.json,
    )


if __name__ == "__main__":
    main()
