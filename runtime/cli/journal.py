"""`amrita-fleet journal`: the fleets that journals hold, and deleting them."""

import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .console import say
from .errors import InputInvalid
from .options import AsJson
from .wording import plural, size_shown

if TYPE_CHECKING:
    from .archive import Entry

__all__ = ("EPILOG", "journal")

EPILOG = """\
Example: amrita-fleet journal

Example: amrita-fleet journal --older-than 30 --yes

A fleet of `run` or `demo` whose runs have all ended is deleted from the user's folder by itself when the next one
begins and 30 days have passed. Others, and those in journals that you named, stay until you delete them here.

Exit status: 0 it was done, 1 you answered no, or a fleet that you named was opened meanwhile, 2 bad input: that
includes a fleet that is not there or still runs, and a journal that cannot be used."""

DAY = 86_400.0


def journal(
    *,
    place: Annotated[
        str,
        typer.Option(
            "--journal",
            metavar="PATH|URL",
            help="Which one; env:NAME reads that from the environment. If left out, all files in the user's folder.",
            show_default=False,
        ),
    ] = "",
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Delete this fleet; can be given again.", show_default=False),
    ] = None,
    older_than: Annotated[
        float | None,
        typer.Option(
            metavar="DAYS", min=0.0, help="Delete fleets that nobody opened or wrote to since.", show_default=False
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without being asked.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the fleets that are written down: their size, when they were last written to, whether they could go on.

    With --drop or --older-than it deletes them instead, for good; a fleet that runs is not deleted.
    """
    from .carry_out import carry_out

    if drop and older_than is not None:
        raise InputInvalid(reason="Give --drop or --older-than, not both.")
    before = None if older_than is None else time.time() - older_than * DAY
    if drop or before is not None:
        raise typer.Exit(carry_out(deleted(place, tuple(drop or ()), before, yes=yes, as_json=as_json)))
    raise typer.Exit(carry_out(listed(place, as_json=as_json)))


async def listed(place: str, *, as_json: bool) -> int:
    """Print the table; gives the exit status."""
    from .archive import archive
    from .console import complain, print_json, stdout

    kept = archive(place)
    entries = await kept.entries()
    if as_json:
        print_json({"fleets": [shown(each) for each in entries], "unreadable": kept.unreadable})
        return 0
    size = sum(each.fleet.size for each in entries)
    say(f"{kept.where}: {plural(len(entries), 'fleet')}, {size_shown(size)}")
    if entries:
        stdout().print(table(entries, time.time()))
    for path, reason in kept.unreadable.items():
        complain(f"{path} is left out: {reason}")
    return 0


async def deleted(place: str, names: tuple[str, ...], before: float | None, *, yes: bool, as_json: bool) -> int:
    """Delete fleets, once that is confirmed; gives the exit status.

    Raises:
        InputInvalid: One is not there or runs, or nobody can be asked.
    """
    from .archive import archive
    from .console import print_json

    kept = archive(place)
    chosen = await kept.chosen(names, before)
    if chosen and not (yes or confirmed(chosen)):
        return 1
    gone = await kept.delete(chosen, before)
    if as_json:
        print_json({"deleted": [shown(each) for each in gone], "left": kept.left})
    else:
        left = f"; left, because they may be running: {', '.join(kept.left)}" if kept.left else ""
        told = ", ".join(each.fleet.name for each in gone)
        say(f"{plural(len(gone), 'fleet')} deleted{told and f': {told}'}{left}")
    return 1 if names and kept.left else 0


def confirmed(chosen: "tuple[Entry, ...]") -> bool:
    """Ask the person at the terminal, on standard error.

    Raises:
        InputInvalid: There is none.
    """
    names = ", ".join(f"{each.fleet.name}{'' if each.fleet.ended else ' (could go on)'}" for each in chosen)
    if not sys.stdin.isatty():
        raise InputInvalid(reason=f"Nothing was deleted: to delete {names}, add --yes.")
    return typer.confirm(f"Delete {names}, for good?", err=True)


def table(entries: "tuple[Entry, ...]", now: float) -> Any:  # noqa: ANN401  rich's, imported only here
    """The fleets as a table; `now` in Unix seconds."""
    from rich.table import Table
    from rich.text import Text

    made = Table()
    made.add_column("fleet", no_wrap=True, style="bold")
    for heading in ("agents", "streams", "size", "last written"):
        made.add_column(heading, no_wrap=True, justify="right")
    made.add_column("could go on")
    for each in entries:
        fleet = each.fleet
        counts = (f"{len(fleet.agents):,}", f"{fleet.streams:,}", size_shown(fleet.size), ago(now - fleet.written))
        made.add_row(fleet.name, *counts, Text(state(each)))
    return made


def state(entry: "Entry") -> str:
    """Whether there is anything left to do for a fleet."""
    if entry.fleet.ended:
        return "no: its runs have ended"
    return "another process has it open" if entry.in_use else "yes"


def ago(seconds: float) -> str:
    """A time that has passed, in words."""
    for unit, length in (("day", DAY), ("hour", 3_600.0), ("minute", 60.0)):
        if seconds >= length:
            return f"{plural(int(seconds / length), unit)} ago"
    return f"{plural(max(0, int(seconds)), 'second')} ago"


def shown(entry: "Entry") -> dict[str, Any]:
    """A fleet as JSON; `written` in Unix seconds, `size` in bytes."""
    return {"journal": entry.where, "in_use": entry.in_use} | entry.fleet._asdict()
