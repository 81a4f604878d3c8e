"""`amrita-fleet refuse`: have a tool call not run that waits for a person."""

from typing import Annotated

import typer

from .console import say
from .options import Address, AsJson, FleetName
from .utf8 import in_utf8

__all__ = ("EPILOG", "refuse")

EPILOG = """\
Example: amrita-fleet refuse lead.1.2.17 --reason "Keep that file."

Exit status: 0 the call was refused, 1 no fleet runs there or its agent did not answer, 2 bad input: that includes an id
under which no call waits, or no longer."""


def refuse(
    approval: Annotated[str, typer.Argument(metavar="ID", help="What `approvals` shows.", show_default=False)],
    *,
    reason: Annotated[str, typer.Option(help="Why, for the model to read.", callback=in_utf8, show_default=False)] = "",
    fleet: FleetName = "",
    address: Address = "auto",
    as_json: AsJson = False,
) -> None:
    """Have a tool call not run that waits for a person. Its agent reads that, and goes on."""
    from .carry_out import carry_out

    carry_out(refused(approval, reason, fleet, address, as_json=as_json))


async def refused(approval: str, reason: str, name: str, address: str, *, as_json: bool) -> None:
    """Refuse it, and say so."""
    from .console import print_json
    from .joining import running

    async with running(name, address) as fleet:
        await fleet.approvals.refuse(approval, reason)
    if as_json:
        print_json({"fleet": fleet.name, "id": approval, "allowed": False, "reason": reason})
    else:
        say(f"fleet {fleet.name}: {approval} does not run")
