"""`amrita-fleet pause`: have agents of a running fleet stand still."""

from typing import Annotated

import typer

from ..helm import Helm
from .console import say
from .options import Address, AsJson, FleetName
from .utf8 import in_utf8

__all__ = ("EPILOG", "pause", "paused")

EPILOG = """\
Example: amrita-fleet pause ana bob --reason "the index is being rebuilt"

Exit status: 0 they are told, 1 no fleet runs there or some could not be told, 2 bad input: then nobody is paused."""

REASON = "paused from the command line"


def pause(
    agents: Annotated[list[str], typer.Argument(help="Who is paused.", show_default=False)],
    *,
    reason: Annotated[str, typer.Option(help="Why, for who sees it stand still.", callback=in_utf8)] = REASON,
    fleet: FleetName = "",
    address: Address = "auto",
    as_json: AsJson = False,
) -> None:
    """Pause agents and all below them at their next boundary or model call, until `resume`."""
    from .carry_out import carry_out

    carry_out(told(tuple(agents), reason, fleet, address, as_json=as_json))


async def told(agents: tuple[str, ...], reason: str, name: str, address: str, *, as_json: bool) -> None:
    """Pause them, and say so."""
    from .console import print_json
    from .joining import running

    async with running(name, address) as fleet:
        await paused(fleet, agents, reason)
    if as_json:
        print_json({"fleet": fleet.name, "paused": agents, "reason": reason})
    else:
        say(f"fleet {fleet.name}: {', '.join(agents)}: paused at the next boundary or model call")


async def paused(fleet: Helm, agents: tuple[str, ...], reason: str) -> None:
    """Pause agents; none, if there is one among them that is not there.

    Raises:
        AgentUnknown: There is no such agent.
        PeerUnreachable: Some could not be told; those before it were.
    """
    from .named import check_named

    await check_named(fleet, agents)
    for agent in agents:
        await fleet.pause(agent, reason)
