"""`amrita-fleet journal`, and the journals that `run` and `demo` keep: where, for how long, and what goes on."""

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from amrita_fleet import Agent, Fleet
from amrita_fleet.protocols.providers.scripted import say, scripted
from amrita_fleet.runtime.cli.app import run_command
from amrita_fleet.runtime.cli.status import Status
from amrita_fleet.runtime.journal.sql import SqlJournal
from amrita_fleet.runtime.simulator.process import SimulatorProcess

from ..journal.server import IN_URL, Server, free_port
from .doubling import SCENARIO

pytestmark = [pytest.mark.slow]

SOURCE = Path(__file__).resolve().parents[3] / "src"
ON_RAY = pytest.param("ray", marks=pytest.mark.ray)
COMMAND = (sys.executable, "-m", "amrita_fleet")
DAY = 86_400.0

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


class Person:
    """Someone with a folder of journals of their own, a model and a tool, at a terminal."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str], base_url: str) -> None:
        self.home = home
        self.state = home / "state" / "amrita-fleet"
        self.model = ("--base-url", base_url, "--model", "doubler", "--tools", "own:double")
        self._capsys = capsys

    def typed(self, *arguments: str) -> tuple[int, str, str]:
        """Run a command in this process; gives its status and what it said."""
        self._capsys.readouterr()
        status = run_command(arguments)
        out, err = self._capsys.readouterr()
        return status, out, err

    def run(self, *arguments: str, system: str = "local") -> tuple[int, str, str]:
        asked = ("run", *arguments, *self.model, "--system", system)
        if system == "local":
            return self.typed(*asked)
        done = subprocess.run([*COMMAND, *asked], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def told(self, *arguments: str, system: str = "local") -> dict[str, Any]:
        """What a run that succeeds says as JSON."""
        status, out, err = self.run(*arguments, "--json", system=system)
        assert (status, err) == (Status.OK, ""), f"it said:\n{out}\n{err}"  # whole: a comparison is cut short
        return dict(json.loads(out))

    def begin(self, *arguments: str, system: str = "local") -> "subprocess.Popen[str]":
        """Begin a run in another process, and wait until its tool waits at the gate."""
        for pipe in ("gate", "begun"):
            os.mkfifo(self.home / pipe)
        command = [*COMMAND, "run", *arguments, *self.model, "--system", system]
        began = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert (self.home / "begun").read_text().startswith("begun")
        return began

    def let_go(self) -> None:
        """Open the gate, for those who wait there and those to come."""
        gate = self.home / "gate"
        with suppress(OSError):  # nobody waits there any more
            os.close(os.open(gate, os.O_WRONLY | os.O_NONBLOCK))
        gate.unlink()

    def fleets(self, *arguments: str) -> list[dict[str, Any]]:
        """What `journal` lists."""
        status, out, _ = self.typed("journal", "--json", *arguments)
        assert status == Status.OK
        return list(json.loads(out)["fleets"])

    def files(self) -> list[str]:
        return sorted(path.name for path in self.state.iterdir()) if self.state.exists() else []


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a model is that doubles numbers with a tool."""
    scenario = tmp_path_factory.mktemp("scenario") / "doubling.yaml"
    scenario.write_text(SCENARIO)
    with asyncio.Runner() as loop:
        simulator = SimulatorProcess(scenario_files=[scenario])
        loop.run(simulator.__aenter__())
        yield simulator.base_url
        loop.run(simulator.__aexit__(None, None, None))


@pytest.fixture
def person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], base_url: str
) -> Iterator[Person]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", f"{SOURCE}{os.pathsep}{tmp_path}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own", raising=False)
    (tmp_path / "own.py").write_text(MODULE)
    yield Person(tmp_path, capsys, base_url)
    sys.modules.pop("own", None)


# --- where ------------------------------------------------------------------------------------------------------------


