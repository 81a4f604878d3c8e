"""What is particular to the journal in a SQLite file: the file, its disk, other processes, the process's end."""

import asyncio
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.journal.folder import changed
from amrita_fleet.runtime.journal_errors import JournalInvalid, JournalUnavailable
from amrita_fleet.runtime.ports import Record

if TYPE_CHECKING:
    from amrita_fleet.runtime.journal.sql import SqlJournal

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SOURCE = Path(__file__).resolve().parents[3] / "src"

Open = Callable[..., "SqlJournal"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


@pytest.fixture
async def journal_at() -> AsyncIterator[Open]:
    """Opens journals, and closes them at the end."""
    from amrita_fleet.runtime.journal.sql import SqlJournal

    opened: list[SqlJournal] = []

    def opener(path: Path, **options: object) -> SqlJournal:
        opened.append(SqlJournal(path, **options))  # type: ignore[arg-type]
        return opened[-1]

    yield opener
    for journal in opened:
        await journal.aclose()


async def fill(journal: "SqlJournal", records: int = 3) -> None:
    await journal.open("s", 1)
    await journal.append("s", 1, 1, tuple(b"%d" % number for number in range(1, records + 1)))


class CountingClock(VirtualClock):
    """Counts how often it is looked at."""

    looks = 0

    def now(self) -> float:
        self.looks += 1
        return super().now()


async def test_the_file_is_made_with_its_folders_for_this_user_alone(tmp_path: Path, journal_at: Open) -> None:
    file = tmp_path / "state" / "amrita-fleet" / "census.sqlite"
    await fill(journal_at(file))

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent, *file.parent.iterdir())}
    assert modes.pop("amrita-fleet") == 0o700
    assert set(modes.values()) == {0o600}
    assert len(modes) == 3


async def test_a_path_that_no_disk_can_have_is_refused_for_good(tmp_path: Path, journal_at: Open) -> None:
    with pytest.raises(JournalInvalid, match="it cannot be made: File name too long"):
        await journal_at(tmp_path / ("a" * 300)).open("s", 1)


async def test_a_commit_is_on_the_disk_before_it_is_acknowledged(file: Path, journal_at: Open) -> None:
    from amrita_fleet.runtime.journal.sqlite import SqliteFile

    connection = SqliteFile(file).connect(create=True)
    assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
    assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2  # FULL
    connection.close()


async def test_what_is_asked_at_once_shares_a_transaction(file: Path, journal_at: Open) -> None:
    clock = CountingClock()
    journal = journal_at(file, clock=clock)
    streams = [f"s{number}" for number in range(200)]
    await asyncio.gather(*(journal.open(stream, 1) for stream in streams))

    before = clock.looks
    await asyncio.gather(*(journal.append(stream, 1, 1, (b"a",)) for stream in streams))

    assert clock.looks - before <= 2


async def test_who_stops_waiting_disturbs_nobody(file: Path, journal_at: Open) -> None:
    journal = journal_at(file)
    await journal.open("s", 1)

    impatient = asyncio.create_task(journal.append("s", 1, 1, (b"a",)))
    patient = asyncio.create_task(journal.append("s", 1, 2, (b"b",)))
    await asyncio.sleep(0)
    impatient.cancel()
    await patient

    assert [record.number for record in await journal.read("s")] == [1, 2]


async def test_closing_finishes_what_was_asked_and_refuses_what_comes_after(file: Path, journal_at: Open) -> None:
    journal = journal_at(file)
    await journal.open("s", 1)
    last = asyncio.create_task(journal.append("s", 1, 1, (b"a",)))
    await asyncio.sleep(0)

    await journal.aclose()

    assert last.done()
    with pytest.raises(JournalUnavailable, match="was closed"):
        await journal.read("s")
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    assert await journal_at(file).read("s") == (Record(1, 1, b"a"),)


