"""What `amrita-fleet journal` looks into: one journal, or all files in the user's folder."""

from dataclasses import dataclass, field
from math import inf, nextafter
from pathlib import Path
from typing import NamedTuple

from ..journal.fleets import KeptFleet, drop_fleet, fleet_of, fleets_of
from ..journal.folder import files, remove_empty
from ..journal.sql import SqlJournal, database_of
from ..journal_errors import JournalInvalid, JournalUnavailable
from .errors import InputInvalid, JournalUnusable
from .fleet_journal import read, state_folder

__all__ = ("Archive", "Entry", "archive")


class Entry(NamedTuple):
    """A fleet in a journal.

    Attributes:
        fleet: What is known of it.
        where: The journal: a path, or an address without a password.
        url: How the journal is opened.
        in_use: Another process has the journal open, and may be running this fleet or another one.
    """

    fleet: KeptFleet
    where: str
    url: str
    in_use: bool


@dataclass
class Archive:
    """Some journals.

    Attributes:
        where: What they are, for people.
        urls: How each is opened.
        folder: They are the files of the user's folder: one that cannot be read is left out, an empty one deleted.
        unreadable: The paths of those that were left out, and why.
        left: Fleets that were to be deleted, and may be running.
    """

    where: str
    urls: tuple[str, ...]
    folder: bool
    unreadable: dict[str, str] = field(default_factory=dict[str, str])
    left: list[str] = field(default_factory=list[str])

    async def entries(self) -> tuple[Entry, ...]:
        """All fleets, journal by journal.

        Raises:
            JournalUnusable: The one journal that was named cannot be used.
        """
        found: list[Entry] = []
        for url in self.urls:
            try:
                found += await entries_of(url)
            except (JournalInvalid, JournalUnavailable) as error:
                if not self.folder:
                    raise JournalUnusable(where=error.where, why=error.reason, needed=True) from None
                self.unreadable[error.where] = error.reason
        return tuple(found)

    async def chosen(self, names: tuple[str, ...], before: float | None) -> tuple[Entry, ...]:
        """Those of these names, or those that nobody opened or wrote to since a time (Unix seconds).

        Raises:
            InputInvalid: One of the names is not there, or may be running.
            JournalUnusable: The one journal that was named cannot be used.
        """
        entries = await self.entries()
        if before is not None:
            old = [each for each in entries if each.fleet.written < before]
            self.left = [each.fleet.name for each in old if runs(each)]
            return tuple(each for each in old if not runs(each))
        for name in names:
            if name not in {each.fleet.name for each in entries}:
                raise InputInvalid(reason=f"Nothing was deleted: there is no fleet {name!r} in {self.where}.")
        found = tuple(each for each in entries if each.fleet.name in names)
        for each in filter(runs, found):
            name = each.fleet.name
            reason = (
                f"Nothing was deleted: {name!r} may be running, another process has {each.where} open. Stop it first."
            )
            raise InputInvalid(reason=reason)
        return found

    async def delete(self, chosen: tuple[Entry, ...], before: float | None) -> tuple[Entry, ...]:
        """Delete them; gives those that are gone. Those that somebody opened meanwhile are `left`.

        Args:
            chosen: Which.
            before: Unix seconds, as for `chosen`; None: as long as nothing was written since they were looked at.

        Raises:
            JournalUnusable: A journal cannot be used any more.
        """
        gone: list[Entry] = []
        for each in chosen:
            journal = SqlJournal(each.url, create=False)
            try:
                # Just above: what was looked at is gone, and what was opened since is not.
                limit = before if before is not None else nextafter(each.fleet.written, inf)
                if await drop_fleet(journal, each.fleet.name, before=limit):
                    gone.append(each)
                elif await fleet_of(journal, each.fleet.name) is not None:
                    self.left.append(each.fleet.name)
                if self.folder:
                    await remove_empty(journal, Path(each.url))
            except (JournalInvalid, JournalUnavailable) as error:
                raise JournalUnusable(where=error.where, why=error.reason, needed=True) from None
            finally:
                await journal.aclose()
        return tuple(gone)


def archive(place: str) -> Archive:
    """The journal of that path or URL, or `env:NAME`; if empty, those of the user's folder.

    Raises:
        InputInvalid: The environment has no such variable, or there is no such file.
    """
    if not place:
        folder = state_folder()
        return Archive(str(folder), tuple(map(str, files(folder))), folder=True)
    url = read(place)
    try:
        database = database_of(url)
    except JournalInvalid as error:
        raise JournalUnusable(where=error.where, why=error.reason, needed=True) from None
    if database.missing:
        raise InputInvalid(reason=f"There is no journal {database.where}.")
    return Archive(database.where, (url,), folder=False)


async def entries_of(url: str) -> list[Entry]:
    """The fleets of one journal.

    Raises:
        JournalInvalid: It is none, or not one for us.
        JournalUnavailable: It cannot be asked now.
    """
    journal = SqlJournal(url, create=False)
    try:
        fleets, in_use = await fleets_of(journal), await journal.in_use()
    finally:
        await journal.aclose()
    return [Entry(fleet, journal.where, url, in_use) for fleet in fleets]


def runs(entry: Entry) -> bool:
    """Whether a fleet may be running: one that has ended and was not opened since does not."""
    return entry.in_use and not entry.fleet.ended
