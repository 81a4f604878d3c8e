"""`amrita-fleet kill`: end the process of an agent of a running fleet."""

from typing import Annotated

import typer

from .options import Address, AsJson, FleetName

__all__ = ("EPILOG", "kill")

EPILOG = """\
Example: amrita-fleet kill ana

Exit status: 0 the process was ended, 1 no fleet runs there or the agent has no process, 2 bad input."""


def kill(
    agent: Annotated[str, typer.Argument(help="Whose process.", show_default=False)],
    *,
    fleet: FleetName = "",
    address: Address = "auto",
    as_json: AsJson = False,
) -> None:
    """End an agent's process at once, whatever it does.

    It counts as a death: the agent is restarted as after any other. To end an agent for good, `stop` it.
    """
    from .carry_out import carry_out

    carry_out(killed(agent, fleet, address, as_json=as_json))


async def killed(agent: str, name: str, address: str, *, as_json: bool) -> None:
    """Kill it, and say so."""
    from .console import print_json
    from .joining import running

    async with running(name, address) as fleet:
        await fleet.kill(agent)
    if as_json:
        print_json({"fleet": fleet.name, "killed": agent})
    else:
        typer.echo(f"fleet {fleet.name}: {agent}: its process was ended")
