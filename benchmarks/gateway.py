"""What watching costs: check-ins at the Supervisor while 50 watch through the gateway, beside while nobody does.

On Ray, a Supervisor of 1,000 agents whose rows change five times a second, 200 of them each time, and its gateway, both
as a fleet has them. One process checks in as the agents do, one at a time and 64 at once; another one has the
connections of the watchers, which read all that comes. Turns with and without watchers follow each other.
"""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count, cycle, islice
from typing import Any, cast

from _measure import SOURCE, arguments, finish, median, shown, table

sys.path.insert(0, SOURCE)

import amrita_fleet.actors  # noqa: F401, I001  sets what Ray reads when it is imported
import ray
from _cluster import local_ray

from amrita_fleet.actors.gateway import create_gateway
from amrita_fleet.actors.lifecycle import create_supervisor, end
from amrita_fleet.actors.link import Charter
from amrita_fleet.protocols.checkin import AgentStatus, CheckIn, Proceed, Settlement
from amrita_fleet.protocols.codec import decode, encode
from amrita_fleet.protocols.ids import AgentId, Incarnation, RunId
from amrita_fleet.protocols.restarts import RestartPolicy
from amrita_fleet.runtime.supervision.commands import Newcomer

FLEET = "watched"
AGENTS = tuple(AgentId(f"worker-{number}") for number in range(1000))
FIRST = Incarnation(1)
WATCHERS = 50
UPDATES = 5
"""Times a second that rows change."""

CHANGED = 200
"""Rows that change each time."""

AT_ONCE = (1, 64)
CALLS = 300
"""Check-ins of a turn."""


class Pulse:
    """Has rows change at a steady pace, until it is ended."""

    def __init__(self, desk: Any) -> None:  # noqa: ANN401  Ray's handle
        self._desk = desk

    async def beat(self) -> None:
        steps, turn = count(1), cycle(AGENTS)
        while True:
            due = time.monotonic() + 1 / UPDATES
            step = next(steps)
            rows = [AgentStatus(agent, FIRST, "thinking", 1.0, step=step) for agent in islice(turn, CHANGED)]
            await self._desk.statuses.remote([encode(row) for row in rows])
            await asyncio.sleep(max(0.0, due - time.monotonic()))


class Crowd:
    """Watchers, which read and throw away."""

    def __init__(self, url: str, token: str) -> None:
        self._host, _, port = url.removeprefix("http://").rpartition(":")
        self._port = int(port)
        head = f"GET /api/events HTTP/1.1\r\nHost: {self._host}\r\nAuthorization: Bearer {token}\r\n\r\n"
        self._head = head.encode()
        self._watching: list[asyncio.Task[None]] = []
        self._read = 0

    async def come(self, watchers: int) -> None:
        ready = [asyncio.Event() for _ in range(watchers)]
        self._watching = [asyncio.create_task(self._watch(each)) for each in ready]
        await asyncio.gather(*(each.wait() for each in ready))

    async def leave(self) -> int:
        """Gives the bytes that were read."""
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, return_exceptions=True)
        read, self._read = self._read, 0
        return read

    async def _watch(self, ready: asyncio.Event) -> None:
        reader, writer = await asyncio.open_connection(self._host, self._port)
        try:
            writer.write(self._head)
            while found := await reader.read(2**16):
                self._read += len(found)
                ready.set()
        finally:
            writer.close()


class Crew:
    """The process that makes the calls of all agents."""

    def __init__(self, desk: Any) -> None:  # noqa: ANN401
        self._desk = desk
        self._attempts = count(1)

    async def ask(self, calls: int, at_once: int) -> list[float]:
        """Seconds of each of so many check-ins, so many at a time; what is granted is settled afterwards."""
        attempt, took = next(self._attempts), list[float]()
        asks = [asked(agent, attempt) for agent in islice(cycle(AGENTS), calls)]
        left = iter(asks)

        async def one() -> None:
            for each in left:
                before = time.perf_counter()
                answer = await self._desk.check_in.remote(encode(each))
                took.append(time.perf_counter() - before)
                assert isinstance(decode(answer, cast("Any", Proceed)), Proceed), answer

        await asyncio.gather(*(one() for _ in range(at_once)))
        for each in asks:
            await self._desk.settle.remote(encode(Settlement(each.agent, FIRST, each.reservation, 2_500)))
        return took


