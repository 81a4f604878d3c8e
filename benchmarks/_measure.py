"""What the benchmarks share: interleaved repeats, medians, a table, one JSON line."""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

SOURCE = str(Path(__file__).resolve().parent.parent / "src")


def arguments(text: str | None) -> argparse.Namespace:
    """`--json` and `--quick`, which every benchmark takes."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    parser.add_argument("--quick", action="store_true", help="fewer repeats: to see that it works, not to quote")
    return parser.parse_args()


async def interleaved(repeats: int, works: Mapping[str, Callable[[], Awaitable[float]]]) -> dict[str, list[float]]:
    """Measure each work `repeats` times, in turn, so that noise hits all of them alike."""
    found: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            found[name].append(await work())
    return found


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(values)


def cpu() -> float:
    """Seconds of CPU this process has used, all threads."""
    return time.process_time()


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print aligned columns."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    for row in cells:
        print(
            "  ".join(
                cell.rjust(width) if i else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
        )


def shown(values: Sequence[float], unit: float = 1.0) -> str:
    """Median and range."""
    return f"{median(values) * unit:,.3f} ({min(values) * unit:,.3f}-{max(values) * unit:,.3f})"


def finish(result: Mapping[str, object], *, as_json: bool) -> None:
    """The last line, for programs."""
    if as_json:
        print(json.dumps(result))
    sys.stdout.flush()
