"""`ps`, `send` and `stop`: a running fleet, from another terminal."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amrita_fleet.runtime.cli.status import Status

pytestmark = pytest.mark.ray

SOURCE = Path(__file__).resolve().parents[3] / "src"

OWNER = """
import asyncio, sys
from amrita_fleet import Agent, Fleet
from amrita_fleet.protocols.providers.scripted import say, scripted

async def own() -> None:
    async with Fleet("watched", limit=100_000) as fleet:
        await fleet.spawn(Agent(preset=scripted(say("heard"), say("again"))), ["ana", "bob"])
        import ray
        print(ray.get_runtime_context().gcs_address, flush=True)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(own())
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where Ray runs with a fleet that another process owns; its agents idle."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        yield owner.stdout.readline().strip()
        owner.communicate()


def typed(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), **more}
    command = [sys.executable, "-m", "amrita_fleet", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def rows(address: str) -> dict[str, dict[str, Any]]:
    done = typed("ps", "--all", "--json", "--address", address)
    assert (done.returncode, done.stderr) == (Status.OK, "")
    told: dict[str, Any] = json.loads(done.stdout)
    assert (told["fleet"], told["hidden"]) == ("watched", 0)
    return {row["agent"]: row for row in told["agents"]}


def test_agents_are_listed_messaged_and_stopped(address: str) -> None:
    assert list(rows(address)) == ["ana", "bob"]
    table = typed("ps", "--fleet", "watched", RAY_ADDRESS=address)
    assert table.stdout.startswith("fleet watched: 2 agents\n")
    assert "ana" in table.stdout
    sent = typed("send", "ana", "Hello.", "--json", "--address", address)
    told = json.loads(sent.stdout)
    assert (sent.returncode, told["fleet"], told["state"]) == (Status.OK, "watched", "accepted")
    stopped = typed("stop", "bob", "--address", address)
    assert (stopped.returncode, stopped.stdout) == (Status.OK, "fleet watched: stopped bob\n")
    after = rows(address)
    assert (after["bob"]["phase"], after["ana"]["consumed"]) == ("stopped", 1)
    living = typed("ps", "--address", address).stdout
    assert living.startswith("fleet watched: 1 agent; dead or stopped and not shown: 1 (--all shows them)\n")
    assert "bob" not in living
    refused = typed("send", "bob", "Hello?", "--address", address)
    assert (refused.returncode, refused.stderr) == (Status.FAILED, "")
    assert refused.stdout.endswith(" to bob: refused: stopped\n")
    everybody = typed("stop", "--all", "--fleet", "watched", "--json", "--address", address)
    assert (everybody.returncode, "ana" in json.loads(everybody.stdout)["stopped"]) == (Status.OK, True)
    assert typed("ps", "--address", address).stdout.startswith("fleet watched: 0 agents; dead or stopped")


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (("send", "anna", "Hello."), Status.BAD_INPUT, "The fleet has no agent named 'anna'. Did you mean ana?"),
        (("stop", "nobody"), Status.BAD_INPUT, "The fleet has no agent named 'nobody'."),
        (
            ("stop", "--all"),
            Status.BAD_INPUT,
            "Nobody is stopped: to stop the whole fleet that runs here, add `--fleet watched`.",
        ),
        (
            ("stop",),
            Status.BAD_INPUT,
            "Nobody is stopped: name agents, or give --all to stop the whole fleet 'watched'.",
        ),
        (("ps", "--fleet", "other"), Status.FAILED, "no fleet named 'other': there are watched."),
    ],
)
def test_what_is_not_there_is_told(address: str, arguments: tuple[str, ...], status: Status, sentence: str) -> None:
    done = typed(*arguments, "--address", address)
    assert (done.returncode, done.stdout) == (status, "")
    said, see = done.stderr.splitlines()
    assert said.startswith("amrita-fleet: ")
    assert said.endswith(sentence)
    assert see.startswith("See amrita-fleet explain ")


@pytest.mark.parametrize("command", ["ps", "demo"])
def test_a_ray_that_is_not_there_is_told(command: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a text")
    arguments = (command, str(tmp_path)) if command == "demo" else (command,)
    done = typed(*arguments, RAY_ADDRESS="127.0.0.1:9")
    assert done.returncode == Status.FAILED
    said, see = done.stderr.splitlines()
    assert "nothing answers at 127.0.0.1:9" in said
    assert see == "See amrita-fleet explain SystemUnavailable"
