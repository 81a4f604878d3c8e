"""`amrita-fleet approve`: let a tool call run that waits for a person."""

from typing import Annotated

import typer

from .console import say
from .options import Address, AsJson, FleetName

__all__ = ("EPILOG", "approve")

EPILOG = """\
Example: amrita-fleet approve lead.1.2.17

Exit status: 0 the call was allowed, 1 no fleet runs there or its agent did not answer, 2 bad input: that includes an id
under which no call waits, or no longer."""


def approve(
    approval: Annotated[str, typer.Argument(metavar="ID", help="What `approvals` shows.", show_default=False)],
    *,
    fleet: FleetName = "",
    address: Address = "auto",
    as_json: AsJson = False,
) -> None:
    """Let a tool call run that waits for a person."""
    from .carry_out import carry_out

    carry_out(allowed(approval, fleet, address, as_json=as_json))


async def allowed(approval: str, name: str, address: str, *, as_json: bool) -> None:
    """Allow it, and say so."""
    from .console import print_json
    from .joining import running

    async with running(name, address) as fleet:
        await fleet.approvals.allow(approval)
    if as_json:
        print_json({"fleet": fleet.name, "id": approval, "allowed": True})
    else:
        say(f"fleet {fleet.name}: {approval} may run")
