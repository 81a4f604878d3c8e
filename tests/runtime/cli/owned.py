"""A fleet on Ray that another process owns, and commands that are typed beside it."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

__all__ = ("environment", "interrupted", "owned", "typed")

SOURCE = Path(__file__).resolve().parents[3] / "src"

OWNER = """
import asyncio, sys
from amrita_fleet import Agent, Fleet, tool
from amrita_fleet.protocols.providers.scripted import call, calls, say, scripted

@tool(approval=True)
async def delete(path: str) -> str:
    return f"deleted {path}"

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
        if "asking" in sys.argv:
            script = scripted(calls(call("delete", path="x"), call("delete", path="y")), say("Done."))
            (lead,) = await fleet.spawn(Agent(preset=script, tools=(delete,)), ["lead"])
            async for notice in await lead.start("Tidy up."):
                if notice.extra_type == "approval" and '"y"' in str(notice.data["arguments"]):
                    break
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
    """Where Ray runs with the fleet `watched`, whose agents `ana` and `bob` idle.

    With `ran`, ana has made a run; with `asking`, `lead` waits for two calls to be approved; with `hostile` and a text
    in hex, everybody has written that text, and `dan` waits for approval of a call.
    """
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


def typed(*arguments: str, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    """A command, once it is over."""
    command = [sys.executable, "-m", "amrita_fleet", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment(**more), capture_output=True, text=True, check=False)


def interrupted(*arguments: str, cwd: Path | None = None, **more: str) -> tuple[int, str, str]:
    """A command that goes on until Ctrl-C, which is pressed after its first line: its status and what it said."""
    command = [sys.executable, "-m", "amrita_fleet", *arguments]
    with subprocess.Popen(
        command, cwd=cwd, env=environment(**more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, said = process.communicate()
    return process.returncode, first + rest, said
