"""`amrita-fleet resume`: let paused agents of a running fleet go on."""

from typing import Annotated

import typer

from ..helm import Helm
from .console import say
from .options import Address, AsJson, FleetName

__all__ = ("EPILOG", "resume", "resumed")

EPILOG = """\
Example: amrita-fleet resume ana bob

Exit status: 0 they are told, 1 no fleet runs there or some could not be told, 2 bad input: then nobody is told."""


def resume(
    agents: Annotated[list[str], typer.Argument(help="Who goes on.", show_default=False)],
    *,
    fleet: FleetName = "",
    address: Address = "auto",
    as_json: AsJson = False,
) -> None:
    """Let paused agents and all below them go on."""
    from .carry_out import carry_out

    carry_out(told(tuple(agents), fleet, address, as_json=as_json))


async def told(agents: tuple[str, ...], name: str, address: str, *, as_json: bool) -> None:
    """Let them go on, and say so."""
    from .console import print_json
    from .joining import running

    async with running(name, address) as fleet:
        await resumed(fleet, agents)
    if as_json:
        print_json({"fleet": fleet.name, "resumed": agents})
    else:
        say(f"fleet {fleet.name}: {', '.join(agents)}: may go on")


async def resumed(fleet: Helm, agents: tuple[str, ...]) -> None:
    """Let agents go on; none, if there is one among them that is not there.

    Raises:
        AgentUnknown: There is no such agent.
        PeerUnreachable: Some could not be told; those before it were.
    """
    from .named import check_named

    await check_named(fleet, agents)
    for agent in agents:
        await fleet.resume(agent)