WRITER = """
import asyncio, sys
from pathlib import Path
from amrita_fleet.runtime.journal.choose import open_journal

async def write(journal, stream):
    await journal.open(stream, 1)
    for number in range(1, 100_000):
        await journal.append(stream, 1, number, (b"%d" % number,))
        print(stream, number, flush=True)

async def main():
    journal = open_journal(Path(sys.argv[1]))
    await asyncio.gather(*(write(journal, f"s{at}") for at in range(8)))

asyncio.run(main())
"""


def told_before_kill_9(file: Path, lines: int) -> dict[str, int]:
    """Kill a writer after so many lines of its, and give the last number of each stream that it was told is written."""
    command = [sys.executable, "-c", WRITER, str(file)]
    told: dict[str, int] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": str(SOURCE)}) as writer:
        assert writer.stdout is not None
        read = [writer.stdout.readline() for _ in range(lines)]
        writer.kill()
        read += writer.stdout.readlines()
    assert writer.returncode == -signal.SIGKILL
    for line in read:
        if line.endswith("\n"):
            stream, number = line.split()
            told[stream] = int(number)
    return told


@pytest.mark.parametrize("lines", [1, 50, 400])
async def test_what_a_process_was_told_is_written_is_there_after_kill_9(
    file: Path, journal_at: Open, lines: int
) -> None:
    told = told_before_kill_9(file, lines)

    journal = journal_at(file, create=False)
    assert told
    for stream, last in told.items():
        found = await journal.open(stream, 2)
        assert found == tuple(Record(number, 1, b"%d" % number) for number in range(1, len(found) + 1))
        assert len(found) >= last


FULL = """
import asyncio, resource, sys
from pathlib import Path
from amrita_fleet.runtime.journal_errors import JournalUnavailable
from amrita_fleet.runtime.journal.choose import open_journal

async def main():
    journal = open_journal(Path(sys.argv[1]))
    await journal.open("s", 1)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
    number = 1
    try:
        while True:
            await journal.append("s", 1, number, (b"x" * 10_000,))
            number += 1
    except JournalUnavailable as error:
        print(error)
    before = len(await journal.read("s"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    await journal.append("s", 1, number, (b"x" * 10_000,))
    print(before - number, len(await journal.read("s")) - number)
    await journal.aclose()

asyncio.run(main())
"""


