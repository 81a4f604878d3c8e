"""What a record costs in the journal's SQLite file, beside one INSERT and one commit for each.

Appenders each have a stream of their own and append record after record, waiting for each to be on the disk. The bare
loop is what one would write by hand with `sqlite3`, with the same file format and the same promise: WAL, and
`synchronous=FULL`.
"""

import asyncio
import sqlite3
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path

from _measure import SOURCE, arguments, finish, interleaved, median, shown, table

sys.path.insert(0, SOURCE)

from amrita_fleet.runtime.journal.sql import SqlJournal

APPENDERS = (1, 16, 256)
RECORD = b"x" * 1000
FEWEST, MOST = 200, 4096
"""Records of one measurement, with one appender and with many."""


def bare(folder: Path) -> Callable[[], Awaitable[float]]:
    """Seconds a record of a loop that inserts and commits one after the other."""
    connection = sqlite3.connect(folder / "bare.sqlite", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE record (stream TEXT, number INTEGER, data BLOB, PRIMARY KEY (stream, number))")
    numbers = count(1)

    async def work() -> float:
        begun = time.perf_counter()
        for _ in range(FEWEST):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO record VALUES ('bare', ?, ?)", (next(numbers), RECORD))
            connection.execute("COMMIT")
        return (time.perf_counter() - begun) / FEWEST

    return work


def names(appenders: int) -> list[str]:
    """The streams of so many."""
    return [f"{appenders}/{at}" for at in range(appenders)]


def ours(journal: SqlJournal, appenders: int) -> Callable[[], Awaitable[float]]:
    """Seconds a record of so many who append at once."""
    streams = {stream: count(1) for stream in names(appenders)}
    each = (FEWEST if appenders == 1 else MOST) // appenders

    async def append(stream: str) -> None:
        for _ in range(each):
            await journal.append(stream, 1, next(streams[stream]), (RECORD,))

    async def work() -> float:
        begun = time.perf_counter()
        await asyncio.gather(*map(append, streams))
        return (time.perf_counter() - begun) / (each * appenders)

    return work


async def measure(repeats: int) -> dict[str, list[float]]:
    """Measure all in turn, after a first round of each that does not count."""
    with tempfile.TemporaryDirectory() as folder:
        journal = SqlJournal(Path(folder, "journal.sqlite"))
        works = {"bare": bare(Path(folder))} | {str(number): ours(journal, number) for number in APPENDERS}
        for number in APPENDERS:
            await asyncio.gather(*(journal.open(stream, 1) for stream in names(number)))
        await interleaved(1, works)
        found = await interleaved(repeats, works)
        await journal.aclose()
    return found


def main() -> None:
    """Print the table, and the ratios."""
    args = arguments(__doc__)
    found = asyncio.run(measure(3 if args.quick else 15))
    floor = found.pop("bare")
    ratio = {
        number: round(median([base / mine for base, mine in zip(floor, each, strict=True)]), 2)
        for number, each in found.items()
    }
    rows = [["one INSERT and commit each", shown(floor, 1e6), "1"]]
    rows += [[f"{number} appending", shown(each, 1e6), f"{ratio[number]:.2f}"] for number, each in found.items()]
    table(["journal in SQLite", "microseconds a record, median (range)", "as fast as the bare loop"], rows)
    print(f"\ntimes the bare loop's records a second: {', '.join(f'{of:.1f} at {n}' for n, of in ratio.items())}")
    per_second = {number: round(1 / median(each)) for number, each in found.items()}
    finish({"ratio": ratio, "per_second": per_second, "bare_per_second": round(1 / median(floor))}, as_json=args.json)


if __name__ == "__main__":
    main()
