"""The simulator as a process of its own, which ends with the process that started it."""

import asyncio
import contextlib
import json
import os
import sys
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Self, cast

from ..errors import SystemUnavailable
from .faults import Faults

__all__ = ("SimulatorProcess",)

COMMAND = (sys.executable, "-m", "amrita_fleet.runtime.simulator")
GRACE = 5.0
"""Seconds the process has to end by itself."""


class SimulatorProcess:
    """A simulator in a child process while the context is entered.

    The child reads its settings from its standard input, so that no key stands in the list of processes, and ends when
    that input does: at the end of the context, or when this process dies in whatever way.

    Attributes:
        base_url: Where the paths of the wire format begin; empty until the context is entered.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        scenario_files: Iterable[str | Path] = (),
        key: str = "",
        faults: Faults | None = None,
    ) -> None:
        """Prepare a process; the arguments are those of `serve`."""
        self.base_url = ""
        self._settings = {
            "port": port,
            "scenario_files": [str(Path(path).resolve()) for path in scenario_files],
            "key": key,
            "faults": asdict(faults or Faults()),
        }
        self._process: Process | None = None

    async def __aenter__(self) -> Self:
        """Start the process and wait until it listens.

        Raises:
            SystemUnavailable: It could not start; the reason is the child's.
        """
        # The child finds the package where this process found it, as `multiprocessing` does.
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        process = await asyncio.create_subprocess_exec(
            *COMMAND, stdin=PIPE, stdout=PIPE, env=env, start_new_session=True
        )
        try:
            self.base_url = await self._first_line(process)
        except BaseException:
            await self._end(process)
            raise
        self._process = process
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process."""
        if self._process:
            await self._end(self._process)

    async def _first_line(self, process: Process) -> str:
        """Give the child its settings and read the base URL it answers with."""
        writer, reader = cast("StreamWriter", process.stdin), cast("StreamReader", process.stdout)
        writer.write(json.dumps(self._settings).encode() + b"\n")
        line = (await reader.readline()).decode().strip()
        if not line.startswith("http://"):
            raise SystemUnavailable(system="simulator", reason=line or "its process ended before it listened.")
        return line

    @staticmethod
    async def _end(process: Process) -> None:
        """Close its input; kill it only when that does not help."""
        cast("StreamWriter", process.stdin).close()
        try:
            await asyncio.wait_for(process.wait(), GRACE)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
