"""`amrita-fleet tail`: what one agent of a running fleet does."""

from typing import Annotated

import typer

from .options import Address, FleetName
from .status import NAME
from .watch import Lines, joined

__all__ = ("EPILOG", "tail")

EPILOG = """\
Example: amrita-fleet tail ana

Exit status: 130 interrupted, 1 no fleet runs there or it has ended, 2 bad input: that includes an agent that is not
there."""


def tail(
    agent: Annotated[str, typer.Argument(help="Whose.", show_default=False)],
    *,
    as_json: Lines = False,
    fleet: FleetName = "",
    address: Address = "auto",
) -> None:
    """Print all that one agent has told so far, as far as it is kept, and what it tells from now on, until Ctrl-C."""
    from .carry_out import carry_out

    work = joined((agent,), 0, fleet, address, once=False, as_json=as_json)
    carry_out(work, f"the fleet goes on; see it with `{NAME} ps`")
