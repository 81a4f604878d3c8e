"""`amrita-fleet top`: a running fleet on one screen, as it is now."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ..helm import Helm
from .board import Board, Order
from .options import Address, AsJson, FleetName
from .status import NAME

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ("EPILOG", "show", "top")

EPILOG = """\
Example: amrita-fleet top --sort tokens

On a terminal it goes on until q or Ctrl-C; n, p, t and m sort by name, phase, tokens and waiting mail. Into a pipe it
prints once.

Exit status: 0 left by q, or printed once, 1 no fleet runs there or it has ended, 2 bad input, 130 interrupted."""

PAUSE = 1.0
"""Seconds between two looks at the fleet."""

QUIT = "q"


def top(
    *,
    sort: Annotated[Order, typer.Option(help="What the agents are sorted by.")] = Order.NAME,
    fleet: FleetName = "",
    address: Address = "auto",
    as_json: AsJson = False,
) -> None:
    """Show what a running fleet spends, what each agent does and for how long, and what went wrong last."""
    from .carry_out import carry_out

    carry_out(joined(sort, fleet, address, as_json=as_json), f"the fleet goes on; see it with `{NAME} ps`")


async def joined(sort: Order, name: str, address: str, *, as_json: bool) -> None:
    """Show one fleet: once, or until somebody leaves."""
    from .console import stdout
    from .joining import running

    async with running(name, address) as fleet:
        board, console = Board(fleet.name, sort), stdout()
        if as_json:
            await print_once(fleet, board)
        elif console.is_terminal and sys.stdin.isatty():
            with keys() as typed:
                await show(fleet, board, console, typed)
        else:
            await take_in(fleet, board)
            rows, accounts = await asyncio.gather(fleet.statuses(), fleet.accounts())
            console.print(board.drawn(rows, accounts, console.width, None, time.time()))


async def print_once(fleet: Helm, board: Board) -> None:
    """Print it all as one JSON object."""
    from .console import print_json
    from .table import row_shown

    await take_in(fleet, board)
    rows, accounts = await asyncio.gather(fleet.statuses(), fleet.accounts())
    print_json(
        {
            "fleet": fleet.name,
            "agents": [row_shown(row) for row in rows],
            "accounts": [asdict(account) for account in accounts],
            "alerts": [asdict(alert) for alert in board.alerts],
        }
    )


async def take_in(fleet: Helm, board: Board) -> None:
    """Take in what the fleet has told so far."""
    from .past import past

    for notice in await past(fleet):
        board.add(notice)


async def show(fleet: Helm, board: Board, console: "Console", typed: "asyncio.Queue[str]") -> None:
    """Draw the fleet again and again, until `q` is typed."""
    from rich.live import Live

    with Live(console=console, screen=True, auto_refresh=False) as live:
        async with following(fleet, board) as news:
            key = ""
            while key != QUIT:
                rows, accounts = await asyncio.gather(fleet.statuses(), fleet.accounts())
                width, height = console.size
                live.update(board.drawn(rows, accounts, width, height, time.time()), refresh=True)
                key = await pressed(typed, news)
                board.order = {order[0]: order for order in Order}.get(key, board.order)


async def pressed(typed: "asyncio.Queue[str]", news: "asyncio.Task[None]") -> str:
    """The next key, or nothing once it is time to look again.

    Raises:
        FleetError: The fleet tells no more.
    """
    waiting = asyncio.ensure_future(typed.get())
    try:
        await asyncio.wait({waiting, news}, timeout=PAUSE, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
    if news.done():
        news.result()
    return waiting.result() if waiting.done() and not waiting.cancelled() else ""


@asynccontextmanager
async def following(fleet: Helm, board: Board) -> AsyncGenerator["asyncio.Task[None]", None]:
    """Take in what the fleet tells, meanwhile."""

    async def follow() -> None:
        async for notice in fleet.notices():
            board.add(notice)

    task = asyncio.create_task(follow())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@contextmanager
def keys() -> Generator["asyncio.Queue[str]", None, None]:
    """The keys that are typed, each at once and unseen."""
    import termios
    import tty

    loop, typed, before = asyncio.get_running_loop(), asyncio.Queue[str](), termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)  # Ctrl-C stays a signal
    loop.add_reader(
        sys.stdin, lambda: typed.put_nowait(os.read(sys.stdin.fileno(), 1).decode(errors="replace") or QUIT)
    )
    try:
        yield typed
    finally:
        loop.remove_reader(sys.stdin)
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
