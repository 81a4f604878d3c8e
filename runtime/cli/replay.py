"""`amrita-fleet replay`: what happened in a fleet that was recorded, without one."""

import asyncio
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .console import say
from .errors import InputInvalid

if TYPE_CHECKING:
    from rich.console import Console

    from ..gateway.recording import Recording
    from ..ports import Clock

__all__ = ("EPILOG", "replay", "show")

EPILOG = """\
Example: amrita-fleet replay monday.jsonl --pace 10

Exit status: 0 all was shown, 2 bad input: that includes a file that is no recording, 130 interrupted."""


def replay(
    file: Annotated[Path, typer.Argument(help="What `record` wrote.", show_default=False)],
    *,
    pace: Annotated[
        float, typer.Option(help="Seconds of it that pass in one; all at once if left out.", show_default=False)
    ] = math.inf,
    dashboard: Annotated[bool, typer.Option("--dashboard", help="Serve it over HTTP until Ctrl-C instead.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0: any port that is free.")] = 0,
) -> None:
    """Show what happened in a recorded fleet: a line for each event, then its agents as they were. No Ray is needed."""
    from .carry_out import carry_out

    if not pace > 0:
        raise InputInvalid(reason="--pace is a number above 0.")
    if dashboard:
        from ..gateway.serving import check_extra

        check_extra()
    from ..gateway.recording import Recording

    recording = Recording.read(file)  # before a loop runs: there Ctrl-C would not end a read that takes long
    carry_out(served(recording, pace, port) if dashboard else shown(recording, pace))


async def shown(recording: "Recording", pace: float) -> None:
    """Print a recording."""
    from ..clock import SystemClock
    from .console import stdout

    await show(recording, SystemClock(), pace, stdout())


async def show(recording: "Recording", clock: "Clock", pace: float, console: "Console") -> None:
    """Print what happens, then the table of the agents."""
    from ..gateway.recorded import RecordedSource
    from .ps import heading
    from .screen import Lines
    from .table import fleet_table

    source, lines, after = RecordedSource(recording, clock, pace), Lines(console), 0
    last = recording.notices[-1].number if recording.notices else 0
    while after < last:
        for notice in await source.notices(after, math.inf):
            lines.tell(notice)
            after = notice.number
        await asyncio.sleep(0)  # for Ctrl-C: where all is there at once, nothing else waits
    rows = await source.rows()
    say(heading(source.name, len(rows), 0))
    if rows:
        console.print(fleet_table(rows, {}, console.width))


async def served(recording: "Recording", pace: float, port: int) -> None:
    """Serve a recording.

    Raises:
        SystemUnavailable: The port is taken.
    """
    from ..clock import SystemClock
    from ..dashboard.opening import open_dashboard
    from ..gateway.recorded import RecordedSource
    from ..web_server import LOOPBACK

    source = RecordedSource(recording, SystemClock(), pace)
    gateway, made = await open_dashboard(source, LOOPBACK, port)
    try:
        say(f"recording of fleet {source.name}: {made.link}")
        await gateway.over()
    finally:
        await gateway.aclose()
