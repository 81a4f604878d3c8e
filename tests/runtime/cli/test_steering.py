"""`ps`, `send` and `stop`: a running fleet, from another terminal."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amrita_fleet.runtime.cli.status import Status

from .owned import owned, typed

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with owned() as address:
        yield address


def rows(address: str) -> dict[str, dict[str, Any]]:
    done = typed("ps", "--all", "--json", "--address", address)
    assert (done.returncode, done.stderr) == (Status.OK, "")
    told: dict[str, Any] = json.loads(done.stdout)
    assert (told["fleet"], told["hidden"]) == ("watched", 0)
    return {row["agent"]: row for row in told["agents"]}


def test_agents_are_listed_messaged_and_stopped(address: str) -> None:
    found = rows(address)
    assert list(found) == ["ana", "bob"]
    assert [row["node"] for row in found.values()] == [address.partition(":")[0]] * 2
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
