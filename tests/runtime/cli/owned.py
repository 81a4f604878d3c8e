"""A fleet on Ray that another process owns, and commands that are typed beside it."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

__all__ = ("environment", "owned", "typed")

SOURCE = Path(__file__).resolve().parents[3] / "src"

OWNER = """
import asyncio, sys
from amrita_fleet import Agent, Fleet, tool
from amrita_fleet.protocols.providers.scripted import call, say, scripted

async def be_hostile(fleet: Fleet, evil: str) -> None:
    # Everybody who can write a text writes this one.
    @tool(approval=True)
    def danger(what: str) -> str:
        return what
    @tool
    def fail() -> str:
        raise RuntimeError(evil)
    calls = call("fail"), call(f"no{evil}"), call("send_message", to="bob", body=evil), say(evil)
    cat, dan = [Agent(preset=scripted(*moves), tools=[danger, fail]) for moves in (calls, [call("danger", what=evil)])]
    await fleet.pause("bob", evil)
    await fleet.spawn(dan, ["dan"])
    (ref,) = await fleet.spawn(cat, ["cat"])
    await ref.run(evil)
    await fleet.stop("bob", reason=evil)
    await fleet.start("dan", evil)
    async for notice in fleet.notices():
        if (notice.type, notice.extra_type) == ("tool", "approval"):
            break

async def own() -> None:
    async with Fleet("watched", limit=100_000) as fleet:
        ana, _ = await fleet.spawn(Agent(preset=scripted(say("heard"), say("again"))), ["ana", "bob"])
        if "ran" in sys.argv:
            await ana.run("Say something.")
        if "hostile" in sys.argv:
            await be_hostile(fleet, bytes.fromhex(sys.argv[-1]).decode())
        import ray
        print(ray.get_runtime_context().gcs_address, flush=True)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(own())
"""


def environment(**more: str) -> dict[str, str]:
    """What commands of this checkout find around them."""
    return {**os.environ, "PYTHONPATH": str(SOURCE), **more}


@contextmanager
def owned(*arguments: str) -> Generator[str]:
    """Where Ray runs with the fleet `watched`, whose agents `ana` and `bob` idle; with `ran`, ana has made a run;
    with `hostile` and a text in hex, everybody has written that text, and `dan` waits for approval of a call."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, *arguments],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout is not None
        yield owner.stdout.readline().strip()
        owner.communicate()


def typed(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """A command, once it is over."""
    command = [sys.executable, "-m", "amrita_fleet", *arguments]
    return subprocess.run(command, env=environment(**more), capture_output=True, text=True, check=False)
