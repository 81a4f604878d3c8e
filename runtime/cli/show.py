"""`amrita-fleet show`: one run of a running fleet, from its task to its outcome."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ...protocols.notices import Notice, NoticeType
from ..helm import Helm
from .console import say
from .errors import InputInvalid
from .options import Address, AsJson, FleetName

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ("EPILOG", "events", "show", "timeline")

EPILOG = """\
Example: amrita-fleet show ana.1.1

Exit status: 0 the run was found, 1 no fleet runs there, 2 bad input: that includes a run of which no notice is kept."""


def show(
    run: Annotated[str, typer.Argument(help="Its id, as `ps --json` and `watch --json` have it.", show_default=False)],
    *,
    fleet: FleetName = "",
    address: Address = "auto",
    as_json: AsJson = False,
) -> None:
    """Show one run: its Steps, model calls, tools and mail in order, and its outcome once it is over."""
    from .carry_out import carry_out

    carry_out(shown(run, fleet, address, as_json=as_json))


async def shown(run: str, name: str, address: str, *, as_json: bool) -> None:
    """Print the run of one fleet."""
    from .console import print_json, stdout
    from .joining import running

    async with running(name, address) as fleet:
        found = await events(fleet, run)
    end = ending(found)
    if as_json:
        told = {"outcome": None if end is None else dict(end.data), "notices": [asdict(each) for each in found]}
        print_json({"fleet": fleet.name, "run": run, "agent": found[0].agent, **told})
        return
    say(f"fleet {fleet.name}: run {run} of {found[0].agent}")
    stdout().print(timeline(found))
    say("It goes on." if end is None else f"{end.data.get('outcome')}: {end.data.get('text')}")


async def events(fleet: Helm, run: str) -> tuple[Notice, ...]:
    """The notices of a run, oldest first.

    Raises:
        InputInvalid: There are none, or none any more.
    """
    from .past import past

    told = await past(fleet)
    found = tuple(notice for notice in told if notice.run == run)
    if not found:
        known = list(dict.fromkeys(notice.run for notice in told if notice.run))[-5:]
        others = f" The last runs are {', '.join(known)}." if known else ""
        raise InputInvalid(reason=f"The fleet keeps no notice of a run {run!r}.{others}")
    return found


def ending(found: Sequence[Notice]) -> Notice | None:
    """The notice of its end; None: it goes on."""
    ends = [notice for notice in found if (notice.type, notice.extra_type) == (NoticeType.RUN, "finished")]
    return ends[-1] if ends else None


def timeline(found: Sequence[Notice]) -> "Table":
    """What happened when, in seconds since the run began."""
    from rich.table import Table

    from .table import one_line

    table = Table()
    table.add_column("after", no_wrap=True, justify="right")
    table.add_column("Step", no_wrap=True, justify="right")
    table.add_column("what", no_wrap=True)
    table.add_column("in words")
    for notice in found:
        after = f"{notice.at - found[0].at:.2f} s"
        table.add_row(after, f"{notice.step}", f"{notice.type}.{notice.extra_type}", one_line(notice.text))
    return table
