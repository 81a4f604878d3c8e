"""`amrita-fleet record`: a running fleet's notices, written to a file."""

from pathlib import Path
from typing import Annotated

import typer

from ..helm import Helm
from .console import say
from .errors import FleetOver, InputInvalid
from .options import Address, FleetName
from .status import NAME

__all__ = ("EPILOG", "record", "written")

EPILOG = """\
Example: amrita-fleet record monday.jsonl

Exit status: 0 the fleet is over, 1 no fleet runs there, 2 bad input: that includes a file that is there already, 130
interrupted."""


def record(
    file: Annotated[Path, typer.Argument(help="A new file.", show_default=False)],
    *,
    fleet: FleetName = "",
    address: Address = "auto",
) -> None:
    """Write a running fleet's notices to a file, from the oldest it remembers, until it is over or Ctrl-C.

    `replay` shows them.
    """
    from .carry_out import carry_out

    left = f"what was recorded is in {file}; see it with `{NAME} replay {file}`"
    carry_out(recorded(file, fleet, address), left)


async def recorded(file: Path, name: str, address: str) -> None:
    """Join a fleet, and write until it is over.

    Raises:
        InputInvalid: The file cannot be made.
    """
    from .joining import running

    try:
        async with running(name, address) as fleet:
            await written(fleet, file)
    except FleetOver as over:
        say(f"{over} All that it told is in {file}.")


async def written(fleet: Helm, file: Path) -> None:
    """Write each notice as it comes, and say so once all that happened before is written.

    What was told is there whenever this ends.

    Raises:
        InputInvalid: The file cannot be made.
    """
    from ..gateway.recording import recorded_head, recorded_line
    from .past import newest

    try:
        out = file.open("x", encoding="ascii", buffering=1)
    except OSError as error:
        raise InputInvalid(reason=f"The file {str(file)!r} cannot be made: {error.strerror}.") from None
    with out:
        out.write(recorded_head(fleet.name))
        last, told = await newest(fleet), f"fleet {fleet.name}: recorded in {file}"
        if not last:
            say(told)
        async for notice in fleet.notices():
            out.write(recorded_line(notice))
            if notice.number == last:
                say(told)