def test_a_run_is_written_down_in_the_users_folder_for_this_user_alone(person: Person) -> None:
    told = person.told("double 21", "--name", "sums")
    path = person.state / "sums.sqlite"
    assert (told["fleet"], told["journal"]) == ("sums", str(path))
    assert (stat.S_IMODE(person.state.stat().st_mode), stat.S_IMODE(path.stat().st_mode)) == (0o700, 0o600)
    (fleet,) = person.fleets()
    assert (fleet["name"], fleet["agents"], fleet["ended"], fleet["in_use"]) == ("sums", ["agent-1"], True, False)
    assert fleet["size"] > 0
    assert time.time() - fleet["written"] < DAY


def test_a_fleet_that_is_not_named_gets_a_new_name_and_the_first_lines_say_it(person: Person) -> None:
    _, first, _ = person.run("double 21")
    _, second, _ = person.run("double 21")
    names = [fleet["name"] for fleet in person.fleets()]
    assert len(set(names)) == 2
    for name in names:
        assert f"Fleet {name}, written down in {person.state / name}.sqlite" in first + second
    assert "--resume" not in first, "a fleet that has ended needs no advice"


def test_without_a_journal_nothing_is_written(person: Person) -> None:
    told = person.told("double 21", "--no-journal")
    assert told["journal"] is None
    assert person.files() == []


def test_a_journal_can_be_named_also_by_the_environment(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    place = str(person.home / "mine.sqlite")
    monkeypatch.setenv("OWN_JOURNAL", f"sqlite:///{place}")
    assert person.told("double 1", "--journal", place, "--name", "a")["journal"] == place
    assert person.told("double 2", "--journal", "env:OWN_JOURNAL", "--name", "b")["journal"] == place
    assert [fleet["name"] for fleet in person.fleets("--journal", place)] == ["a", "b"]
    assert person.files() == []


@pytest.mark.parametrize("system", ["local", ON_RAY])
def test_a_journal_that_cannot_be_kept_is_one_sentence_that_says_what_to_do(person: Person, system: str) -> None:
    (person.home / "state").write_text("no folder")
    status, out, err = person.run("double 21", "--name", "x", system=system)
    assert (status, out) == (Status.BAD_INPUT, "")
    path = person.state / "x.sqlite"
    assert err == (
        f"amrita-fleet: The journal {path} cannot be used: it cannot be made: Not a directory. "
        "Name another one with --journal, or do without: --no-journal.\n"
        "See amrita-fleet explain JournalUnusable\n"
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("x", "--journal", "a", "--no-journal"), "Give --journal or --no-journal, not both."),
        (("x", "--journal", "env:NOWHERE"), "--journal env:NOWHERE: the environment has no variable NOWHERE."),
        (("x", "--journal", "redis://h"), "The journal This URL cannot be used: a journal is a path, sqlite:///path"),
        (("x", "--name", "a/b"), "What was given as 'name' cannot be used"),
        (("x", "--name", ".."), "A fleet named '..' cannot have a file of its name"),
        ((), "Missing argument 'TASK'"),
        (("x", "--resume", "--name", "n"), "--resume begins nothing new"),
        (("--resume",), "--resume needs --name"),
        (("--resume", "--name", "n", "--no-journal"), "--resume needs the journal"),
        (("--resume", "--name", "n"), "There is no fleet 'n' to go on with"),
        (("--resume", "--name", "n", "--journal", "no/such/file"), "There is no fleet 'n' to go on with"),
        (("--resume", "--name", "n", "--journal", "sqlite:///no/such/file"), "There is no fleet 'n' to go on with"),
    ],
    ids=" ".join,
)
def test_what_contradicts_itself_is_told_with_status_2(
    person: Person, arguments: tuple[str, ...], sentence: str
) -> None:
    status, out, err = person.run(*arguments)
    assert (status, out) == (Status.BAD_INPUT, "")
    assert err.startswith(f"amrita-fleet: {sentence}")
    assert person.files() == []
    assert not (person.home / "no").exists()


