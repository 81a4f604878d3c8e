"""The user's folder of journals, one file for each fleet: what is in it, and what keeps it from growing for ever."""

import logging
from contextlib import suppress
from math import inf
from pathlib import Path

from ..journal_errors import JournalInvalid, JournalUnavailable
from .fleets import drop_fleet, fleets_of
from .sql import SqlJournal

__all__ = ("FINISHED", "files", "remove_empty", "tidy")

log = logging.getLogger(__name__)

FINISHED = 30 * 86_400.0
"""Seconds that a fleet whose runs have all ended is kept."""


def files(folder: Path) -> tuple[Path, ...]:
    """The journals in a folder, by name; none where there is no such folder."""
    return tuple(sorted(folder.glob("*.sqlite")))


async def tidy(folder: Path, now: float, *, besides: Path | None = None) -> tuple[str, ...]:
    """Delete fleets that ended in good order and were not opened for `FINISHED` seconds; gives their names.

    What could go on stays, whatever its age, and so does what cannot be read: a person decides about those.

    Args:
        folder: The user's.
        now: Unix seconds.
        besides: A file that is about to be used, and stays.
    """
    gone: list[str] = []
    for path in files(folder):
        if path != besides and changed(path) < now - FINISHED:
            journal = SqlJournal(path, create=False)
            try:
                gone += await drop_finished(journal, now - FINISHED)
                await remove_empty(journal, path)
            except (JournalInvalid, JournalUnavailable) as error:
                log.warning("%s is left as it is: %s", path, error)
            finally:
                await journal.aclose()
    return tuple(gone)


async def drop_finished(journal: SqlJournal, before: float) -> list[str]:
    """Drop the fleets that ended in good order before a time (Unix seconds); gives their names."""
    finished = [fleet.name for fleet in await fleets_of(journal) if fleet.ended]
    return [name for name in finished if await drop_fleet(journal, name, before=before)]


async def remove_empty(journal: SqlJournal, path: Path) -> bool:
    """Delete a journal's file, if nothing is in it and nobody has it open; gives whether it is gone.

    Raises:
        JournalUnavailable: It cannot be looked into now.
        JournalInvalid: It is no journal, or not one for us.
    """
    if await journal.streams() or await journal.in_use():
        return False
    await journal.aclose()
    for part in parts(path):
        part.unlink(missing_ok=True)
    return True


def changed(path: Path) -> float:
    """Unix seconds when a journal's file was last changed; one that somebody else has just removed: never."""
    times: list[float] = []
    for part in parts(path):
        with suppress(FileNotFoundError):
            times.append(part.stat().st_mtime)
    return max(times, default=inf)


def parts(path: Path) -> tuple[Path, ...]:
    """A file, and the two beside it that SQLite makes."""
    return path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")
