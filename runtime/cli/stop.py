"""`amrita-fleet stop`: end agents of a running fleet."""

from typing import Annotated

import typer

from .options import Address, AsJson, FleetName
from .status import Status

__all__ = ("EPILOG", "stop")

EPILOG = """\
Example: amrita-fleet stop w2

Exit status: 0 they have stopped, 1 no fleet runs there or some did not answer, 2 bad input."""


def stop(
    agents: Annotated[
        list[str] | None, typer.Argument(help="Who is stopped; everybody if left out.", show_default=False)
    ] = None,
    *,
    fleet: FleetName = "",
    address: Address = "auto",
    as_json: AsJson = False,
) -> None:
    """Stop agents and all below them for good. Their runs end, and mail to them is refused."""
    from .carry_out import carry_out

    all_stopped = carry_out(stopped(tuple(agents or ()), fleet, address, as_json=as_json))
    raise typer.Exit(Status.OK if all_stopped else Status.FAILED)


async def stopped(agents: tuple[str, ...], name: str, address: str, *, as_json: bool) -> bool:
    """Stop them, and say who has stopped; gives whether all that were named have."""
    from .console import print_json
    from .joining import running

    async with running(name, address) as fleet:
        done = await fleet.stop(*agents, reason="stopped from the command line")
    if as_json:
        print_json({"fleet": fleet.name, "stopped": list(done)})
    else:
        typer.echo(f"stopped: {', '.join(done) or 'nobody'}")
    return set(agents) <= set(done)
