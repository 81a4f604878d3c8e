"""Check-ins of a thousand agents at one Supervisor, in this process and on Ray, beside bare Ray calls.

A check-in asks for leave to make one model call and is granted; after each turn what was granted is settled, which is
measured too. On Ray one process makes the calls of all agents, so many at a time, to the Supervisor's actor and to a
bare one that answers with the same bytes; the CPU is that of the actor's own process. Once without a journal, and once
with one in a SQLite file: then a check-in is on the disk before it is answered.

Then a thousand check-ins wait all the time, while people and agents ask for something else, beside the time in which
the bare actor answers a thousand calls.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, cast

from _measure import SOURCE, arguments, cpu, finish, median, shown, table

sys.path.insert(0, SOURCE)

import amrita_fleet.actors  # noqa: F401, I001  sets what Ray reads when it is imported
import ray
from _cluster import local_ray

from amrita_fleet.actors.journal import JournalActor, journal_place
from amrita_fleet.actors.lifecycle import create_journal, create_supervisor
from amrita_fleet.actors.link import CHECK_IN, SETTLE, Charter
from amrita_fleet.protocols.restarts import RestartPolicy
from amrita_fleet.protocols.checkin import CheckIn, Directive, Grant, Proceed, Settlement
from amrita_fleet.protocols.codec import decode, encode
from amrita_fleet.protocols.ids import AgentId, Incarnation, RunId
from amrita_fleet.runtime.clock import SystemClock
from amrita_fleet.runtime.journal.fleet_log import FleetLog
from amrita_fleet.runtime.journal.sql import SqlJournal
from amrita_fleet.runtime.supervision.command_log import JournaledCommands
from amrita_fleet.runtime.supervision.replay import perform
from amrita_fleet.runtime.supervision.supervisor import Supervisor
from amrita_fleet.runtime.supervision.commands import Newcomer

AGENTS = tuple(AgentId(f"worker-{number}") for number in range(1000))
CONCURRENCY = (1, 64, 1000)
FIRST = Incarnation(1)
WRITTEN_TOGETHER = 64
BARE = "1,000 bare calls, all of them"
"""What those who wait behind a thousand check-ins are measured beside."""


def asked(agent: AgentId, attempt: int) -> CheckIn:
    """What an agent asks. Each has a provider of its own, so that nobody waits for others."""
    provider = f"https://{agent}.example.com"
    return CheckIn(agent, FIRST, RunId(f"{agent}.1.1"), attempt, "thinking", attempt, provider, 3_000, 1_000)


def settled(one: CheckIn) -> Settlement:
    """What its call came to."""
    return Settlement(one.agent, FIRST, one.reservation, 2_500)


ANSWER = encode(Proceed(Grant(asked(AGENTS[0], 1_000).reservation, 1_000)))
"""What a check-in is answered with, as far as its size goes."""


class Pace(NamedTuple):
    """Acts a second of all together, and the seconds of each."""

    per_second: float
    took: list[float]


class Bare:
    """What a bare Ray actor does with the same payload."""

    @ray.method(concurrency_group=CHECK_IN)
    async def check_in(self, asked: bytes) -> bytes:  # noqa: ARG002  as the Supervisor's
        return ANSWER

    @ray.method(concurrency_group=SETTLE)
    async def settle(self, settlement: bytes) -> None:
        pass


class Crew:
    """The process that makes the calls of all agents."""

    def __init__(self, desk: Any) -> None:  # noqa: ANN401  Ray's handle
        self._desk = desk
        self._attempts = count(1)
        self._busy = False
        self._risen = asyncio.Event()
        self._open: list[CheckIn] = []

    async def ask(self, calls: int, at_once: int) -> Pace:
        """Have so many agents check in, so many at a time."""
        attempt = next(self._attempts)
        self._open = [asked(AGENTS[number], attempt) for number in range(calls)]
        return await crowd(self._open, at_once, self._check_in)

    async def settle(self, at_once: int) -> Pace:
        """Settle what was granted."""
        return await crowd(self._open, at_once, self._settle)

    async def _check_in(self, one: CheckIn) -> None:
        answer = await self._desk.check_in.remote(encode(one))
        assert isinstance(decode(answer, cast("type[Directive]", Directive)), Proceed), answer

    async def _settle(self, one: CheckIn) -> None:
        await self._desk.settle.remote(encode(settled(one)))

    async def flood(self) -> None:
        """Have a check-in of every agent wait all the time, until `ebb`."""
        self._busy = True
        await asyncio.gather(*map(self._again_and_again, AGENTS))

    async def _again_and_again(self, agent: AgentId) -> None:
        one = asked(agent, next(self._attempts))  # asked for again it is the same reservation
        while self._busy:
            await self._check_in(one)
            self._risen.set()
        await self._settle(one)

    async def risen(self) -> None:
        """Wait until the flood is there."""
        await self._risen.wait()

    async def ebb(self) -> None:
        """End the flood."""
        self._busy = False
        self._risen.clear()


async def crowd(asks: Iterable[CheckIn], at_once: int, act: Callable[[CheckIn], Awaitable[None]]) -> Pace:
    """Do something with each, so many at a time."""
    left, took = iter(asks), list[float]()
    began = time.perf_counter()

    async def one() -> None:
        for each in left:
            before = time.perf_counter()
            await act(each)
            took.append(time.perf_counter() - before)

    await asyncio.gather(*(one() for _ in range(at_once)))
    return Pace(len(took) / (time.perf_counter() - began), took)


# --- in this process --------------------------------------------------------------------------------------------------


@asynccontextmanager
async def near(file: Path | None) -> AsyncIterator[Supervisor]:
    """A Supervisor in this process that all agents have come to; `file`: where its journal is, if it has one."""
    if file is None:
        made = Supervisor(fleet="near", limit=None, now=time.time, post=lambda _agent, _text: None)
        made.admit_all([Newcomer(agent) for agent in AGENTS], 1)
        yield made
        return
    clock, journal = SystemClock(), SqlJournal(file)
    log = JournaledCommands(await FleetLog(journal, "near").ledger(clock), clock)
    state = await log.open()
    made = Supervisor(fleet="near", limit=None, now=clock.now, post=lambda _a, _t: None, log=log, state=state)
    log.begin(partial(perform, made))
    made.admit_all([Newcomer(agent) for agent in AGENTS], 1)
    yield made
    await log.aclose()
    await journal.aclose()


async def cpu_near(supervisor: Supervisor, attempts: Iterator[int]) -> float:
    """Seconds of CPU that a check-in takes."""
    attempt = next(attempts)
    asks = [asked(agent, attempt) for agent in AGENTS]
    before = cpu()
    for number, one in enumerate(asks, start=1):
        directive = supervisor.check_in(one)
        assert isinstance(directive, Proceed), directive
        if number % WRITTEN_TOGETHER == 0:
            await supervisor.log.written()
    await supervisor.log.written()
    spent = (cpu() - before) / len(asks)
    for one in asks:
        supervisor.settle(settled(one))
    await supervisor.log.written()
    return spent


# --- on Ray -----------------------------------------------------------------------------------------------------------


class Side(NamedTuple):
    """One actor under test: who asks it, its process, and its handle."""

    crew: Any
    pid: int
    desk: Any


async def side(desk: Any) -> Side:  # noqa: ANN401
    """Have a crew ask an actor."""
    crew = ray.remote(num_cpus=0)(Crew).remote(desk)
    pid = await desk.__ray_call__.remote(lambda _: os.getpid())
    return Side(crew, int(pid), desk)


async def supervised(fleet: str, file: Path | None) -> Side:
    """A Supervisor's actor that all agents have come to."""
    journal: type[JournalActor] | None = None
    if file is not None:
        journal = create_journal(fleet, journal_place(file), create=True)
        await journal.begin.remote()
    desk = create_supervisor(Charter(fleet, None, journal, "benchmark", False, RestartPolicy()), None)  # noqa: FBT003
    await desk.open.remote(True)  # noqa: FBT003
    spare = [AgentId(f"spare-{number}") for number in range(200)]
    await desk.admit.remote([Newcomer(agent) for agent in (*AGENTS, *spare)], os.getpid())
    return await side(desk)


