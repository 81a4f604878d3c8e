"""The examples in the commands' help, typed word for word: each of them is run here.

Where an example speaks to a provider or counts a folder that not everybody has, options after its words say where the
simulated provider is.
"""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio import to_thread

from amrita_fleet.runtime.cli import app
from amrita_fleet.runtime.cli.status import Status
from amrita_fleet.runtime.simulator.process import SimulatorProcess

from .owned import environment, interrupted, owned, typed

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

EXAMPLES = frozenset(
    example
    for _, epilog in app.COMMANDS
    for example in re.findall(r"^Example: amrita-fleet (.*)$", epilog, re.MULTILINE)
)

BY_ITSELF = {
    "explain ContextOverflow": "ContextOverflow",
    "explain step.stall": "stall",
    "journal": ": 0 fleets, 0 ",
    "journal --older-than 30 --yes": "0 fleets deleted\n",
}
"""Of commands that need no fleet: what they say."""

ON_A_FLEET = {
    'pause ana bob --reason "the index is being rebuilt"': "ana, bob: paused at the next boundary or model call\n",
    "resume ana bob": "fleet watched: ana, bob: may go on\n",
    "limit --of ana --tokens 50000 --model-calls 20": "ana may spend 50,000 tokens, 20 model calls\n",
    "dead-letters --of ana": "fleet watched: 0 dead letters\n",
    "show ana.1.1": "answered: heard\n",
    "top --sort tokens": "fleet watched: 2 agents: ",
    "ps --json": '"agent": "bob"',
    "approvals": "fleet watched: 0 calls waiting for approval\n",
    'send ana "Please hurry."': " to ana: accepted\n",
    "attach --until-idle": "fleet watched: 2 agents\n",
    "watch --after 0 --json --once": '"extra_type": "ready"',
    "gc --dry-run": "",
}
"""Of commands beside a fleet of ana, who has made a run, and bob: what they say."""

UNTIL_CTRL_C = {
    "tail ana": ("ana ", "the fleet goes on; see it with `amrita-fleet ps`."),
    "dashboard --port 8400 --no-open": ("fleet watched: http://127.0.0.1:", "the fleet goes on; see it with"),
    "record monday.jsonl": ("fleet watched: recorded in monday.jsonl\n", "see it with `amrita-fleet replay"),
}
"""Of commands that go on: what they say first, and after Ctrl-C."""

REPLAYED = "replay monday.jsonl --pace 10"

LASTING = {"kill ana": "fleet watched: ana: its process was ended\n", "stop bob": "fleet watched: stopped bob\n"}
"""Of commands after which a fleet is no longer as it was: what they say."""

SERVICE = "gc --fleet survey --yes"

SURVEY = """
import asyncio, sys
from amrita_fleet import Agent, Fleet
from amrita_fleet.protocols.providers.scripted import say, scripted

async def serve() -> None:
    async with Fleet("survey", service=True, journal=sys.argv[1]) as fleet:
        await fleet.spawn(Agent(preset=scripted(say("heard"))), ["sue"])

asyncio.run(serve())
"""
"""A process that leaves a service behind."""

ANSWERS = {
    "approve lead.1.2.17": " may run\n",
    'refuse lead.1.2.17 --reason "Keep that file."': " does not run\n",
}
"""Of commands that want the id of a call: what they say."""

FILES = ("check fleet.yaml", "run fleet.yaml")
"""Of commands about a file; `test_run_file` runs them on the one in the documentation."""

MODELS = {
    'run "What do my notes say?" --base-url http://localhost:11434/v1 --model qwen3 --tools notes:read': (
        "--model simulated-doctor --system local",
        "answered",
    ),
    "doctor --base-url https://api.deepseek.com/v1 --model deepseek-chat --api-key env:DEEPSEEK_API_KEY": (
        "--model simulated-doctor",
        "simulated-doctor",
    ),
}
"""Of commands that speak to a provider: options besides the simulated one's address; what they say."""

DEMO = "demo ~/notes --agents 6"

SIMULATOR = "simulate --port 8123"

GRAFANA = "grafana dashboards"


