"""`approvals`, `approve` and `refuse`: the calls of a running fleet that wait for a person, from another terminal."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from rich.console import Console

from amrita_fleet.protocols.approval import Approval
from amrita_fleet.protocols.ids import AgentId, RunId
from amrita_fleet.runtime.cli.approvals import approvals_table
from amrita_fleet.runtime.cli.status import Status
from amrita_fleet.runtime.cli.visible import visible

SOURCE = Path(__file__).resolve().parents[3] / "src"

OWNER = """
import asyncio, sys
from amrita_fleet import Agent, Fleet, tool
from amrita_fleet.protocols.providers.scripted import call, calls, say, scripted

@tool(approval=True)
async def delete(path: str) -> str:
    return f"deleted {path}"

async def own() -> None:
    async with Fleet("asking") as fleet:
        script = scripted(calls(call("delete", path="x"), call("delete", path="y")), say("Done."))
        (ana,) = await fleet.spawn(Agent(preset=script, tools=(delete,)), ["ana"])
        run = await ana.start("go")
        async for notice in run:
            if notice.extra_type == "approval" and '"y"' in str(notice.data["arguments"]):
                break
        import ray
        print(ray.get_runtime_context().gcs_address, flush=True)
        print(*[notice.text async for notice in run if notice.type == "tool"], sep="|", flush=True)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(own())
"""


def typed(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-m", "amrita_fleet", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def line(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline().strip()


def pending(address: str) -> list[dict[str, Any]]:
    done = typed("approvals", "--json", "--address", address)
    assert (done.returncode, done.stderr) == (Status.OK, "")
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["fleet"] == "asking"
    rows: list[dict[str, Any]] = told["approvals"]
    return rows


@contextmanager
def owner_of_a_fleet() -> Generator[subprocess.Popen[str]]:
    """A process with a fleet whose agent asks; ended when its standard input is, or when a test fails."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        try:
            yield owner
        except BaseException:
            owner.kill()
            raise


@pytest.mark.ray
def test_calls_are_listed_allowed_and_refused_from_another_terminal() -> None:
    with owner_of_a_fleet() as owner:
        address = line(owner.stdout)
        x, y = pending(address)
        assert (x["agent"], x["tool"], x["arguments"]) == ("ana", "delete", '{"path":"x"}')
        table = typed("approvals", "--address", address).stdout
        assert table.startswith("fleet asking: 2 calls waiting for approval\n")
        assert y["id"] in table
        allowed = typed("approve", x["id"], "--address", address)
        assert (allowed.returncode, allowed.stdout) == (Status.OK, f"fleet asking: {x['id']} may run\n")
        again = typed("refuse", x["id"], "--address", address)
        assert (again.returncode, again.stdout) == (Status.BAD_INPUT, "")
        assert f"No approval '{x['id']}' is pending: it was answered" in again.stderr
        assert f"pending there: {y['id']}." in again.stderr
        stranger = typed("approve", "anna.1.1.1", "--address", address)
        assert stranger.returncode == Status.BAD_INPUT
        assert "No approval 'anna.1.1.1' is pending" in stranger.stderr
        refused = typed("refuse", y["id"], "--reason", "Keep it.", "--json", "--address", address)
        assert json.loads(refused.stdout) == {"fleet": "asking", "id": y["id"], "allowed": False, "reason": "Keep it."}
        told = line(owner.stdout)
        assert "delete: deleted x" in told
        assert "Keep it." in told
        assert "deleted y" not in told
        assert typed("approvals", "--address", address).stdout == "fleet asking: 0 calls waiting for approval\n"
        owner.communicate()


def test_nothing_of_what_is_decided_about_is_cut_or_hidden() -> None:
    arguments = '{"path":"' + "Q" * 300 + '\u202e\x1b[2K"}'
    waiting = Approval("ana.1.1.9", AgentId("ana"), RunId("ana.1.1"), 1, "delete", arguments, "[red]marked", 90.0)
    console = Console(width=100, file=io.StringIO(), color_system=None)
    with console.capture() as shown:
        console.print(approvals_table([waiting], now=100.0))
    text = shown.get()
    assert (text.count("Q"), "10 s" in text, "[red]marked" in text) == (300, True, True)
    assert not {"\u202e", "\x1b"} & set(text)
    assert visible(arguments) == '{"path":"' + "Q" * 300 + '\\u202e\\x1b[2K"}'
