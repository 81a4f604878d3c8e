"""`amrita-fleet attach`: a running fleet, from another terminal, as it goes on."""

import time
from collections.abc import AsyncIterator, Iterable
from typing import Annotated

import typer

from ...protocols.checkin import DEAD, STOPPED, AgentStatus
from ...protocols.notices import Notice
from ..helm import Helm
from .options import Address, FleetName
from .screen import Lines
from .status import NAME

__all__ = ("EPILOG", "attach")

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


async def joined(name: str, address: str, *, until_idle: bool) -> None:
    """Print the table of a fleet, then its news."""
    from .console import stdout
    from .joining import running
    from .ps import heading
    from .table import fleet_table

    console = stdout()
    async with running(name, address) as fleet:
        rows = await fleet.statuses()
        typer.echo(heading(fleet.name, len(rows), 0))
        if rows:
            console.print(fleet_table(rows, {}, console.width, time.time()))
        lines = Lines(console)
        last = await newest(fleet) if until_idle and at_rest(rows) else None
        async for notice in told(fleet, last):
            lines.tell(notice)
            if until_idle and notice.extra_type in ENDS and at_rest(await fleet.statuses()):
                last = last or await newest(fleet)
            if last is not None and notice.number >= last:
                return


async def told(fleet: Helm, last: int | None) -> AsyncIterator[Notice]:
    """The last news and what follows; nothing where all there is was `last` and that is none."""
    if last != 0:
        async for notice in fleet.notices(-RECENT):
            yield notice


async def newest(fleet: Helm) -> int:
    """The number of the newest notice; 0: there is none, for there never was an agent."""
    if not await fleet.statuses():
        return 0
    return (await anext(fleet.notices(-1))).number


def at_rest(rows: Iterable[AgentStatus]) -> bool:
    """Whether no agent is at work."""
    return all(row.phase in AT_REST for row in rows)