def words(example: str) -> list[str]:
    return shlex.split(example)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A fleet in which ana has made a run."""
    with owned("ran") as address:
        yield address


def test_each_example_is_run_here() -> None:
    run = {
        *BY_ITSELF,
        *ON_A_FLEET,
        *UNTIL_CTRL_C,
        REPLAYED,
        *LASTING,
        SERVICE,
        *ANSWERS,
        *FILES,
        *MODELS,
        DEMO,
        SIMULATOR,
        GRAFANA,
    }
    assert run == EXAMPLES


@pytest.mark.parametrize(("example", "told"), BY_ITSELF.items())
def test_a_command_that_needs_no_fleet(example: str, told: str, tmp_path: Path) -> None:
    done = typed(*words(example), XDG_STATE_HOME=str(tmp_path))
    assert (done.returncode, done.stderr) == (Status.OK, "")
    assert told in done.stdout


@pytest.mark.ray
@pytest.mark.parametrize(("example", "told"), ON_A_FLEET.items())
def test_a_command_beside_a_fleet(address: str, example: str, told: str) -> None:
    done = typed(*words(example), RAY_ADDRESS=address)
    assert (done.returncode, done.stderr) == (Status.OK, "")
    assert told in done.stdout


@pytest.mark.ray
@pytest.mark.parametrize(("example", "first", "last"), [(each, *told) for each, told in UNTIL_CTRL_C.items()])
def test_a_command_that_goes_on_until_ctrl_c(address: str, example: str, first: str, last: str, tmp_path: Path) -> None:
    free = ("--port", "0") if "--port" in example else ()
    status, out, err = interrupted(*words(example), *free, cwd=tmp_path, RAY_ADDRESS=address)
    assert status == Status.INTERRUPTED
    assert out.startswith(first)
    assert last in err
    if "monday.jsonl" in example:
        shown = typed(*words(REPLAYED), cwd=tmp_path)
        assert (shown.returncode, shown.stderr) == (Status.OK, "")
        assert "fleet watched: 2 agents" in shown.stdout


@pytest.mark.ray
def test_commands_after_which_a_fleet_is_not_as_it_was() -> None:
    with owned("ran") as address:
        done = {example: typed(*words(example), RAY_ADDRESS=address) for example in LASTING}
    assert {example: each.stdout for example, each in done.items()} == LASTING
    assert {each.returncode for each in done.values()} == {Status.OK}


@pytest.mark.ray
def test_a_service_is_ended_for_good(tmp_path: Path) -> None:
    with owned() as address:
        serving = [sys.executable, "-c", SURVEY, str(tmp_path / "survey.sqlite")]
        subprocess.run(serving, env=environment(RAY_ADDRESS=address), check=True)
        done = typed(*words(SERVICE), RAY_ADDRESS=address)
        left = typed("ps", "--fleet", "survey", RAY_ADDRESS=address)
    assert (done.returncode, done.stderr) == (Status.OK, "")
    assert "survey" in done.stdout
    assert left.returncode == Status.FAILED


@pytest.mark.ray
def test_calls_that_wait_for_a_person_are_answered() -> None:
    with owned("asking") as address:
        pending = json.loads(typed("approvals", "--json", RAY_ADDRESS=address).stdout)["approvals"]
        for (example, told), call in zip(ANSWERS.items(), pending, strict=True):
            done = typed(*words(example.replace("lead.1.2.17", call["id"])), RAY_ADDRESS=address)
            assert (done.returncode, done.stdout) == (Status.OK, f"fleet watched: {call['id']}{told}")


async def test_a_command_that_speaks_to_a_provider(tmp_path: Path) -> None:
    (tmp_path / "notes.py").write_text("def read() -> str:\n    'Read my notes.'\n    return 'Buy milk.'\n")
    async with SimulatorProcess() as simulator:
        for example, (more, told) in MODELS.items():
            command = [*words(example), "--base-url", simulator.base_url, *words(more)]
            done = await to_thread.run_sync(asked, command, tmp_path)
            assert (done.returncode, done.stderr) == (Status.OK, "")
            assert told in done.stdout


def asked(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    state = str(folder / "state")
    return typed(*command, cwd=folder, XDG_STATE_HOME=state, DEEPSEEK_API_KEY="-")


def test_a_folder_of_ones_own_is_counted(folder: Path, tmp_path: Path) -> None:
    folder.rename(tmp_path / "notes")
    state = str(tmp_path / "state")
    done = typed(*words(DEMO.replace("~", str(tmp_path))), "--system", "local", XDG_STATE_HOME=state)
    assert (done.returncode, done.stderr) == (Status.OK, "")


def test_the_simulator_serves_until_ctrl_c() -> None:
    status, out, _ = interrupted(*words(SIMULATOR), "--port", "0")
    assert status == Status.OK
    assert out.startswith("http://127.0.0.1:")


def test_the_dashboard_for_grafana_is_written_and_another_file_is_left(tmp_path: Path) -> None:
    for _ in range(2):  # what is there already is the same
        done = typed(*words(GRAFANA), cwd=tmp_path)
        assert (done.returncode, done.stderr) == (Status.OK, "")
    written = tmp_path / "dashboards" / "amrita-fleet.json"
    assert json.loads(written.read_text())["title"] == "Amrita Fleet"
    written.write_text("mine")
    refused = typed(*words(GRAFANA), cwd=tmp_path)
    assert (refused.returncode, written.read_text()) == (Status.BAD_INPUT, "mine")
    said = "The file 'dashboards/amrita-fleet.json' says something else: --force replaces it."
    assert refused.stderr.splitlines()[0] == f"amrita-fleet: {said}"
    assert typed(*words(GRAFANA), "--force", cwd=tmp_path).returncode == Status.OK
    nowhere = typed("grafana", str(written), cwd=tmp_path)
    assert (nowhere.returncode, nowhere.stdout) == (Status.BAD_INPUT, "")
    assert "cannot be written" in nowhere.stderr
