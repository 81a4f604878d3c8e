"""`amrita-fleet limit`: what a running fleet, a team, an agent or a run may spend from now on."""

from dataclasses import dataclass, fields
from typing import Annotated

import typer

from ...protocols.limits import Exhaustion, Limits
from .console import say
from .errors import InputInvalid
from .options import Address, AsJson, FleetName

__all__ = ("EPILOG", "Change", "limit", "told")

EPILOG = """\
Example: amrita-fleet limit --of ana --tokens 50000 --model-calls 20

Exit status: 0 the limit holds, 1 no fleet runs there or some who could go on could not be told, 2 bad input: that
includes a limit that does not fit into what is above it."""


def limit(  # noqa: PLR0913  what can be limited
    *,
    of: Annotated[
        str, typer.Option(metavar="NAME", help="An agent, or a team; the whole fleet if left out.", show_default=False)
    ] = "",
    tokens: Annotated[int | None, typer.Option(help="Prompt and completion together.", show_default=False)] = None,
    dollars: Annotated[float | None, typer.Option(help="By the prices of the presets.", show_default=False)] = None,
    model_calls: Annotated[int | None, typer.Option(help="Model calls.", show_default=False)] = None,
    tool_calls: Annotated[int | None, typer.Option(help="Calls of tools.", show_default=False)] = None,
    seconds: Annotated[float | None, typer.Option(help="From the first model call on.", show_default=False)] = None,
    on_exhaustion: Annotated[
        Exhaustion, typer.Option(help="What happens when less is left than a call needs.")
    ] = Exhaustion.WIND_DOWN,
    carved: Annotated[bool, typer.Option("--carved", help="Set all of it aside in what stands above.")] = False,
    lift: Annotated[bool, typer.Option("--lift", help="No limit of its own any more.")] = False,
    no_more: Annotated[
        bool, typer.Option("--no-more", help="Say no to who asks for more: they give their last answers.")
    ] = False,
    fleet: FleetName = "",
    address: Address = "auto",
    as_json: AsJson = False,
) -> None:
    """Limit a fleet, a team or an agent anew. The new limit replaces the old one whole; what was spent stays spent.

    Who is paused because too little was left goes on.
    """
    from .carry_out import carry_out

    limited = any(given is not None for given in (tokens, dollars, model_calls, tool_calls, seconds))
    if (limited, lift, no_more).count(True) != 1:
        raise InputInvalid(reason="Say what the limit is, as in --tokens 50000, or --lift, or --no-more: one of them.")
    if not limited and (carved or on_exhaustion is not Exhaustion.WIND_DOWN):
        raise InputInvalid(reason="--carved and --on-exhaustion say something of a new limit: give one.")
    new = None
    if limited:
        new = Limits(
            tokens=tokens,
            dollars=dollars,
            model_calls=model_calls,
            tool_calls=tool_calls,
            seconds=seconds,
            on_exhaustion=on_exhaustion.value,
            carved=carved,
        )
    carry_out(changed(Change(of, new, no_more=no_more), fleet, address, as_json=as_json))


@dataclass(frozen=True, slots=True)
class Change:
    """What is changed of an account.

    Attributes:
        of: A team's or an agent's name; empty: the fleet's account.
        limit: The new limit; None: none of its own.
        no_more: The limit stays, and who asks for more gets none.
    """

    of: str
    limit: Limits | None
    no_more: bool = False


async def changed(change: Change, name: str, address: str, *, as_json: bool) -> None:
    """Change it, and say so."""
    from .console import print_json
    from .joining import running

    async with running(name, address) as fleet:
        if change.no_more:
            await fleet.grant_no_more(of=change.of or None)
        else:
            await fleet.limit(change.limit, of=change.of or None)
    if as_json:
        new = change.limit and {each.name: getattr(change.limit, each.name) for each in fields(change.limit)}
        print_json({"fleet": fleet.name, "of": change.of or None, "limit": new, "no_more": change.no_more})
    else:
        say(f"fleet {fleet.name}: {told(change)}")


def told(change: Change) -> str:
    """What is so from now on, for a person."""
    whose = change.of or "the fleet"
    if change.no_more:
        return f"{whose} is granted no more: who needs more gives a last answer"
    return f"{whose} has no limit of its own" if change.limit is None else f"{whose} may spend {change.limit}"
