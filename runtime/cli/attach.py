"""`amrita-fleet attach`: a running fleet, from another terminal, as it goes on."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated

import typer

from ...protocols.checkin import DEAD, STOPPED, AgentStatus
from ...protocols.notices import Notice
from ..helm import Helm
from .console import say
from .options import Address, FleetName
from .screen import Lines
from .status import NAME

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ("EPILOG", "attach", "show")

EPILOG = """\
Example: amrita-fleet attach --until-idle

Exit status: 0 nobody works any more (with --until-idle), 1 no fleet runs there or it has ended, 2 bad input, 130
interrupted."""

RECENT = 20
"""Notices that are shown of what went before."""

AT_REST = {"idle", STOPPED, DEAD}
"""Phases of an agent that does nothing of its own accord."""


def attach(
    *,
    until_idle: Annotated[bool, typer.Option("--until-idle", help="End once no agent is at work.")] = False,
    fleet: FleetName = "",
    address: Address = "auto",
) -> None:
    """Join a running fleet: its agents now, its last news, then what happens, until Ctrl-C. Leaving it ends nothing."""
    from .carry_out import carry_out

    carry_out(joined(fleet, address, until_idle=until_idle), f"the fleet goes on; see it with `{NAME} ps`")


ENDS = {"finished", "died", "stopped"}
"""Events after which no agent may be at work any more."""

LOOK_PAUSE = 1.0
"""Seconds without news after which it is looked whether anybody is at work: one that was being spawned or restarted
comes to rest without any of these events."""


async def joined(name: str, address: str, *, until_idle: bool) -> None:
    """Print the table of a fleet, then its news."""
    from .console import stdout
    from .joining import running

    async with running(name, address) as fleet:
        await show(fleet, stdout(), until_idle=until_idle)


async def show(fleet: Helm, console: "Console", *, until_idle: bool) -> None:
    """Print the table of a fleet, then its news: for ever, or until no agent is at work and all is told."""
    from .ps import heading
    from .table import fleet_table

    rows = await fleet.statuses()
    say(heading(fleet.name, len(rows), 0))
    if rows:
        console.print(fleet_table(rows, {}, console.width, time.time()))
    lines, told = Lines(console), 0
    last = await newest(fleet) if until_idle and at_rest(rows) else None
    async with aclosing(paced(fleet.notices(-RECENT))) as news:
        while last is None or told < last:
            notice = await anext(news)
            if notice is not None:
                lines.tell(notice)
                told = notice.number
            if until_idle and last is None and may_rest(notice) and at_rest(await fleet.statuses()):
                last = await newest(fleet)


async def paced(notices: AsyncIterator[Notice]) -> AsyncGenerator[Notice | None, None]:
    """Notices as they come, and None whenever none came for `LOOK_PAUSE` seconds."""
    coming: asyncio.Future[Notice] | None = None
    try:
        while True:
            coming = coming or asyncio.ensure_future(anext(notices))
            if (await asyncio.wait({coming}, timeout=LOOK_PAUSE))[0]:
                found, coming = coming, None
                yield found.result()
            else:
                yield None
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)


def may_rest(notice: Notice | None) -> bool:
    """Whether it is worth a look if any agent is at work."""
    return notice is None or notice.extra_type in ENDS


async def newest(fleet: Helm) -> int:
    """The number of the newest notice; 0: there is none, for there never was an agent."""
    if not await fleet.statuses():
        return 0
    return (await anext(fleet.notices(-1))).number


def at_rest(rows: Iterable[AgentStatus]) -> bool:
    """Whether no agent is at work."""
    return all(row.phase in AT_REST for row in rows)
