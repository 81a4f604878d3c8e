"""The user's folder of journals does not grow for ever, and nothing that could go on is lost."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.journal.fleets import mark_ended

if TYPE_CHECKING:
    from amrita_fleet.runtime.journal.sql import SqlJournal

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

DAY = 86_400.0
NOW = 100 * DAY


class Folder:
    """A folder in which fleets were written some days ago."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.opened: list[SqlJournal] = []

    def journal(self, name: str, days: float) -> "SqlJournal":
        from amrita_fleet.runtime.journal.sql import SqlJournal

        self.opened.append(SqlJournal(self.path / f"{name}.sqlite", clock=VirtualClock(NOW - days * DAY)))
        return self.opened[-1]

    async def fleet(self, name: str, days: float, *, ended: bool = True) -> Path:
        """A fleet that is closed; its file is as old as what is in it."""
        journal = self.journal(name, days)
        await journal.open(f"{name}/ledger", 1)
        await journal.append(f"{name}/ledger", 1, 1, (b"x",))
        if ended:
            await mark_ended(journal, name)
        await journal.aclose()
        path = self.path / f"{name}.sqlite"
        self.age(path, days)
        return path

    def age(self, path: Path, days: float) -> None:
        os.utime(path, (NOW - days * DAY, NOW - days * DAY))

    async def tidied(self, besides: Path | None = None) -> tuple[str, ...]:
        from amrita_fleet.runtime.journal.folder import tidy

        return await tidy(self.path, NOW, besides=besides)

    def files(self) -> list[str]:
        return sorted(path.name for path in self.path.iterdir())


@pytest.fixture
async def folder(tmp_path: Path) -> AsyncIterator[Folder]:
    made = Folder(tmp_path)
    yield made
    for journal in made.opened:
        await journal.aclose()


async def test_fleets_that_ended_30_days_ago_are_deleted_with_their_files(folder: Folder) -> None:
    await folder.fleet("old", 31)
    await folder.fleet("young", 29)
    await folder.fleet("unfinished", 300, ended=False)
    assert await folder.tidied() == ("old",)
    assert folder.files() == ["unfinished.sqlite", "young.sqlite"]
    assert await folder.tidied() == ()


async def test_a_file_that_is_about_to_be_used_stays(folder: Folder) -> None:
    path = await folder.fleet("old", 31)
    assert await folder.tidied(besides=path) == ()
    assert await folder.tidied() == ("old",)


async def test_a_fleet_that_was_opened_again_since_it_ended_stays(folder: Folder) -> None:
    path = await folder.fleet("again", 90)
    journal = folder.journal("again", 40)
    await journal.open("again/ledger", 2)
    await journal.aclose()
    folder.age(path, 90)
    assert await folder.tidied() == ()
    assert folder.files() == ["again.sqlite"]


async def test_what_is_in_the_file_decides_not_how_old_the_file_seems(folder: Folder) -> None:
    folder.age(await folder.fleet("restored", 1), 300)
    assert await folder.tidied() == ()
    assert folder.files() == ["restored.sqlite"]


async def test_a_file_that_somebody_has_open_is_not_deleted_under_them(folder: Folder) -> None:
    path = await folder.fleet("held", 31)
    journal = folder.journal("held", 0)
    assert await journal.streams() == ("held/ended", "held/ledger")
    for part in folder.path.iterdir():
        folder.age(part, 31)
    assert await folder.tidied() == ("held",)
    assert path.exists()
    assert await journal.open("held/ledger", 2) == ()


async def test_what_cannot_be_read_is_left_as_it_is(folder: Folder, caplog: pytest.LogCaptureFixture) -> None:
    path = folder.path / "diary.sqlite"
    path.write_text("Dear diary,\n" * 1000)
    folder.age(path, 31)
    await folder.fleet("old", 31)
    assert await folder.tidied() == ("old",)
    assert path.read_text().startswith("Dear diary")
    assert "diary.sqlite is left as it is" in caplog.text


async def test_a_folder_that_is_not_there_is_no_trouble(folder: Folder) -> None:
    folder.path /= "nowhere"
    assert await folder.tidied() == ()