# --- going on ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", ["local", ON_RAY])
def test_what_a_killed_command_left_unfinished_goes_on_and_nothing_new_begins(person: Person, system: str) -> None:
    killed = person.begin("double 21", "--name", "sums", "--agents", "2", system=system)
    killed.kill()
    killed.communicate()
    person.let_go()
    (fleet,) = person.fleets()
    assert (fleet["agents"], fleet["ended"]) == (["agent-1", "agent-2"], False)

    told = person.told("--resume", "--name", "sums", system=system)
    runs = [(run["run"], run["text"]) for run in told["runs"]]
    assert sorted(runs) == [("agent-1.1.1", "It is 42."), ("agent-2.1.1", "It is 42.")]
    (fleet,) = person.fleets()
    assert fleet["ended"]
    assert person.told("--resume", "--name", "sums", system=system)["runs"] == []


def test_answers_that_a_killed_command_had_and_did_not_print_are_printed(person: Person) -> None:
    person.told("double 21", "--name", "sums")
    journal = person.state / "sums.sqlite"
    unmark(journal)
    told = person.told("--resume", "--name", "sums")
    assert [(run["run"], run["text"]) for run in told["runs"]] == [("agent-1.1.1", "It is 42.")]


def unmark(journal: Path) -> None:
    """Have the journal be as when the process is killed between the end of the last run and its own."""
    from amrita_fleet.runtime.journal.sql import SqlJournal

    async def drop() -> None:
        kept = SqlJournal(journal)
        await kept.drop("sums/ended")
        await kept.aclose()

    asyncio.run(drop())


def test_a_task_for_a_fleet_with_unfinished_runs_is_done_after_them(person: Person) -> None:
    killed = person.begin("double 21", "--name", "sums")
    killed.kill()
    killed.communicate()
    person.let_go()
    told = person.told("double 50", "--name", "sums", "--agents", "2")
    assert [(run["agent"], run["text"]) for run in told["runs"]] == [
        ("agent-1", "It is 42."),
        ("agent-1", "It is 100."),
        ("agent-2", "It is 100."),
    ]


def test_a_task_that_is_given_twice_is_two_runs(person: Person) -> None:
    first, second = (person.told("double 21", "--name", "sums") for _ in range(2))
    assert [run["run"] for told in (first, second) for run in told["runs"]] == ["agent-1.1.1", "agent-1.2.1"]
    assert second["tokens"]["spent"] > first["tokens"]["spent"]


def test_an_interrupted_command_says_how_to_go_on(person: Person) -> None:
    began = person.begin("double 21", "--name", "sums")
    began.send_signal(signal.SIGINT)
    _, err = began.communicate()
    assert began.returncode == Status.INTERRUPTED
    assert err.endswith(
        "the fleet and what was started for it have ended; `amrita-fleet run --resume --name sums`, "
        "with the same options, goes on.\n"
    )
    person.let_go()
    assert person.told("--resume", "--name", "sums")["runs"][0]["text"] == "It is 42."


