"""`amrita-fleet watch`: what happens in a running fleet, a line for each event."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated

import typer

from ...protocols.notices import Notice
from ..helm import Helm
from .options import Address, FleetName
from .status import NAME

__all__ = ("EPILOG", "Lines", "follow", "joined", "watch")

EPILOG = """\
Example: amrita-fleet watch --after 0 --json --once

Exit status: 0 with --once, 1 no fleet runs there or it has ended, 2 bad input, 130 interrupted."""

RECENT = 20
"""Notices that are shown of what went before."""

After = Annotated[
    int,
    typer.Option(metavar="N", help="Begin behind the notice of this number; below 0, it counts from the end."),
]

Once = Annotated[bool, typer.Option("--once", help="Print what has happened so far, and end.")]

Lines = Annotated[bool, typer.Option("--json", help="Print a JSON object a line, with all facts of the notice.")]


def watch(
    agents: Annotated[
        list[str] | None, typer.Argument(help="Whose notices; all if nobody is named.", show_default=False)
    ] = None,
    *,
    after: After = -RECENT,
    once: Once = False,
    as_json: Lines = False,
    fleet: FleetName = "",
    address: Address = "auto",
) -> None:
    """Print the notices of a running fleet as they come, until Ctrl-C. Leaving it ends nothing."""
    from .carry_out import carry_out

    work = joined(tuple(agents or ()), after, fleet, address, once=once, as_json=as_json)
    carry_out(work, f"the fleet goes on; see it with `{NAME} ps`")


async def joined(agents: tuple[str, ...], after: int, name: str, address: str, *, once: bool, as_json: bool) -> None:
    """Join a fleet and print what it tells.

    Raises:
        AgentUnknown: It has no such agent.
    """
    from .console import stdout
    from .joining import running
    from .named import check_named
    from .past import past
    from .screen import Lines as Printed

    tell = print_line if as_json else Printed(stdout()).tell
    async with running(name, address) as fleet:
        await check_named(fleet, agents)
        if not once:
            await follow(fleet, agents, after, tell)
        for notice in await past(fleet, agents, after):
            tell(notice)


async def follow(fleet: Helm, agents: tuple[str, ...], after: int, tell: Callable[[Notice], None]) -> None:
    """Tell the notices of these agents, or of all, for ever."""
    async for notice in fleet.notices(after):
        if not agents or notice.agent in agents:
            tell(notice)


def print_line(notice: Notice) -> None:
    """One notice as JSON on a line, for a program that reads along."""
    from .console import print_json

    print_json(asdict(notice))
