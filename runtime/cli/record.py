"""`amrita-fleet record`: a running fleet's notices, written to a file."""

import asyncio
from io import FileIO
from pathlib import Path
from typing import Annotated

import typer

from ...protocols.errors import FleetError
from ..helm import Helm
from .console import complain, say
from .errors import FleetOver, InputInvalid, RecordingCut
from .options import Address, FleetName
from .status import NAME

__all__ = ("EPILOG", "record", "written")

EPILOG = """\
Example: amrita-fleet record monday.jsonl

Exit status: 0 the fleet is over, 1 no fleet runs there or the disk is full, 2 bad input: that includes a file that is
there already, 130 interrupted."""

LAST_PATIENCE = 2.0
"""Seconds that a fleet has to tell the last when somebody presses Ctrl-C."""


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

    What was told is there whenever this ends: who is cancelled, as by Ctrl-C, reads once more.

    Raises:
        InputInvalid: The file cannot be made.
        RecordingCut: It can be written no further.
    """
    from ..gateway.recording import recorded_head, recorded_line
    from .past import newest

    try:
        out = file.open("xb", buffering=0)
    except OSError as error:
        raise InputInvalid(reason=f"The file {str(file)!r} cannot be made: {error.strerror}.") from None
    with out:
        recording = Growing(out, file)
        recording.add(recorded_head(fleet.name))
        last, told = await newest(fleet), f"fleet {fleet.name}: recorded in {file}"
        if not last:
            say(told)
        try:
            async for notice in fleet.notices():
                before = recording.last
                recording.add(recorded_line(notice), notice.number)
                if before < last <= notice.number:  # that very one may be forgotten by now
                    say(told)
        except asyncio.CancelledError:
            await add_rest(recording, fleet)
            raise


async def add_rest(recording: "Growing", fleet: Helm) -> None:
    """Add what was told meanwhile, if the fleet still answers."""
    from ..gateway.recording import recorded_line
    from .past import past

    try:
        async with asyncio.timeout(LAST_PATIENCE):
            for notice in await past(fleet, after=recording.last):
                recording.add(recorded_line(notice), notice.number)
    except (TimeoutError, FleetError) as error:
        complain(f"The last moment may be missing: {str(error) or 'the fleet does not answer.'}")


class Growing:
    """A file that has whole lines only, whatever happens.

    Attributes:
        last: Number of the last notice in it; 0: it has none.
    """

    def __init__(self, out: FileIO, path: Path) -> None:
        """Write to an empty file."""
        self.last = 0
        self._out = out
        self._path = path
        self._size = 0

    def add(self, line: str, number: int = 0) -> None:
        """Add a line, which is in the file when this returns. `number`: that of its notice.

        Raises:
            RecordingCut: It cannot be.
        """
        data = line.encode("ascii")
        try:
            written = 0
            while written < len(data):
                written += self._out.write(data[written:])
        except OSError as error:
            self._out.truncate(self._size)
            reason = error.strerror or str(error)
            raise RecordingCut(path=str(self._path), reason=reason, last=self.last) from None
        self._size += len(data)
        self.last = number
