"""What a person gets who types something that cannot work: one sentence, the right exit status, no traceback."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from amrita_fleet.protocols.errors import FleetError
from amrita_fleet.runtime.cli import app
from amrita_fleet.runtime.cli.errors import Interrupted, Terminated
from amrita_fleet.runtime.cli.status import Status

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).resolve().parents[3] / "src"
RUN = ("run", "task", "--base-url", "http://127.0.0.1:9/v1", "--model", "m")

Complain = Callable[..., tuple[int, str]]


@pytest.fixture
def complaint(capsys: pytest.CaptureFixture[str]) -> Complain:
    """Runs a command that cannot work; gives its exit status and the sentence."""

    def run(*arguments: str) -> tuple[int, str]:
        status = app.run_command(arguments)
        out, err = capsys.readouterr()
        assert out == ""
        said, *see = err.splitlines()
        assert said.startswith("amrita-fleet: ")
        assert all(line.startswith("See amrita-fleet explain ") for line in see)
        assert len(see) <= 1
        return status, said.removeprefix("amrita-fleet: ")

    return run


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("demo", "no/such/folder"), "The folder 'no/such/folder' cannot be counted: it does not exist."),
        (("demo", "--agents", "0"), "--agents must be at least 1, not 0."),
        (("demo", "--agents", "many"), "Invalid value for '--agents'"),
        (("demo", "--model", "m"), "--base-url and --model belong together: a real model needs both."),
        (("demo", "--system", "moon"), "Invalid value for '--system': 'moon' is not one of"),
        ((*RUN, "--agents", "-3"), "--agents must be at least 1, not -3."),
        ((*RUN, "--protocol", "klingon"), "Undefined protocol adapter: klingon."),
        ((*RUN, "--limit", "0"), "TokenLimit.tokens must be "),
        ((*RUN, "--tools", "nowhere"), "--tools nowhere gives no tools: it should read module:attribute"),
        (("run", "task", "--base-url", "localhost", "--model", "m"), "ModelPreset.base_url must begin with http://"),
        (("run", "task"), "Missing option"),
        (("run", "fleet.yaml", "--model", "m"), "Leave out --model: a fleet file (fleet.yaml) says that itself."),
        (
            ("run", "fleet.yml", "--agents", "2", "--limit", "5"),
            "Leave out --limit, --agents: a fleet file (fleet.yml)",
        ),
        (("run", "Sum up all.yaml"), "Missing option '--model'"),
        (("check",), "Name one fleet file, or give --schema."),
        (("check", "fleet.yaml", "--schema"), "Name one fleet file, or give --schema."),
        (("doctor", "--model", "m"), "Missing option '--base-url'"),
        (("doctor", "--model", "m", "--base-url", "h"), "ModelPreset.base_url must begin with http://"),
        (("ps", "--address", "nonsense"), "What was given as 'address' cannot be used: it must be host:port"),
        (("send", "lead"), "Missing argument"),
        (("send", "ana", "\udcff\udcfe"), "TEXT is no valid UTF-8: type it anew"),
        (("pause", "ana", "--reason", "\udcff"), "--reason is no valid UTF-8: type it anew"),
        (("refuse", "ana.1.1.1", "--reason", "\udcff"), "--reason is no valid UTF-8: type it anew"),
        (("run", "\udcff", *RUN[2:]), "TASK is no valid UTF-8: type it anew"),
        (
            ("fly",),
            "No such command 'fly'. There are demo, run, check, ps, top, watch, tail, show, attach, ",
        ),
        (("stpo",), "No such command 'stpo'. Did you mean 'stop'?"),
        (("stop", "ana", "--all"), "Name the agents to stop or give --all, not both."),
        (("demo", "--slow", "1", "--base-url", "http://h", "--model", "m"), "--slow is for the simulated provider"),
        (("demo", "--fast"), "No such option"),
    ],
    ids=lambda given: " ".join(given).encode(errors="backslashreplace").decode(),
)
def test_what_was_typed_wrongly_is_told_with_status_2(
    complaint: Complain, arguments: tuple[str, ...], sentence: str
) -> None:
    status, said = complaint(*arguments)
    assert status == Status.BAD_INPUT
    assert said.startswith(sentence)


@pytest.mark.parametrize(
    ("arguments", "sentence", "place", "see"),
    [
        (
            ("demo", "no/such/folder", "--json"),
            "The folder 'no/such/folder' cannot be counted: it does not exist.",
            "docs/troubleshooting.md#folderunusable",
            "See amrita-fleet explain FolderUnusable\n",
        ),
        (("ps", "--json", "--fast"), "No such option: --fast", "", ""),
    ],
    ids=["an error of ours", "a misspelt option"],
)
def test_a_program_that_asked_for_json_gets_the_error_as_json(
    arguments: tuple[str, ...], sentence: str, place: str, see: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run_command(arguments) == Status.BAD_INPUT
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert told["error"].startswith(sentence)
    assert (told["status"], told["help"]) == (2, place)
    assert err == f"amrita-fleet: {told['error']}\n{see}"


def test_an_error_of_ours_is_followed_by_the_place_that_tells_more(capsys: pytest.CaptureFixture[str]) -> None:
    app.run_command([*RUN, "--protocol", "klingon"])
    assert capsys.readouterr().err.endswith("\nSee amrita-fleet explain UndefinedAdapter\n")


def test_a_text_that_reads_like_the_option_asks_for_no_json(complaint: Complain) -> None:
    status, _ = complaint("send", "--fleet", "x", "--fast", "--", "ana", "--json")
    assert status == Status.BAD_INPUT


def test_an_empty_folder_is_told_with_status_2(complaint: Complain, tmp_path: Path) -> None:
    status, said = complaint("demo", str(tmp_path))
    assert status == Status.BAD_INPUT
    assert said.endswith("there are no files in it that could be counted.")


def test_a_port_in_use_is_told_with_status_1(complaint: Complain) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, said = complaint("simulate", "--port", str(port))
    assert status == Status.FAILED
    assert f"port {port} of 127.0.0.1 is taken" in said


def test_a_scenario_file_that_does_not_exist_is_told(complaint: Complain) -> None:
    status, said = complaint("simulate", "--scenario", "no/such/file.yaml")
    assert status == Status.BAD_INPUT
    assert "file.yaml" in said


def test_a_bug_is_told_in_one_sentence_that_asks_for_a_report() -> None:
    sentence, status = app.ending(ZeroDivisionError("division by zero"))
    assert sentence.startswith("ZeroDivisionError: division by zero. This is a bug; please report it")
    assert status == Status.FAILED


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Interrupted(left="the fleet has ended"), Status.INTERRUPTED),
        (Terminated(left="the fleet has ended"), Status.TERMINATED),
        (FleetError("no luck"), Status.FAILED),
    ],
)
def test_an_error_of_the_tree_ends_a_command_with_its_sentence(error: FleetError, status: Status) -> None:
    assert app.ending(error) == (str(error), status)


@pytest.mark.parametrize("command", [command.__name__.replace("_", "-") for command, _ in app.COMMANDS])
def test_every_command_has_help_with_an_example_and_the_exit_statuses(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run_command([command, "--help"]) == Status.OK
    shown = " ".join(capsys.readouterr().out.split())
    assert re.search(f"Example: amrita-fleet {command}", shown)
    assert re.search(r"Exit status: \d", shown)


def test_without_arguments_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run_command([]) == Status.OK
    assert "demo" in capsys.readouterr().out


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run_command(["--version"]) == Status.OK
    assert capsys.readouterr().out.startswith("amrita-fleet ")


@pytest.mark.slow
def test_a_shell_completes_the_names_of_commands() -> None:
    words = {"_AMRITA_FLEET_COMPLETE": "complete_bash", "COMP_WORDS": "amrita-fleet res", "COMP_CWORD": "1"}
    script = "import sys; from amrita_fleet.__main__ import main; sys.argv = ['amrita-fleet']; main()"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), **words}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["resume"])


@pytest.mark.slow
def test_help_loads_neither_ray_nor_httpx() -> None:
    script = (
        "import sys; from amrita_fleet.runtime.cli.app import run_command; run_command(['demo', '--help']);"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert not {"ray", "httpx", "starlette", "uvicorn"} & set(done.stdout.splitlines()[-1].split())


@pytest.mark.slow
def test_a_thread_that_was_left_behind_does_not_keep_the_command_alive() -> None:
    script = (
        "import sys, threading; from amrita_fleet.runtime.cli import main;"
        "threading.Thread(target=threading.Event().wait).start(); sys.argv = ['amrita-fleet', '--version']; main()"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0
    assert done.stdout.strip()
