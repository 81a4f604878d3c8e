"""`amrita-fleet ps`: the agents of a running fleet."""

import time

from .options import Address, AsJson, FleetName

__all__ = ("EPILOG", "ps")

EPILOG = """\
Example: amrita-fleet ps --json

Exit status: 0 the fleet answered, 1 no fleet runs there, 2 bad input."""


def ps(*, fleet: FleetName = "", address: Address = "auto", as_json: AsJson = False) -> None:
    """List the agents of a running fleet: phase, Step, mail, tokens."""
    from .carry_out import carry_out

    carry_out(listed(fleet, address, as_json=as_json))


async def listed(name: str, address: str, *, as_json: bool) -> None:
    """Print the table of one fleet."""
    from .console import print_json, stdout
    from .joining import running
    from .table import fleet_table, row_shown

    async with running(name, address) as fleet:
        rows = await fleet.statuses()
    if as_json:
        print_json({"fleet": fleet.name, "agents": [row_shown(row) for row in rows]})
    else:
        stdout().print(fleet_table(rows, {}, time.time()))
