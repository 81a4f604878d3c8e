"""Commands that show and steer a running fleet, beside it; `top` on a real terminal."""

import json
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from amrita_fleet.runtime.cli.status import Status
from amrita_fleet.runtime.gateway.recording import Recording

from .owned import environment, owned, typed

pytestmark = [pytest.mark.ray, pytest.mark.slow]

PATIENCE = 60.0
"""Seconds that a screen may take to show something."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A fleet in which ana has made a run."""
    with owned("ran") as address:
        yield address


@pytest.mark.parametrize("command", [["pause", "ana", "bobb"], ["tail", "bobb"], ["dead-letters", "--of", "bobb"]])
def test_an_agent_that_is_not_there_is_told_with_names_like_it(address: str, command: list[str]) -> None:
    done = typed(*command, RAY_ADDRESS=address)
    assert (done.returncode, done.stdout) == (Status.BAD_INPUT, "")
    assert "Did you mean bob?" in done.stderr


def test_an_agent_that_is_killed_dies_at_once() -> None:
    with owned("ran") as address:
        done = typed("kill", "ana", RAY_ADDRESS=address)
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


def test_whoever_records_a_fleet_is_told_when_it_is_over_and_has_all_of_it(tmp_path: Path) -> None:
    with owned("ran") as address, ExitStack() as stack:
        recording = stack.enter_context(beside(address, tmp_path, "record", "it.jsonl"))
        watching = stack.enter_context(beside(address, tmp_path, "watch"))
        assert recording.stdout is not None
        assert recording.stdout.readline() == "fleet watched: recorded in it.jsonl\n"
        leaving = stack.pop_all()
    with leaving:
        out, err = recording.communicate(timeout=PATIENCE)
        assert (recording.returncode, err) == (Status.OK, "")
        assert out.startswith("The fleet 'watched' is over: whoever ran it has ended it.")
        _, said = watching.communicate(timeout=PATIENCE)
        assert watching.returncode == Status.FAILED
        assert said.startswith("amrita-fleet: The fleet 'watched' is over: whoever ran it has ended it.\n")
    told = Recording.read(tmp_path / "it.jsonl").notices
    assert "run.finished" in {f"{each.type}.{each.extra_type}" for each in told}


def beside(address: str, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """A command that goes on while the fleet does."""
    return subprocess.Popen(
        [sys.executable, "-m", "amrita_fleet", *arguments],
        cwd=folder,
        env=environment(RAY_ADDRESS=address),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