def cpu_of(pid: int) -> float:
    """Seconds of CPU that another process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Found(NamedTuple):
    """One turn of a side: check-ins and settlements a second, median seconds of a check-in, CPU of one at the actor."""

    check_ins: float
    settlements: float
    took: float
    cpu: float


async def measured(which: Side, calls: int, at_once: int) -> Found:
    """One turn."""
    before = cpu_of(which.pid)
    asking = await which.crew.ask.remote(calls, at_once)
    spent = (cpu_of(which.pid) - before) / calls
    settling = await which.crew.settle.remote(at_once)
    return Found(asking.per_second, settling.per_second, median(asking.took), spent)


async def crowded(which: Side, acts: dict[str, Callable[[], Awaitable[object]]]) -> dict[str, float]:
    """Median seconds of acts while a thousand check-ins wait."""
    flood = which.crew.flood.remote()
    await which.crew.risen.remote()
    found: dict[str, list[float]] = {name: [] for name in acts}
    for _ in range(5):
        for name, act in acts.items():
            before = time.perf_counter()
            await act()
            found[name].append(time.perf_counter() - before)
    await which.crew.ebb.remote()
    await flood
    return {name: median(took) for name, took in found.items()}


async def measure_ray(folder: Path, repeats: int) -> tuple[dict[str, dict[int, list[Found]]], dict[str, list[float]]]:
    """All sides in turn at each concurrency, then what is asked of them in a crowd."""
    groups = dict.fromkeys((CHECK_IN, SETTLE), 1000)
    sides = {
        "bare": await side(ray.remote(concurrency_groups=groups, num_cpus=0)(Bare).remote()),
        "": await supervised("unwritten", None),
        "_sqlite": await supervised("written", folder / "far.sqlite"),
    }
    found: dict[str, dict[int, list[Found]]] = {name: {each: [] for each in CONCURRENCY} for name in sides}
    for at_once in CONCURRENCY:
        calls = 200 if at_once == 1 else len(AGENTS)
        for number in range(repeats + 1):
            for name, each in sides.items():
                turn = await measured(each, calls, at_once)
                if number:  # the first one does not count
                    found[name][at_once].append(turn)
    desk, spares = sides[""].desk, count()
    nothing = encode(settled(asked(AGENTS[0], 1)))  # it has ended, so nothing changes
    acts = {
        "settle": lambda: desk.settle.remote(nothing),
        "stop": lambda: desk.stop.remote([AgentId(f"spare-{next(spares)}")], "enough"),
        "statuses": lambda: desk.statuses.remote([]),
    }
    waits: dict[str, list[float]] = {name: [] for name in (BARE, *acts)}
    for _ in range(repeats):
        bare = await measured(sides["bare"], len(AGENTS), len(AGENTS))
        waits[BARE].append(len(AGENTS) / bare.check_ins)
        for name, took in (await crowded(sides[""], acts)).items():
            waits[name].append(took)
    return found, waits


class Measured(NamedTuple):
    """CPU of a check-in in this process, turns on Ray, and seconds of what is asked in a crowd."""

    here: dict[str, list[float]]
    far: dict[str, dict[int, list[Found]]]
    crowd: dict[str, list[float]]


async def measure(repeats: int) -> Measured:
    """All of it."""
    with tempfile.TemporaryDirectory() as folder:
        here: dict[str, list[float]] = {}
        for name, file in (("", None), ("_sqlite", Path(folder, "near.sqlite"))):
            async with near(file) as supervisor:
                attempts = count(1)
                here[name] = [await cpu_near(supervisor, attempts) for _ in range(repeats + 1)][1:]
        return Measured(here, *await measure_ray(Path(folder), repeats))


SIDES = {"bare": "bare calls", "": "check-ins", "_sqlite": "check-ins, journal in SQLite"}


def told(found: Measured) -> dict[str, object]:
    """The keys that the README lists."""
    result: dict[str, object] = {}
    for kind in ("", "_sqlite"):
        pairs = {each: list(zip(found.far[kind][each], found.far["bare"][each], strict=True)) for each in CONCURRENCY}
        result |= {
            f"ratio{kind}": {
                str(each): round(median([ours.check_ins / bare.check_ins for ours, bare in pair]), 2)
                for each, pair in pairs.items()
            },
            f"ratio_settled{kind}": {
                str(each): round(median([ours.settlements / bare.settlements for ours, bare in pair]), 2)
                for each, pair in pairs.items()
            },
            f"latency_ratio{kind}": round(median([ours.took / bare.took for ours, bare in pairs[1]]), 2),
            f"cpu_ratio{kind}": round(median([ours.cpu / bare.cpu for ours, bare in pairs[64]]), 2),
            f"per_second{kind}": {
                str(each): round(median([turn.check_ins for turn in found.far[kind][each]])) for each in CONCURRENCY
            },
            f"local_microseconds{kind}": round(median(found.here[kind]) * 1e6),
        }
    ratio = {
        name: round(median([mine / floor for mine, floor in zip(took, found.crowd[BARE], strict=True)]), 2)
        for name, took in found.crowd.items()
        if name != BARE
    }
    return result | {"crowd_ratio": ratio}


def main() -> None:
    """Print the tables, and the ratios."""
    args = arguments(__doc__)
    with local_ray():
        found = asyncio.run(measure(2 if args.quick else 9))
    rows = [
        [
            each,
            SIDES[name],
            shown([turn.check_ins for turn in turns]),
            shown([turn.took for turn in turns], 1e3),
            shown([turn.cpu for turn in turns], 1e6),
        ]
        for each in CONCURRENCY
        for name, turns in ((name, found.far[name][each]) for name in SIDES)
    ]
    table(["at once", "on Ray", "a second: median (range)", "ms each", "microseconds of CPU at the actor"], rows)
    print()
    near = [[SIDES[name], shown(took, 1e6)] for name, took in found.here.items()]
    table(["in this process", "microseconds of CPU: median (range)"], near)
    print()
    waits = [[name, shown(took, 1e3)] for name, took in found.crowd.items()]
    table(["while 1,000 check-ins wait", "ms: median (range)"], waits)
    result = told(found)
    ratios = ", ".join(f"{ratio} at {each}" for each, ratio in cast("dict[str, float]", result["ratio"]).items())
    print(f"\ncheck-ins / bare calls a second: {ratios}; CPU of one / of a bare call: {result['cpu_ratio']}")
    finish(result, as_json=args.json)


if __name__ == "__main__":
    main()
