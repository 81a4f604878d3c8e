"""The child of `SimulatorProcess`: it reads one line of settings, writes its base URL, and ends when its input does."""

import asyncio
import json
import sys
from typing import Any

from ...protocols.errors import FleetError
from ..errors import SystemUnavailable
from .faults import Faults
from .library import read_scenarios
from .server import Simulator


async def main() -> int:
    """Serve until standard input ends; the exit status."""
    lines = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(lines)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    try:
        async with simulator(json.loads(await lines.readline())) as running:
            say(running.base_url)
            await lines.read()
    except SystemUnavailable as error:
        say(error.reason)
    except FleetError as error:
        say(str(error))
    else:
        return 0
    return 1


def simulator(settings: dict[str, Any]) -> Simulator:
    """The simulator that the settings describe."""
    return Simulator(
        port=settings["port"],
        scenarios=read_scenarios(settings["scenario_files"]),
        key=settings["key"],
        faults=Faults(**settings["faults"]),
    )


def say(line: str) -> None:
    """Answer the parent with one line."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