def test_a_full_disk_is_said_and_when_there_is_room_again_all_goes_on(file: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", FULL, str(file)],
        env={"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
    said, counts = ended.stdout.splitlines()
    assert str(file) in said and ("full" in said or "disk I/O error" in said)
    assert counts == "-1 0"


async def test_a_file_that_another_process_holds_is_waited_for(file: Path, journal_at: Open) -> None:
    await fill(journal_at(file))
    journal = journal_at(file, patience=0.05)
    await journal.read("s")
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for _ in range(2):
            with pytest.raises(JournalUnavailable, match=r"no answer within 0\.05 s"):
                await journal.append("s", 1, 4, (b"4",))

    patient = journal_at(file)
    await patient.append("s", 1, 4, (b"4",))
    assert [record.number for record in await patient.read("s")] == [1, 2, 3, 4]


async def test_a_file_is_in_use_while_another_journal_has_it_open(file: Path, journal_at: Open) -> None:
    journal, other = journal_at(file), journal_at(file)
    await fill(journal)
    assert not await journal.in_use()
    await other.read("s")
    assert await journal.in_use()
    await other.aclose()
    assert not await journal.in_use()
    assert len(await journal.read("s")) == 3


async def test_who_looks_whether_a_file_is_in_use_does_not_make_it_younger(file: Path, journal_at: Open) -> None:
    journal = journal_at(file)
    await journal.open("f", 1)
    await journal.aclose()
    os.utime(file, (1_000.0, 1_000.0))
    assert not await journal_at(file).in_use()
    assert changed(file) == 1_000.0


async def test_a_file_whose_user_was_killed_is_in_use_no_longer(file: Path, journal_at: Open) -> None:
    writer = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WRITER, str(file), stdout=asyncio.subprocess.PIPE, env={"PYTHONPATH": str(SOURCE)}
    )
    assert writer.stdout is not None
    await writer.stdout.readline()
    assert await journal_at(file).in_use()
    writer.kill()
    await writer.communicate()
    assert not await journal_at(file).in_use()


def move(file: Path, to: Path) -> None:
    """Move a database, with what SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm"):
        if (part := Path(f"{file}{suffix}")).exists():
            part.rename(f"{to}{suffix}")


async def test_a_file_that_was_taken_away_is_missed_and_used_again_when_it_is_back(
    file: Path, journal_at: Open
) -> None:
    journal = journal_at(file)
    await fill(journal)

    away = file.with_suffix(".away")
    move(file, away)
    for _ in range(2):
        with pytest.raises(JournalUnavailable, match="the file is gone"):
            await journal.append("s", 1, 4, (b"4",))
    assert content(file) is None

    move(away, file)
    await journal.append("s", 1, 4, (b"4",))
    assert len(await journal.read("s")) == 4


async def test_an_exchanged_file_is_not_written_to_as_if_it_were_the_old_one(file: Path, journal_at: Open) -> None:
    journal, other = journal_at(file), file.with_suffix(".other")
    await fill(journal)
    await fill(journal_at(other), records=2)
    move(other, file)

    with pytest.raises(JournalUnavailable, match="the file is gone"):
        await journal.append("s", 1, 4, (b"4",))


def content(path: Path) -> bytes | None:
    """What is in a file; None where there is none."""
    return path.read_bytes() if path.is_file() else None


def text_file(path: Path) -> None:
    path.write_text("Dear diary,\n" * 1000)


def other_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE bookmarks (url TEXT)")


def newer_schema(path: Path) -> None:
    with closing(sqlite3.connect(path)) as made:
        made.execute("PRAGMA journal_mode=WAL")
        made.execute("CREATE TABLE amrita_journal (version INTEGER)")
        made.execute("INSERT INTO amrita_journal VALUES (99)")
        made.commit()


def damaged(path: Path) -> None:
    with closing(sqlite3.connect(path)) as made:
        made.execute("PRAGMA journal_mode=WAL")
        made.execute("CREATE TABLE amrita_journal (version INTEGER)")
        made.executemany("INSERT INTO amrita_journal VALUES (?)", [(1,)] * 5000)
        made.commit()
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (text_file, "not a database.*file of something else"),
        (other_database, r"tables of something else \(bookmarks\)"),
        (newer_schema, r"newer Amrita Fleet \(schema 99; this one knows 2\)"),
        (damaged, "malformed.*damaged"),
        (Path.mkdir, "it is no file"),
    ],
)
async def test_what_is_no_journal_of_ours_is_refused_and_left_as_it_is(
    file: Path, journal_at: Open, make: Callable[[Path], None], reason: str
) -> None:
    make(file)
    before = content(file)

    for _ in range(2):
        with pytest.raises(JournalInvalid, match=reason) as caught:
            await journal_at(file).open("s", 1)
        assert caught.value.where == str(file)
        assert not caught.value.retryable

    assert content(file) == before


async def test_a_folder_that_is_a_file_is_refused(tmp_path: Path, journal_at: Open) -> None:
    text_file(tmp_path / "file")

    with pytest.raises(JournalInvalid, match="cannot be the journal"):
        await journal_at(tmp_path / "file" / "journal.sqlite").open("s", 1)
    with pytest.raises(JournalInvalid, match="Not a directory"):
        await journal_at(tmp_path / "file" / "folder" / "journal.sqlite").open("s", 1)


async def test_who_goes_on_with_a_journal_makes_no_new_one(file: Path, journal_at: Open) -> None:
    with pytest.raises(JournalInvalid, match="there is no such file; if there was one, put it back"):
        await journal_at(file, create=False).open("s", 1)
    assert content(file) is None

    sqlite3.connect(file).close()
    with pytest.raises(JournalInvalid, match="it is empty"):
        await journal_at(file, create=False).open("s", 1)


async def test_two_processes_may_make_the_same_journal_at_once(file: Path, journal_at: Open) -> None:
    journals = [journal_at(file) for _ in range(6)]

    await asyncio.gather(*(journal.open(f"s{at}", 1) for at, journal in enumerate(journals)))

    assert len(await journals[0].streams()) == len(journals)
