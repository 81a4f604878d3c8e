"""`amrita-fleet ps`: the agents of a running fleet."""

import time
from collections.abc import Iterable
from typing import Annotated

import typer

from ...protocols.checkin import DEAD, STOPPED, AgentStatus
from .console import say
from .options import Address, AsJson, FleetName
from .wording import plural

__all__ = ("EPILOG", "ps")

EPILOG = """\
Example: amrita-fleet ps --json

Exit status: 0 the fleet answered, 1 no fleet runs there, 2 bad input."""


def ps(
    *,
    everybody: Annotated[bool, typer.Option("--all", help="Dead and stopped agents too.")] = False,
    fleet: FleetName = "",
    address: Address = "auto",
    as_json: AsJson = False,
) -> None:
    """List the agents of a running fleet: phase, Step, mail, tokens."""
    from .carry_out import carry_out

    carry_out(listed(fleet, address, everybody=everybody, as_json=as_json))


async def listed(name: str, address: str, *, everybody: bool, as_json: bool) -> None:
    """Print the table of one fleet, and how many agents it leaves out."""
    from .console import print_json, stdout
    from .joining import running
    from .table import fleet_table, row_shown

    async with running(name, address) as fleet:
        known = await fleet.statuses()
    rows = known if everybody else living(known)
    hidden = len(known) - len(rows)
    if as_json:
        print_json({"fleet": fleet.name, "agents": [row_shown(row) for row in rows], "hidden": hidden})
        return
    say(heading(fleet.name, len(rows), hidden))
    if rows:
        console = stdout()
        console.print(fleet_table(rows, {}, console.width, time.time()))


def living(rows: Iterable[AgentStatus]) -> tuple[AgentStatus, ...]:
    """The rows of those that can still do something."""
    return tuple(row for row in rows if row.phase not in {DEAD, STOPPED})


def heading(fleet: str, shown: int, hidden: int) -> str:
    """What stands above the table."""
    left_out = f"; dead or stopped and not shown: {hidden:,} (--all shows them)" if hidden else ""
    return f"fleet {fleet}: {plural(shown, 'agent')}{left_out}"
