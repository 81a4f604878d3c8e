"""`amrita-fleet gc`: end what is left of dead fleets."""

import sys
from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated

import typer

from ..system import DeadFleet
from .console import say
from .errors import InputInvalid
from .options import Address, AsJson
from .wording import plural

__all__ = ("EPILOG", "gc")

EPILOG = """\
Example: amrita-fleet gc --dry-run

Example: amrita-fleet gc --fleet survey --yes

Exit status: 0 nothing is left of them, 1 Ray cannot be reached or has nothing of the fleet that is named, 2 bad
input."""


def gc(
    *,
    fleet: Annotated[
        str,
        typer.Option("--fleet", metavar="NAME", help="End this fleet, also one that lives.", show_default=False),
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", help="End the one that --fleet names without being asked.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be ended.")] = False,
    address: Address = "auto",
    as_json: AsJson = False,
) -> None:
    """End what is left on Ray of fleets without a Supervisor, and of services that were stopped whole or cannot go on.

    A fleet whose Supervisor does not answer now is left alone. Journals are left as they are.
    """
    from .carry_out import carry_out

    if fleet and not (yes or dry_run):
        agree(fleet)
    carry_out(collected(fleet, address, dry_run=dry_run, as_json=as_json), "what was ended stays so")


def agree(fleet: str) -> None:
    """Have a person say that a fleet shall end, which may live.

    Raises:
        InputInvalid: There is nobody to ask.
        typer.Abort: They said no.
    """
    if not sys.stdin.isatty():
        raise InputInvalid(reason=f"This ends the fleet {fleet!r} even if it lives: add --yes.")
    typer.confirm(f"End the fleet {fleet!r}, even if it lives?", abort=True)


async def collected(fleet: str, address: str, *, dry_run: bool, as_json: bool) -> None:
    """Collect, and say what."""
    from rich.console import Console

    from ..system import collect_garbage
    from .console import print_json
    from .ticking import ticking

    with ticking(Console(stderr=True)):
        where = None if address == "auto" else address
        dead = await collect_garbage(fleet or None, address=where, remove=not dry_run)
    if as_json:
        print_json({"dead": [asdict(each) for each in dead], "removed": not dry_run})
        return
    for line in told(dead, dry_run=dry_run):
        say(line)


def told(dead: Iterable[DeadFleet], *, dry_run: bool) -> Iterable[str]:
    """A line for each, or that there is none."""
    verb = "would end" if dry_run else "ended"
    lines = [f"{verb} {each.name} ({plural(len(each.actors), 'actor')}): {each.reason}" for each in dead]
    return lines or ["no dead fleet"]
