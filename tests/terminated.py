"""A process that owns a fleet, for tests that end it by a signal. It says on standard output what happens to it."""

import asyncio
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

__all__ = ("Owner", "owner")

SOURCES = str(Path(__file__).resolve().parents[1] / "src")
PATIENCE = 60.0

TURNS = 20
"""Turns of the event loop in which whoever closes a fleet has told its agents to drain: some five are enough."""


class Owner:
    """The test's end: the process, and all that descend from it."""

    def __init__(self, running: "subprocess.Popen[str]") -> None:
        self._running = running
        self._family: dict[int, int] = {}

    def told(self, wanted: str) -> list[str]:
        """What it says, up to a line."""
        said: list[str] = []
        for line in stream(self._running.stdout):
            said.append(line.strip())
            if line.strip() == wanted:
                return said
        raise AssertionError(said, stream(self._running.stderr).read())

    def signal(self, number: signal.Signals, *, everybody: bool = False) -> None:
        """Send it a signal, or, as a terminal does, its whole process group."""
        if everybody:
            os.killpg(self._running.pid, number)
        else:
            self._running.send_signal(number)

    def count(self) -> int:
        """Remember who descends from it now, by descriptors that name nobody else later; gives how many they are."""
        rows = subprocess.run(["ps", "-axwwo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout  # noqa: S607
        parents = {int(pid): int(parent) for pid, parent in map(str.split, rows.splitlines())}
        family = {self._running.pid}
        while more := {pid for pid, parent in parents.items() if parent in family} - family:
            family |= more
        for pid in family - self._family.keys() - {self._running.pid}:
            try:
                self._family[pid] = os.pidfd_open(pid)
            except ProcessLookupError:  # `ps` itself
                continue
        return len(self._family)

    def ended(self) -> tuple[int, str, str]:
        """Wait for its end; gives its status, and what it has still said on standard output and standard error."""
        out, err = self._running.communicate(timeout=PATIENCE)
        return self._running.returncode, out, err

    def left_behind(self) -> list[int]:
        """Those of whom were counted that still run, after a moment."""
        return [pid for pid, each in self._family.items() if not select.select([each], [], [], 10.0)[0]]

    def close(self) -> None:
        """End what a test that failed has left."""
        for pid, descriptor in ((self._running.pid, None), *self._family.items()):
            if self._running.poll() is None if descriptor is None else not select.select([descriptor], [], [], 0)[0]:
                os.kill(pid, signal.SIGKILL)
            if descriptor is not None:
                os.close(descriptor)


@contextmanager
def owner(system: str, how: str, *more: str, address: str = "") -> Generator[Owner]:
    """Start one; see `live` for what it does."""
    environment = {**os.environ, "PYTHONPATH": SOURCES, "PYTHONUNBUFFERED": "1", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
    if address:
        environment["RAY_ADDRESS"] = address
    command: Sequence[str] = (sys.executable, __file__, system, how, *more)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, env=environment, start_new_session=True
    ) as running:
        started = Owner(running)
        try:
            yield started
        finally:
            started.close()


def stream(found: IO[str] | None) -> IO[str]:
    assert found is not None
    return found


# --- the process itself -----------------------------------------------------------------------------------------------


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


async def live(system: str, how: str, server: str = "") -> None:
    """Own a fleet whose agent works, until something ends this.

    Args:
        system: Where its agents live.
        how: `works`: a tool of the agent takes a second. `stuck`: it takes an hour. `handles`: as `works`, and the
            program handles SIGTERM itself, by leaving the fleet as if nothing was. `goes on`: as `works`, and a
            cancellation does not end the program. `blocks`: nothing else happens in its event loop for an hour.
        server: A script that is an MCP server of the agent.
    """
    try:
        await own(system, how, server)
        say("was left by itself")
    except asyncio.CancelledError:
        if how != "goes on":
            raise
        say("goes on")
    finally:
        say("is over")


async def own(system: str, how: str, server: str) -> None:
    from amrita_fleet import Agent, Fleet, McpStdio, tool
    from amrita_fleet.protocols.providers import scripted as model

    @tool
    async def work(seconds: float) -> str:
        """Take some time."""
        await asyncio.sleep(seconds)
        return "worked"

    enough = asyncio.Event()
    if how == "handles":
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, enough.set)
    servers = (McpStdio("desk", sys.executable, (server, "terminated")),) if server else ()
    moves = (model.call("work", seconds=3600 if how == "stuck" else 1), model.call("work", seconds=3600))
    async with Fleet("terminated", system=system) as fleet:  # type: ignore[arg-type]
        (ana,) = await fleet.spawn(Agent(preset=model.scripted(*moves), tools=(work,), servers=servers), ["ana"])
        async for notice in await ana.start("go"):
            if notice.extra_type == "started" and notice.type == "tool":
                break
        say("works")
        if how == "blocks":
            time.sleep(3600)  # noqa: ASYNC251  on purpose
        try:
            await enough.wait()
        finally:
            leaving = asyncio.create_task(leaves())
    await leaving


async def leaves() -> None:
    """Say that the fleet is being left, once its agents drain: a second Ctrl-C before would find nothing begun."""
    for _ in range(TURNS):
        await asyncio.sleep(0)
    say("leaves")


if __name__ == "__main__":
    asyncio.run(live(*sys.argv[1:]))
