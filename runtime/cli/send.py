"""`amrita-fleet send`: a message to an agent of a running fleet."""

from typing import Annotated

import typer

from .console import say
from .options import Address, AsJson, FleetName
from .status import Status
from .utf8 import in_utf8

__all__ = ("EPILOG", "send")

EPILOG = """\
Example: amrita-fleet send ana "Please hurry."

Exit status: 0 the message was accepted, 1 it was refused or no fleet runs there, 2 bad input."""


def send(
    agent: Annotated[str, typer.Argument(help="Who gets it.", show_default=False)],
    text: Annotated[str, typer.Argument(help="What to say.", callback=in_utf8, show_default=False)],
    *,
    fleet: FleetName = "",
    address: Address = "auto",
    as_json: AsJson = False,
) -> None:
    """Send a message to an agent, which reads it when its next Step begins; an idle one is woken."""
    from .carry_out import carry_out

    accepted = carry_out(sent(agent, text, fleet, address, as_json=as_json))
    raise typer.Exit(Status.OK if accepted else Status.FAILED)


async def sent(agent: str, text: str, name: str, address: str, *, as_json: bool) -> bool:
    """Send, and say what became of it; gives whether it was accepted."""
    from ...protocols.mail import ReceiptState
    from .console import print_json
    from .joining import running

    async with running(name, address) as fleet:
        receipt = await fleet.send(agent, text)
    if as_json:
        print_json({"fleet": fleet.name} | receipt._asdict())
    else:
        why = f": {receipt.refusal}" if receipt.refusal else ""
        say(f"fleet {fleet.name}: {receipt.id} to {agent}: {receipt.state}{why}")
    return receipt.state is ReceiptState.ACCEPTED
