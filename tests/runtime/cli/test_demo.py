"""`amrita-fleet demo` and `amrita-fleet run`, from the command line to the last figure, on the simulated provider."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread

from amrita_fleet.runtime.cli.app import run_command
from amrita_fleet.runtime.cli.starting import DRAINS
from amrita_fleet.runtime.cli.status import Status
from amrita_fleet.runtime.simulator.process import SimulatorProcess

from .doubling import SCENARIO

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).resolve().parents[3] / "src"
ON_RAY = pytest.param("ray", marks=pytest.mark.ray)

MODULE = """
def double(number: int) -> int:
    "Double a number."
    return 2 * number
"""


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "amrita_fleet", *arguments]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE), **more}


def typed(*arguments: str, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in a process of its own, `more` being in its environment."""
    return subprocess.run(
        command(*arguments), cwd=cwd, env=environment(**more), capture_output=True, text=True, check=False
    )


def started(*arguments: str) -> subprocess.Popen[str]:
    """A command that is still running."""
    return subprocess.Popen(
        command(*arguments), env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_census_agrees_although_two_workers_are_lost(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = run_command(["demo", str(folder), "--system", "local", "--json"])
    out, err = capsys.readouterr()
    assert (status, err) == (Status.OK, "")
    two_were_lost(json.loads(out))


@pytest.mark.ray
def test_a_census_on_ray_agrees_although_two_workers_are_lost(folder: Path) -> None:
    done = typed("demo", str(folder), "--system", "ray", "--json")
    assert (done.returncode, done.stderr) == (Status.OK, "")
    two_were_lost(json.loads(done.stdout))


def two_were_lost(told: dict[str, Any]) -> None:
    """What a census says in which one worker was stuck and one had too few tokens."""
    assert told["agree"] is True
    assert (told["fleet"]["files"], told["fleet"]["lines"]) == (told["direct"]["files"], told["direct"]["lines"])
    outcomes = {(end["agent"], end["outcome"]) for end in told["runs"]}
    assert {("lead", "answered"), ("w3", "stalled"), ("w4", "limit:tokens")} <= outcomes
    notes = [letter["body"] for letter in told["messages"] if letter["sender"] == "supervisor"]
    assert {note.split(".")[0] for note in notes} == {"w3 ended its run: stalled", "w4 ended its run: limit:tokens"}
    assert all(letter["consumed"] for letter in told["messages"])
    limits = {row["agent"]: row["limit"] for row in told["agents"] if row["limit"]}
    spent = {row["agent"]: row["tokens"] for row in told["agents"]}
    assert all(spent[agent] <= limit for agent, limit in limits.items())
    assert told["tokens"]["spent"] == told["tokens"]["simulator"] <= told["tokens"]["limit"]


@pytest.mark.slow
@pytest.mark.parametrize("agents", ["1", "2", "9"])
def test_a_census_agrees_with_any_number_of_workers(
    folder: Path, agents: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["demo", str(folder), "--agents", agents, "--system", "local", "--json"]) == Status.OK
    assert json.loads(capsys.readouterr().out)["agree"] is True


@pytest.mark.slow
def test_a_census_shows_what_happens_line_by_line_and_sums_up(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["demo", str(folder), "--system", "local"]) == Status.OK
    out, err = capsys.readouterr()
    assert err == ""
    assert "\x1b" not in out
    assert "count_files came again and again" in out
    for heading in ("Agents", "Messages", "Stalls and limits", "Tokens", "Census"):
        assert f"\n{heading}" in out
    assert "The figures agree." in out


@pytest.mark.slow
def test_a_provider_that_refuses_fails_the_census_in_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    real = ("--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    assert run_command(["demo", str(folder), "--system", "local", "--json", *real]) == Status.FAILED
    out, err = capsys.readouterr()
    assert json.loads(out)["agree"] is False
    assert err.startswith("amrita-fleet: The lead did not answer: failed.")
    assert err.count("\n") == 1


@pytest.mark.anyio
@pytest.mark.parametrize("system", [pytest.param("local", marks=pytest.mark.slow), ON_RAY])
async def test_ones_own_agents_use_ones_own_tools(tmp_path: Path, system: str) -> None:
    (tmp_path / "doubling.yaml").write_text(SCENARIO)
    (tmp_path / "own.py").write_text(MODULE)
    async with SimulatorProcess(scenario_files=[tmp_path / "doubling.yaml"], key="sk-planted") as simulator:
        model = ("--base-url", simulator.base_url, "--model", "doubler", "--api-key", "env:OWN_KEY")
        asked = ("run", "double 21", "--tools", "own:double", "--agents", "2", "--system", system, "--json", *model)
        done = await to_thread.run_sync(lambda: typed(*asked, cwd=tmp_path, OWN_KEY="sk-planted"))
    assert (done.returncode, done.stderr) == (Status.OK, "")
    runs = json.loads(done.stdout)["runs"]
    assert [(run["agent"], run["text"]) for run in runs] == [("agent-1", "It is 42."), ("agent-2", "It is 42.")]
    assert "sk-planted" not in done.stdout


@pytest.mark.slow
def test_an_address_where_nobody_answers_is_told_with_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    model = ("--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    assert run_command(["run", "hello", "--system", "local", *model]) == Status.BAD_INPUT
    out, err = capsys.readouterr()
    assert "model.failed" in out
    said, _, told_id = err.partition(" (request_id=")
    assert said == "amrita-fleet: agent-1 did not answer: failed. http://127.0.0.1:9/v1 refused the connection."
    assert told_id.startswith("local-")


@pytest.mark.parametrize("system", [pytest.param("local", marks=pytest.mark.slow), ON_RAY])
@pytest.mark.parametrize(
    ("number", "status", "ended"),
    [
        (signal.SIGINT, Status.INTERRUPTED, "Interrupted"),
        (signal.SIGTERM, -signal.SIGTERM, "Terminated"),
    ],
    ids=["SIGINT", "SIGTERM"],
)
def test_a_signal_ends_the_fleet_in_good_order_and_says_so(
    folder: Path, system: str, number: signal.Signals, status: int, ended: str
) -> None:
    with started("demo", str(folder), "--system", system, "--slow", "0.3") as running:
        assert running.stdout is not None
        assert running.stderr is not None
        for line in running.stdout:
            if "mail.sent" in line:
                break
        running.send_signal(number)
        err = running.stderr.read()
        assert running.wait() == status
    assert err == f"amrita-fleet: {DRAINS}\namrita-fleet: {ended}: the fleet and what was started for it have ended.\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "said", "status"),
    [
        (signal.SIGINT, "", Status.OK),
        (signal.SIGTERM, "The simulator drains: answers in flight have 1 second to end.\n", -signal.SIGTERM),
    ],
    ids=["SIGINT", "SIGTERM"],
)
def test_the_simulator_prints_its_address_and_serves_until_it_is_ended(
    number: signal.Signals, said: str, status: int
) -> None:
    with started("simulate") as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline().startswith("http://127.0.0.1:")
        running.send_signal(number)
        assert (running.stderr.read(), running.wait()) == (said, status)
