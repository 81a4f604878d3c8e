"""`amrita-fleet check FILE` and `amrita-fleet run FILE`: a fleet file through the command's door."""

import asyncio
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from amrita_fleet.runtime.cli import check, run
from amrita_fleet.runtime.cli.app import run_command
from amrita_fleet.runtime.cli.status import Status
from amrita_fleet.runtime.fleet_file.json_schema import json_schema
from amrita_fleet.runtime.simulator.process import SimulatorProcess

from .doubling import SCENARIO

pytestmark = [pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "fleet-files.md").read_text()
README = (ROOT / "README.md").read_text()
COMMAND = (sys.executable, "-m", "amrita_fleet")

DOUBLING = """\
fleet: {{name: sums, limit: 100000}}
presets:
  cheap: {{base_url: "{base_url}", model: doubler}}
agents:
  ana: {{preset: cheap, tools: ["doubling_tools:double"]}}
  bob: {{preset: cheap, tools: ["doubling_tools:double"], count: 2}}
tasks:
  - {{agent: ana, task: double 21}}
  - {{agent: bob-2, task: double 4}}
"""

MODULE = """
from pathlib import Path
from amrita_fleet import tool

HERE = Path(__file__).parent

@tool(replay="safe")
def double(number: int) -> int:
    "Double a number; while there is a gate, say that this has begun, and wait there."
    if (HERE / "gate").exists():
        (HERE / "begun").write_text("begun")
        (HERE / "gate").read_text()
    return 2 * number
"""


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a simulated provider is, one of whose models doubles numbers with a tool."""
    scenario = tmp_path_factory.mktemp("scenario") / "doubling.yaml"
    scenario.write_text(SCENARIO)
    with asyncio.Runner() as loop:
        simulator = SimulatorProcess(scenario_files=[scenario])
        loop.run(simulator.__aenter__())
        yield simulator.base_url
        loop.run(simulator.__aexit__(None, None, None))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base_url: str) -> Iterator[Path]:
    """A folder with a fleet file and its tools, which is not the current one."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    here = tmp_path / "fleets"
    here.mkdir()
    (here / "fleet.yaml").write_text(DOUBLING.format(base_url=base_url))
    (here / "doubling_tools.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    yield here
    for name in ("doubling_tools", "mytools"):
        sys.modules.pop(name, None)


def typed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run a command in this process; gives its status and what it said."""
    capsys.readouterr()
    status = run_command(arguments)
    out, err = capsys.readouterr()
    return status, out, err


def texts(told: dict[str, Any]) -> dict[str, str]:
    """The answer of each agent."""
    return {end["agent"]: end["text"] for end in told["runs"] if end["outcome"] == "answered"}


def test_every_task_of_a_file_is_run_to_its_outcome(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = typed(capsys, "run", str(folder / "fleet.yaml"), "--system", "local", "--json")
    assert (status, err) == (Status.OK, "")
    told = json.loads(out)
    assert texts(told) == {"ana": "It is 42.", "bob-2": "It is 8."}
    assert (told["fleet"], told["tokens"]["limit"]) == ("sums", 100000)


def test_a_person_sees_each_agent_and_each_answer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = typed(capsys, "run", str(folder / "fleet.yaml"), "--system", "local", "--no-journal")
    assert status == Status.OK
    assert "Fleet sums\n" in out
    assert "ana: answered\nIt is 42.\n" in out
    assert re.search(r"bob-1 .*no run", out)


def test_a_fleet_with_a_name_remembers_when_its_file_is_run_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again = ("run", str(folder / "fleet.yaml"), "--system", "local", "--json")
    assert typed(capsys, *again)[0] == Status.OK
    status, out, _ = typed(capsys, *again)
    assert (status, len(json.loads(out)["runs"])) == (Status.OK, 2)
    status, out, err = typed(capsys, *again, "--resume")
    assert (status, json.loads(out)["runs"], err) == (Status.OK, [], "")


@pytest.mark.parametrize("system", ["local", pytest.param("ray", marks=pytest.mark.ray)])
def test_what_a_killed_command_left_goes_on_and_no_task_begins_anew(
    folder: Path, capsys: pytest.CaptureFixture[str], system: str
) -> None:
    for pipe in ("gate", "begun"):
        os.mkfifo(folder / pipe)
    file = str(folder / "fleet.yaml")
    command = [*COMMAND, "run", file, "--system", system]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as began:
        waiting = 0
        while waiting < 2:  # so both tasks are written down
            waiting += (folder / "begun").read_text().count("begun")
        began.send_signal(signal.SIGKILL)
    with suppress(OSError):  # nobody waits there any more
        os.close(os.open(folder / "gate", os.O_WRONLY | os.O_NONBLOCK))
    (folder / "gate").unlink()
    resume = [*command, "--resume", "--json"]
    done = subprocess.run(resume, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (Status.OK, "")
    assert texts(json.loads(done.stdout)) == {"ana": "It is 42.", "bob-2": "It is 8."}
    assert typed(capsys, "run", file, "--resume", "--json", "--system", "local")[0] == Status.OK


@pytest.mark.ray
def test_on_ray_agents_find_the_tools_beside_the_file_although_the_command_was_typed_elsewhere(folder: Path) -> None:
    command = [*COMMAND, "run", str(folder / "fleet.yaml"), "--json", "--no-journal"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (Status.OK, "")
    assert texts(json.loads(done.stdout)) == {"ana": "It is 42.", "bob-2": "It is 8."}


@pytest.mark.parametrize(
    ("change", "arguments", "said"),
    [
        (("tasks:", "x:"), (), "fleet.yaml:7:1: x: There is no key"),
        (
            (),
            ("--name", "other"),
            "amrita-fleet: --name other contradicts fleet.yaml: there the fleet is named 'sums'.",
        ),
        (("name: sums", "journal: x.sqlite"), ("--journal", "y.sqlite"), "amrita-fleet: --journal contradicts fleet"),
        (("name: sums", "journal: x.sqlite"), ("--no-journal",), "amrita-fleet: --no-journal contradicts fleet.yaml"),
        (("name: sums, ", ""), ("--resume",), "amrita-fleet: --resume needs --name, as fleet.yaml names no fleet"),
        ((), ("--resume", "--no-journal"), "amrita-fleet: --resume needs the journal: leave out --no-journal."),
        ((), ("--resume",), "amrita-fleet: There is no fleet 'sums' to go on with"),
    ],
)
def test_what_contradicts_the_file_is_refused(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    change: tuple[str, str] | tuple[()],
    arguments: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(folder)
    text = (folder / "fleet.yaml").read_text()
    (folder / "fleet.yaml").write_text(text.replace(*change) if change else text)
    status, out, err = typed(capsys, "run", "fleet.yaml", "--system", "local", *arguments)
    assert (status, out) == (Status.BAD_INPUT, "")
    assert err.startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tasks: []", "has no tasks, so there is nothing to run: add some, as in tasks: [{agent: ana, task: ...}]."),
        ("only kinds", "has no agent that lives by itself: each has count 0."),
    ],
)
def test_a_file_with_nothing_to_run_is_refused_by_run_alone(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    file = folder / "fleet.yaml"
    written = file.read_text().partition("tasks:")[0]
    if text == "only kinds":
        written = written.replace('double"]}', 'double"], count: 0}').replace("count: 2", "count: 0")
    file.write_text(written)
    status, out, err = typed(capsys, "run", str(file), "--system", "local")
    assert (status, out, said in err) == (Status.BAD_INPUT, "", True)
    assert typed(capsys, "check", str(file))[0] == Status.OK


def test_check_shows_the_fleet_and_starts_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "fleet.yaml"
    file.write_text(re.sub(r"http://[\d.:]+", "http://127.0.0.1:9", file.read_text()))
    status, out, err = typed(capsys, "check", str(file))
    assert (status, err) == (Status.OK, "")
    rows = [" ".join(line.replace("│", " ").split()) for line in out.splitlines()]
    assert any(row.endswith("fleet.yaml: sums, 3 agents; limit 100,000 tokens") for row in rows)
    assert {"ana cheap double", "bob-1 ... bob-2 cheap double", "ana double 21", "bob-2 double 4"} <= set(rows)


def test_check_tells_a_program_what_the_fleet_would_be(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = typed(capsys, "check", str(folder / "fleet.yaml"), "--json")
    assert (status, err) == (Status.OK, "")
    told = json.loads(out)
    assert [each["names"] for each in told["agents"]] == [["ana"], ["bob-1", "bob-2"]]
    assert (told["fleet"]["name"], told["fleet"]["limit"], told["tasks"][1]["agent"]) == (
        "sums",
        {"tokens": 100000},
        "bob-2",
    )


def test_check_lists_every_problem_for_people_editors_and_programs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "fleet.yaml"
    file.write_text(file.read_text().replace("preset: cheap", "preset: chaep"))
    status, out, err = typed(capsys, "check", str(file))
    assert (status, out) == (Status.BAD_INPUT, "")
    first, second, see = err.splitlines()
    assert first == f'{file}:5:17: agents.ana.preset: There is no preset "chaep". Did you mean "cheap"?'
    assert second.startswith(f"{file}:6:17: agents.bob.preset:")
    assert see == "See amrita-fleet explain FleetFileInvalid"
    status, out, _ = typed(capsys, "check", str(file), "--json")
    told = json.loads(out)
    assert (status, told["status"], told["help"]) == (2, 2, "docs/troubleshooting.md#fleetfileinvalid")
    assert [(each["line"], each["column"], each["where"]) for each in told["problems"]] == [
        (5, 17, "agents.ana.preset"),
        (6, 17, "agents.bob.preset"),
    ]


def test_the_schema_is_printed_for_editors(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = typed(capsys, "check", "--schema")
    assert (status, json.loads(out), err) == (Status.OK, json_schema(), "")


def documented(folder: Path, base_url: str) -> None:
    """Write the file and the tools of the documentation."""
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (folder / "fleet.yaml").write_text(text.replace("http://127.0.0.1:8123/v1", base_url))
    (tools,) = re.findall(r"```python\n(# mytools\.py\n.*?)```", PAGE, re.DOTALL)
    (folder / "mytools.py").write_text(tools)


def examples(epilog: str) -> list[str]:
    """The commands of a help text that are about a file."""
    return [line for line in re.findall(r"^Example: amrita-fleet (.*)$", epilog, re.MULTILINE) if "fleet.yaml" in line]


@pytest.mark.parametrize(("epilog", "more"), [(check.EPILOG, ""), (run.EPILOG, "--system local --json")])
def test_the_examples_of_the_help_work_on_the_file_of_the_documentation(
    folder: Path,
    base_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    epilog: str,
    more: str,
) -> None:
    documented(folder, base_url)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SURVEY_KEY", "-")
    (command,) = examples(epilog)
    status, out, err = typed(capsys, *shlex.split(f"{command} {more}"))
    assert (status, err) == (Status.OK, "")
    if "--json" in more:
        assert texts(json.loads(out)) == {"ana": "The sum is 5.", "bob-1": "Ready."}


def test_the_file_in_the_readme_is_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = README.split("\n## A fleet as a file\n")[1].split("```yaml\n")[1].split("```")[0]
    (folder / "fleet.yaml").write_text(text)
    (folder / "mytools.py").write_text(
        README.split("```python\n")[1].split("analyst =")[0].replace("import asyncio", "")
    )
    monkeypatch.setenv("OLLAMA_KEY", "-")
    assert typed(capsys, "check", str(folder / "fleet.yaml"))[0] == Status.OK


def test_check_shows_whom_agents_may_write_to_where_that_is_bounded(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "fleet.yaml"
    file.write_text(file.read_text().replace("ana: {", "ana: {peers: [bob], ", 1))
    status, out, err = typed(capsys, "check", str(file))
    assert (status, err) == (Status.OK, "")
    rows = [" ".join(line.replace("│", " ").split()) for line in out.splitlines()]
    assert any(row.startswith("ana ") and row.endswith("bob-1, bob-2") for row in rows)
    assert any(row.startswith("bob-1 ...") and row.endswith("everybody") for row in rows)
