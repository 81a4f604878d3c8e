"""What a process needs to go on with a fleet's accounts, beside one that performs all that was ever asked.

A life of 24 agents is written into a SQLite journal: a check-in, a settlement and a report of two notices for each
model call. Then processes begin, in turn: on a record with snapshots, and on the same without.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count, cycle
from pathlib import Path

from _measure import SOURCE, arguments, cpu, finish, interleaved, median, shown, table

sys.path.insert(0, SOURCE)

from amrita_fleet.protocols.checkin import AgentStatus, CheckIn, Settlement
from amrita_fleet.protocols.ids import AgentId, Incarnation, RunId
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.runtime.clock import SystemClock
from amrita_fleet.runtime.journal.fleet_log import FleetLog
from amrita_fleet.runtime.journal.sql import SqlJournal
from amrita_fleet.runtime.supervision.command_log import CADENCE, Cadence, JournaledCommands
from amrita_fleet.runtime.supervision.commands import Newcomer
from amrita_fleet.runtime.supervision.replay import perform
from amrita_fleet.runtime.supervision.supervisor import Supervisor

SIZES = (1_000, 10_000, 100_000)
CADENCES = {"snapshots": CADENCE, "all": Cadence(commands=sys.maxsize)}
AGENTS = tuple(AgentId(f"worker-{number}") for number in range(24))
AT_ONCE = 20
"""Calls whose commands are written together."""


async def begin(journal: SqlJournal, cadence: Cadence) -> tuple[Supervisor, JournaledCommands]:
    """Go on with the accounts, as a new process does."""
    clock = SystemClock()
    commands = JournaledCommands(await FleetLog(journal, "fleet").ledger(clock), clock, cadence)
    state = await commands.open()
    supervisor = Supervisor(
        fleet="fleet", limit=None, now=clock.now, post=lambda _agent, _text: None, log=commands, state=state
    )
    commands.begin(partial(perform, supervisor))
    return supervisor, commands


def call(supervisor: Supervisor, agent: AgentId, attempt: int) -> None:
    """One model call, as the Supervisor hears of it."""
    run = RunId(f"{agent}.1.{attempt // 60}")
    asked = CheckIn(agent, Incarnation(1), run, attempt, "thinking", attempt, "provider", 3_000, 1_000)
    supervisor.check_in(asked)
    supervisor.settle(Settlement(agent, asked.incarnation, asked.reservation, 2_500))
    facts = {"tokens": 2_500, "seconds": 2.3, "calls": 3}
    answered = Notice(NoticeType.MODEL, "answered", agent, "2,500 tokens in 2.3 s, 3 calls", run, attempt, facts)
    ended = Notice(NoticeType.TOOL, "ended", agent, "look: 1,234 characters", run, attempt, {"tool": "look"})
    supervisor.report(AgentStatus(agent, asked.incarnation, "thinking", since=1.0, run=run), (answered, ended))


async def live(file: Path, size: int, cadence: Cadence) -> float:
    """Write a record of so many commands; gives the seconds of CPU that each took."""
    journal = SqlJournal(file)
    supervisor, commands = await begin(journal, cadence)
    supervisor.admit_all([Newcomer(agent) for agent in AGENTS], 1)
    begun = cpu()
    for attempt, agent in zip(range(1, size // 3 + 1), cycle(AGENTS), strict=False):
        call(supervisor, agent, attempt)
        if attempt % AT_ONCE == 0:
            await commands.written()
    await commands.written()
    spent = (cpu() - begun) / size
    await commands.aclose()
    await journal.aclose()
    return spent


def start(file: Path, cadence: Cadence) -> Callable[[], Awaitable[float]]:
    """Seconds until a process has gone on with a record."""

    async def work() -> float:
        journal = SqlJournal(file)
        begun = time.perf_counter()
        _, commands = await begin(journal, cadence)
        spent = time.perf_counter() - begun
        await commands.aclose()
        await journal.aclose()
        return spent

    return work


async def measure(sizes: tuple[int, ...], repeats: int) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Write all records, then begin on them in turn."""
    with tempfile.TemporaryDirectory() as folder:
        numbers = count()
        works: dict[str, Callable[[], Awaitable[float]]] = {}
        written: dict[str, float] = {}
        for size in sizes:
            for name, cadence in CADENCES.items():
                file = Path(folder, f"{next(numbers)}.sqlite")
                written[f"{name} {size}"] = await live(file, size, cadence)
                works[f"{name} {size}"] = start(file, cadence)
        return await interleaved(repeats, works), written


def main() -> None:
    """Print the table, and the ratios."""
    args = arguments(__doc__)
    sizes = SIZES[:2] if args.quick else SIZES
    found, written = asyncio.run(measure(sizes, 3 if args.quick else 7))
    rows = [
        [f"{size:,}, {name}", shown(found[f"{name} {size}"], 1e3), f"{written[f'{name} {size}'] * 1e6:.0f}"]
        for size in sizes
        for name in CADENCES
    ]
    table(["commands, and what is read", "ms to begin, median (range)", "microseconds of CPU a command"], rows)
    ratio = {
        str(size): round(
            median([a / s for a, s in zip(found[f"all {size}"], found[f"snapshots {size}"], strict=True)]), 1
        )
        for size in sizes
    }
    print(f"\ntimes as quick as performing all commands: {', '.join(f'{of} at {size}' for size, of in ratio.items())}")
    seconds = {str(size): round(median(found[f"snapshots {size}"]), 3) for size in sizes}
    price = {str(size): round(written[f"snapshots {size}"] / written[f"all {size}"], 2) for size in sizes}
    finish({"ratio": ratio, "seconds": seconds, "price": price}, as_json=args.json)


if __name__ == "__main__":
    main()
