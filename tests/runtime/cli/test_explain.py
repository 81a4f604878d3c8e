"""`amrita-fleet explain` finds every error, notice and setting, and says what is near where there is nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from amrita_fleet.runtime.cli import app
from amrita_fleet.runtime.cli.documents import TOPICS, entries, entry
from amrita_fleet.runtime.cli.status import Status

from .owned import environment

pytestmark = pytest.mark.slow


def test_all_that_can_be_explained_is_listed_by_topic(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run_command(["explain"]) == Status.OK
    lines = capsys.readouterr().out.splitlines()
    assert [line[:-1] for line in lines if line.endswith(":")] == list(TOPICS)
    assert {"  1. The same call again and again", "  ContextOverflow", "  step.stall", "  llm.max_retries"} <= set(
        lines
    )


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("contextoverflow", "ContextOverflow\n\nFacts: "),
        ("step.stall", "facts in `data`: `tool`, `period`, `node`\nsee: `explain 1` The same call again and again\n"),
        ("agent.ready", "agent.ready\n\nwhen: it takes tasks and mail\n"),
        ("llm.max_retries", "default: 3\n"),
        ("5", "5\n\nMany tokens and no loop\n"),
    ],
)
def test_a_name_is_explained_whatever_its_case(name: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run_command(["explain", name]) == Status.OK
    assert told in capsys.readouterr().out


def test_a_terminal_gets_a_command_where_the_document_has_a_link() -> None:
    told = entry("ContextOverflow") or ""
    assert "See `explain 5`." in told
    assert "](" not in told


def test_no_two_entries_have_the_same_name() -> None:
    names = [name.casefold() for topic in TOPICS if topic != "symptoms" for name in entries(topic)]
    assert len(names) == len(set(names))


def test_what_there_is_nothing_about_is_told_with_what_is_near(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run_command(["explain", "MailboxFul"]) == Status.BAD_INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("amrita-fleet: Nothing is called 'MailboxFul': ")
    assert app.run_command(["explain", "step.stal"]) == Status.BAD_INPUT
    assert "did you mean step.stall" in capsys.readouterr().err


def test_what_is_explained_stands_by_itself() -> None:
    told = entry("watch.quarantined") or ""
    assert "facts in `data`: `trouble`, `agents`, and the evidence" in told
    referring = [name for topic in TOPICS for name, text in entries(topic).items() if ": the same" in text]
    assert referring == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this machine has no device that is always full")
def test_a_full_disk_is_no_bug() -> None:
    command = [sys.executable, "-m", "amrita_fleet", "explain"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, env=environment(), stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == Status.FAILED
    assert done.stderr == "amrita-fleet: What was to be told cannot be written: No space left on device.\n"


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_stream_that_is_closed_is_no_bug(stream: str) -> None:
    line = f'"{sys.executable}" -m amrita_fleet explain NoSuchThing {stream}>&-'
    done = subprocess.run(["/bin/sh", "-c", line], env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == Status.BAD_INPUT
    assert "bug" not in done.stdout + done.stderr