def asked(agent: AgentId, attempt: int) -> CheckIn:
    """What an agent asks. Each has a provider of its own, so that nobody waits for others."""
    provider = f"https://{agent}.example.com"
    return CheckIn(agent, FIRST, RunId(f"{agent}.1.1"), attempt, "thinking", attempt, provider, 3_000, 1_000)


@asynccontextmanager
async def stage() -> AsyncIterator[tuple[Any, Any]]:
    """The crew and the crowd of a fleet whose rows change."""
    desk = create_supervisor(Charter(FLEET, None, None, "benchmark", False, RestartPolicy()), None)  # noqa: FBT003
    await desk.open.remote(True)  # noqa: FBT003
    await desk.admit.remote([Newcomer(agent) for agent in AGENTS], os.getpid())
    gateway = create_gateway(FLEET)
    await gateway.open.remote("127.0.0.1", 0)
    url, token = await gateway.where.remote()
    others = [ray.remote(num_cpus=0)(each) for each in (Crew, Crowd, Pulse)]
    crew, crowd, pulse = others[0].remote(desk), others[1].remote(url, token), others[2].remote(desk)
    beating = pulse.beat.remote()
    try:
        yield crew, crowd
    finally:
        ray.cancel(beating)
        for each in (crew, crowd, pulse):
            ray.kill(each)
        await end(gateway)
        await end(desk)


async def measure(turns: int) -> tuple[dict[int, list[list[float]]], dict[int, list[list[float]]], list[int]]:
    """Check-ins by how many were made at once, without and with watchers, turn by turn; and the bytes these read."""
    alone: dict[int, list[list[float]]] = {at_once: [] for at_once in AT_ONCE}
    watched: dict[int, list[list[float]]] = {at_once: [] for at_once in AT_ONCE}
    read: list[int] = []
    async with stage() as (crew, crowd):
        await crew.ask.remote(64, 64)
        for _ in range(turns):
            for at_once in AT_ONCE:
                alone[at_once].append(await crew.ask.remote(CALLS, at_once))
            await crowd.come.remote(WATCHERS)
            for at_once in AT_ONCE:
                watched[at_once].append(await crew.ask.remote(CALLS, at_once))
            read.append(await crowd.leave.remote())
    return alone, watched, read


def late(took: Sequence[float]) -> float:
    """What 95 of a hundred do not exceed."""
    return sorted(took)[int(len(took) * 0.95)]


def main() -> None:
    """Print the table, and the ratios."""
    args = arguments(__doc__)
    with local_ray():
        alone, watched, read = asyncio.run(measure(2 if args.quick else 9))
    rows = [
        [
            f"{at_once} at once, {who}",
            shown(list(map(median, found[at_once])), 1e3),
            shown(list(map(late, found[at_once])), 1e3),
        ]
        for at_once in AT_ONCE
        for who, found in (("nobody watches", alone), (f"{WATCHERS} watch", watched))
    ]
    table(["check-ins", "ms, median (range of turns)", "ms, 95 of 100"], rows)
    pairs = {at_once: list(zip(watched[at_once], alone[at_once], strict=True)) for at_once in AT_ONCE}
    ratio = {str(n): round(median([median(w) / median(a) for w, a in pairs[n]]), 2) for n in AT_ONCE}
    ratio_late = {str(n): round(median([late(w) / late(a) for w, a in pairs[n]]), 2) for n in AT_ONCE}
    by_number = ", ".join(f"{of} with {number} at once" for number, of in ratio.items())
    print(f"\na check-in while {WATCHERS} watch / while nobody does: {by_number}")
    finish({"ratio": ratio, "ratio_late": ratio_late, "megabytes": round(median(read) / 1e6, 1)}, as_json=args.json)


if __name__ == "__main__":
    main()