def test_a_fleet_that_runs_is_not_begun_a_second_time_nor_deleted(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amrita_fleet.runtime.cli.fleet_journal.PAUSE", 0.01)
    running = person.begin("double 21", "--name", "sums")
    try:
        status, _, err = person.run("double 1", "--name", "sums")
        assert (status, err.splitlines()[0]) == (
            Status.BAD_INPUT,
            "amrita-fleet: The fleet 'sums' runs already: another process has its journal open.",
        )
        status, _, err = person.typed("journal", "--drop", "sums", "--yes")
        assert status == Status.BAD_INPUT
        assert err.startswith("amrita-fleet: Nothing was deleted: 'sums' may be running")
        status, out, _ = person.typed("journal", "--older-than", "0", "--yes")
        assert (status, out) == (Status.OK, "0 fleets deleted; left, because they may be running: sums\n")
    finally:
        person.let_go()
        _, err = running.communicate()
    assert (running.returncode, err) == (Status.OK, "")


def test_the_agents_of_another_program_are_left_alone(person: Person) -> None:
    place = person.home / "program.sqlite"

    async def program() -> None:
        async with Fleet("theirs", system="local", journal=place) as fleet:
            await fleet.spawn(Agent(preset=scripted(say("hi"))), ["ana"])

    asyncio.run(program())
    status, _, err = person.run("double 1", "--name", "theirs", "--journal", str(place))
    assert status == Status.BAD_INPUT
    assert "was not begun by `amrita-fleet run` (it has 'ana')" in err


# --- the demo ---------------------------------------------------------------------------------------------------------


def test_a_census_is_written_down_and_is_finished_business(person: Person, folder: Path) -> None:
    demo = ("demo", str(folder), "--system", "local", "--json", "--name", "census")
    status, out, _ = person.typed(*demo)
    told = json.loads(out)
    assert (status, told["fleet_name"], told["journal"]) == (Status.OK, "census", str(person.state / "census.sqlite"))
    (fleet,) = person.fleets()
    assert (fleet["name"], fleet["ended"]) == ("census", True)
    status, _, err = person.typed(*demo)
    assert status == Status.BAD_INPUT
    assert err.startswith("amrita-fleet: There is a fleet 'census' already, and the demo begins one")


# --- deleting ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def three(person: Person) -> Person:
    """A person with three fleets that have ended."""
    for name in ("a", "b", "c"):
        person.told("double 1", "--name", name)
    return person


def test_fleets_are_listed_in_a_table(three: Person) -> None:
    status, out, err = three.typed("journal")
    assert (status, err) == (Status.OK, "")
    assert out.startswith(f"{three.state}: 3 fleets, ")
    assert out.count("no: its runs have ended") == 3


def test_fleets_are_deleted_by_name_with_their_files(three: Person) -> None:
    status, out, err = three.typed("journal", "--drop", "a", "--drop", "c", "--yes")
    assert (status, out, err) == (Status.OK, "2 fleets deleted: a, c\n", "")
    assert three.files() == ["b.sqlite"]
    status, out, _ = three.typed("journal", "--drop", "b", "--yes", "--json")
    assert [each["name"] for each in json.loads(out)["deleted"]] == ["b"]
    assert three.files() == []


@pytest.mark.parametrize("url", ["none.sqlite", "sqlite:///none.sqlite"])
def test_a_journal_that_is_not_there_is_not_looked_into_and_not_made(person: Person, url: str) -> None:
    status, out, err = person.typed("journal", "--journal", url)
    assert (status, out) == (Status.BAD_INPUT, "")
    assert err.splitlines()[0] == f"amrita-fleet: There is no journal {person.home / 'none.sqlite'}."
    assert not (person.home / "none.sqlite").exists()


def test_a_file_of_something_else_is_no_journal_to_look_into(person: Person) -> None:
    place = person.home / "letter.txt"
    place.write_text("Dear Ana, " * 100)
    status, _, err = person.typed("journal", "--journal", str(place))
    assert status == Status.BAD_INPUT
    assert err.splitlines()[0].endswith("put a copy back. Name another one with --journal.")


def test_a_fleet_that_is_opened_while_a_person_decides_is_left_and_that_is_told(
    three: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def reopen() -> None:
        journal = SqlJournal(three.state / "a.sqlite")
        await journal.claim("a/ledger")
        await journal.aclose()

    def decides(_chosen: object) -> bool:
        with ThreadPoolExecutor() as other:
            other.submit(asyncio.run, reopen()).result()
        return True

    monkeypatch.setattr("amrita_fleet.runtime.cli.journal.confirmed", decides)
    status, out, _ = three.typed("journal", "--drop", "a", "--drop", "b")
    assert (status, out) == (1, "1 fleet deleted: b; left, because they may be running: a\n")
    assert three.files() == ["a.sqlite", "c.sqlite"]


def test_fleets_are_deleted_by_age(three: Person) -> None:
    status, out, _ = three.typed("journal", "--older-than", "1", "--yes")
    assert (status, out) == (Status.OK, "0 fleets deleted\n")
    status, out, _ = three.typed("journal", "--older-than", "0", "--yes")
    assert (status, out) == (Status.OK, "3 fleets deleted: a, b, c\n")


def test_where_nobody_can_be_asked_nothing_is_deleted(three: Person) -> None:
    status, out, err = three.typed("journal", "--drop", "a")
    assert (status, out) == (Status.BAD_INPUT, "")
    assert err.startswith("amrita-fleet: Nothing was deleted: to delete a, add --yes.")
    assert len(three.files()) == 3


@pytest.mark.parametrize(("answer", "status", "left"), [("y\n", 0, 2), ("n\n", 1, 3)])
def test_at_a_terminal_one_is_asked_first(
    three: Person, monkeypatch: pytest.MonkeyPatch, answer: str, status: int, left: int
) -> None:
    parent, child = os.openpty()
    os.write(parent, answer.encode())
    with os.fdopen(child) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        found, _, err = three.typed("journal", "--drop", "a", "--json")
    os.close(parent)
    assert "Delete a, for good?" in err
    assert (found, len(three.files())) == (status, left)


def test_a_fleet_that_is_not_there_is_told(three: Person) -> None:
    for arguments in (("--drop", "d", "--yes"), ("--drop", "a", "--older-than", "1"), ("--journal", "no/such/file")):
        status, out, err = three.typed("journal", *arguments)
        assert (status, out) == (Status.BAD_INPUT, "")
        assert err.startswith("amrita-fleet: ")
    assert len(three.files()) == 3


def test_one_file_that_cannot_be_read_hides_no_other(three: Person) -> None:
    (three.state / "diary.sqlite").write_text("Dear diary,\n" * 1000)
    status, out, err = three.typed("journal")
    assert (status, out.count("its runs have ended")) == (Status.OK, 3)
    assert "diary.sqlite is left out: file is not a database" in err
    status, out, _ = three.typed("journal", "--json")
    assert list(json.loads(out)["unreadable"]) == [str(three.state / "diary.sqlite")]


def test_a_run_deletes_what_was_finished_30_days_ago(three: Person) -> None:
    import sqlite3

    ago = time.time() - 31 * DAY
    for name in ("a", "b"):
        path = three.state / f"{name}.sqlite"
        with sqlite3.connect(path) as made:
            made.execute("UPDATE amrita_stream SET written = written - ?", (31 * DAY,))
        made.close()
        os.utime(path, (ago, ago))
    assert three.told("double 2", "--name", "b")["runs"][0]["run"] == "agent-1.2.1", "the one that is named stays"
    assert three.files() == ["b.sqlite", "c.sqlite"]


# --- PostgreSQL -------------------------------------------------------------------------------------------------------


def test_a_run_is_written_down_in_postgresql(person: Person, server: Server, schema: str) -> None:
    told = person.told("double 21", "--name", "sums", "--journal", server.url(schema))
    assert told["journal"] == f"postgresql://127.0.0.1:{server.port}/postgres"
    (fleet,) = person.fleets("--journal", server.url(schema))
    assert (fleet["name"], fleet["ended"], fleet["journal"]) == ("sums", True, told["journal"])
    status, out, _ = person.typed("journal", "--journal", server.url(schema), "--drop", "sums", "--yes")
    assert (status, out) == (Status.OK, "1 fleet deleted: sums\n")
    assert person.fleets("--journal", server.url(schema)) == []


@pytest.mark.parametrize("system", ["local", "ray"])
@pytest.mark.parametrize(("port", "reason"), [(None, "password authentication failed"), (0, "refused")])
def test_a_server_that_refuses_or_is_not_there_is_one_sentence_with_status_2(
    person: Person, server: Server, system: str, port: int | None, reason: str
) -> None:
    wrong = server.url().replace(IN_URL, "planted-wrong")
    url = wrong if port is None else wrong.replace(f":{server.port}/", f":{free_port()}/")
    for command in (("run", "double 1", *person.model, "--system", system), ("journal",)):
        status, out, err = person.typed(*command, "--journal", url)
        assert (status, out) == (Status.BAD_INPUT, "")
        said, see = err.splitlines()
        assert said.startswith("amrita-fleet: The journal postgresql://127.0.0.1:")
        assert reason in said
        advice = ", or do without: --no-journal." if command[0] == "run" else "."
        assert said.endswith(f"Name another one with --journal{advice}")
        assert see == "See amrita-fleet explain JournalUnusable"
        assert "planted" not in err
