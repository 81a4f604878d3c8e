"""The examples of the commands that show and steer a running fleet, typed word for word; `top` on a real terminal."""

import json
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from amrita_fleet.runtime.cli import dead_letters, kill, limit, pause, resume, show, tail, top, watch
from amrita_fleet.runtime.cli.status import Status

from .owned import environment, owned, typed

pytestmark = [pytest.mark.ray, pytest.mark.slow]

PATIENCE = 60.0
"""Seconds that a screen may take to show something."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A fleet in which ana has made a run."""
    with owned("ran") as address:
        yield address


def example(epilog: str) -> list[str]:
    """The words of a command's example, without its name."""
    return shlex.split(epilog.partition("\n")[0].removeprefix("Example: amrita-fleet "))


@pytest.mark.parametrize(
    ("epilog", "told"),
    [
        (pause.EPILOG, "fleet watched: ana, bob: paused at the next boundary or model call\n"),
        (resume.EPILOG, "fleet watched: ana, bob: may go on\n"),
        (limit.EPILOG, "fleet watched: ana may spend 50,000 tokens, 20 model calls\n"),
        (dead_letters.EPILOG, "fleet watched: 0 dead letters\n"),
        (show.EPILOG, "answered: heard\n"),
        (top.EPILOG, "fleet watched: 2 agents: 2 idle; tokens "),
    ],
)
def test_the_example_of_a_command_does_what_it_says(address: str, epilog: str, told: str) -> None:
    done = typed(*example(epilog), RAY_ADDRESS=address)
    assert (done.returncode, done.stderr) == (Status.OK, "")
    assert told in done.stdout


def test_what_a_fleet_has_told_is_printed_as_json_lines(address: str) -> None:
    done = typed(*example(watch.EPILOG), RAY_ADDRESS=address)
    notices = [json.loads(line) for line in done.stdout.splitlines()]
    assert [notice["number"] for notice in notices] == list(range(1, len(notices) + 1))
    assert {"agent.ready", "run.finished"} <= {f"{notice['type']}.{notice['extra_type']}" for notice in notices}


def test_one_agent_is_followed_until_ctrl_c(address: str) -> None:
    command = [sys.executable, "-m", "amrita_fleet", *example(tail.EPILOG)]
    with subprocess.Popen(
        command, env=environment(RAY_ADDRESS=address), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ana ")
        process.send_signal(signal.SIGINT)
        rest, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == Status.INTERRUPTED
    assert "bob " not in rest
    assert said == "amrita-fleet: Interrupted: the fleet goes on; see it with `amrita-fleet ps`.\n"


@pytest.mark.parametrize("command", [["pause", "ana", "bobb"], ["tail", "bobb"], ["dead-letters", "--of", "bobb"]])
def test_an_agent_that_is_not_there_is_told_with_names_like_it(address: str, command: list[str]) -> None:
    done = typed(*command, RAY_ADDRESS=address)
    assert (done.returncode, done.stdout) == (Status.BAD_INPUT, "")
    assert "Did you mean bob?" in done.stderr


def test_an_agent_that_is_killed_dies_at_once(address: str) -> None:
    done = typed(*example(kill.EPILOG), RAY_ADDRESS=address)
    assert (done.returncode, done.stdout) == (Status.OK, "fleet watched: ana: its process was ended\n")
    watching = [sys.executable, "-m", "amrita_fleet", "watch", "ana", "--after", "0", "--json"]
    with subprocess.Popen(
        watching, env=environment(RAY_ADDRESS=address), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        assert any(json.loads(line)["extra_type"] == "died" for line in process.stdout)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)


class Terminal:
    """A terminal of tmux's, with a server of its own."""

    def __init__(self, socket: Path, command: list[str], address: str) -> None:
        self._tmux = ["tmux", "-S", str(socket)]
        line = f"{shlex.join(command)}; echo left with $?; cat"
        subprocess.run(
            [*self._tmux, "new-session", "-d", "-x", "100", "-y", "24", line],
            env=environment(RAY_ADDRESS=address),
            check=True,
        )

    def press(self, key: str) -> None:
        subprocess.run([*self._tmux, "send-keys", key], check=True)

    def until(self, text: str) -> str:
        """The screen once it has this text."""
        due, shown = time.monotonic() + PATIENCE, ""
        while time.monotonic() < due:
            shown = subprocess.run(
                [*self._tmux, "capture-pane", "-p"], capture_output=True, text=True, check=True
            ).stdout
            if text in shown:
                return shown
            time.sleep(0.1)  # a terminal tells nobody that it has changed
        raise AssertionError(shown)

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=True)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_terminal_shows_the_fleet_as_it_is_until_q_is_pressed(address: str, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "tmux", [sys.executable, "-m", "amrita_fleet", "top"], address)
    try:
        shown = terminal.until("fleet watched: 2 agents: 2 idle")
        assert shown.index(" ana ") < shown.index(" bob ")
        assert typed("stop", "bob", RAY_ADDRESS=address).returncode == Status.OK
        terminal.until("1 stopped")
        terminal.press("q")
        terminal.until("left with 0")
    finally:
        terminal.close()
