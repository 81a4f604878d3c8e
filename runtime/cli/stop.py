"""`amrita-fleet stop`: end agents of a running fleet."""

from collections.abc import Iterable
from typing import Annotated

import typer

from .console import say
from .errors import InputInvalid
from .options import Address, AsJson, FleetName
from .status import Status

__all__ = ("EPILOG", "stop")

EPILOG = """\
Example: amrita-fleet stop bob

Exit status: 0 they have stopped, 1 no fleet runs there or some did not answer, 2 bad input: that includes nobody named
and no --all."""

REASON = "stopped from the command line"


def stop(
    agents: Annotated[list[str] | None, typer.Argument(help="Who is stopped.", show_default=False)] = None,
    *,
    everybody: Annotated[bool, typer.Option("--all", help="Stop the whole fleet, which --fleet names.")] = False,
    fleet: FleetName = "",
    address: Address = "auto",
    as_json: AsJson = False,
) -> None:
    """Stop agents and all below them for good. Their runs end, and mail to them is refused."""
    from .carry_out import carry_out

    if agents and everybody:
        raise InputInvalid(reason="Name the agents to stop or give --all, not both.")
    chosen = None if everybody else tuple(agents or ())
    all_stopped = carry_out(stopped(chosen, fleet, address, as_json=as_json))
    raise typer.Exit(Status.OK if all_stopped else Status.FAILED)


async def stopped(agents: tuple[str, ...] | None, name: str, address: str, *, as_json: bool) -> bool:
    """Stop those named, or everybody for None, and say who has stopped; gives whether all did in time.

    Raises:
        InputInvalid: No agents are named, or for everybody no fleet. The one that was found may be somebody else's.
    """
    from .console import print_json
    from .joining import running

    async with running(name, address) as fleet:
        if agents == ():
            raise InputInvalid(
                reason=f"Nobody is stopped: name agents, or give --all to stop the whole fleet {fleet.name!r}."
            )
        if agents is None and not name:
            reason = f"Nobody is stopped: to stop the whole fleet that runs here, add `--fleet {fleet.name}`."
            raise InputInvalid(reason=reason)
        done = await (fleet.stop(*agents, reason=REASON) if agents else fleet.stop_all(REASON))
    if as_json:
        print_json({"fleet": fleet.name, "stopped": done.acknowledged, "silent": done.silent})
    else:
        say(f"fleet {fleet.name}: {told(done.acknowledged, done.silent)}")
    return not done.silent


def told(acknowledged: Iterable[str], silent: Iterable[str]) -> str:
    """What came of it, for a person."""
    late = ", ".join(silent)
    return f"stopped {', '.join(acknowledged) or 'nobody'}{late and f'; not in time: {late}'}"
