"""`amrita-fleet approvals`: the tool calls of a running fleet that wait for a person."""

import time
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

from ...protocols.approval import Approval
from .console import say
from .options import Address, AsJson, FleetName
from .visible import visible
from .wording import plural

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ("EPILOG", "approvals")

EPILOG = """\
Example: amrita-fleet approvals

`amrita-fleet approve ID` and `amrita-fleet refuse ID` answer.

Exit status: 0 the fleet answered, 1 no fleet runs there or some agents did not answer, 2 bad input."""


def approvals(*, fleet: FleetName = "", address: Address = "auto", as_json: AsJson = False) -> None:
    """List the tool calls that wait until a person allows or refuses them."""
    from .carry_out import carry_out

    carry_out(listed(fleet, address, as_json=as_json))


async def listed(name: str, address: str, *, as_json: bool) -> None:
    """Print the table of one fleet."""
    from .console import print_json, stdout
    from .joining import running

    async with running(name, address) as fleet:
        pending = await fleet.approvals.pending()
    if as_json:
        print_json({"fleet": fleet.name, "approvals": [asdict(each) for each in pending]})
        return
    say(f"fleet {fleet.name}: {plural(len(pending), 'call')} waiting for approval")
    if pending:
        stdout().print(approvals_table(pending, time.time()))


def approvals_table(pending: Iterable[Approval], now: float) -> "Table":
    """A table of calls; `now` in Unix seconds, to tell how long each waits. Nothing of what is decided about is cut."""
    from rich.table import Table
    from rich.text import Text

    table = Table()
    table.add_column("id", no_wrap=True, style="bold")
    table.add_column("tool", no_wrap=True)
    table.add_column("waits", no_wrap=True, justify="right")
    table.add_column("arguments", overflow="fold")
    table.add_column("reason", overflow="fold")
    for each in pending:
        waits = f"{max(0.0, now - each.since):.0f} s"
        texts = (each.id, each.tool, waits, visible(each.arguments), visible(each.reason))
        table.add_row(*map(Text, texts))
    return table
