"""The journal that a command keeps of its fleet: where it is, what is in it already, and how it ends."""

import asyncio
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from ..given import check_fleet_name
from ..journal.choose import default_folder, default_path
from ..journal.fleets import KeptFleet, fleet_of, mark_ended
from ..journal_errors import JournalInvalid, JournalUnavailable
from .console import complain
from .errors import InputInvalid, JournalUnusable
from .ticking import ticking

if TYPE_CHECKING:
    from ..journal.sql import SqlJournal

__all__ = ("FleetJournal", "fleet_journal", "read", "state_folder")

ENVIRONMENT = "env:"

PAUSE, LEFTOVERS = 0.5, 30
"""Seconds between looks whether a journal is free, and how many there are: Ray ends the actors of a process that was
killed some seconds after it."""


@dataclass(frozen=True)
class FleetJournal:
    """Where what a command's fleet does is written.

    Attributes:
        fleet: The fleet's name.
        url: A path or a URL; None: nowhere.
        own: It is the fleet's own file in the user's folder, which nobody else uses.
    """

    fleet: str
    url: str | None
    own: bool = False

    @property
    def where(self) -> str | None:
        """The path or the address, without a password."""
        if self.url is None:
            return None
        from ..journal.sql import database_of

        return database_of(self.url).where

    @property
    def missing(self) -> bool:
        """Whether it is a file that is not there."""
        if self.url is None:
            return False
        from ..journal.sql import database_of

        return database_of(self.url).missing

    async def look(self, *, create: bool = True) -> KeptFleet | None:
        """See that the journal can be used, and give what it holds of the fleet.

        In the user's folder, other fleets that are finished business for long are deleted.

        Args:
            create: Whether a file that is missing is made, or an empty database becomes a journal.

        Raises:
            JournalUnusable: It cannot be used.
            InputInvalid: The fleet runs, in another process.
        """
        if self.url is None or (self.missing and not create):
            return None
        from ..journal.folder import tidy
        from ..journal.sql import SqlJournal

        if self.own:
            path = Path(self.url)
            await tidy(path.parent, time.time(), besides=path)
        try:
            journal = SqlJournal(self.url, create=create)
            try:
                found = await fleet_of(journal, self.fleet)
                busy = found is not None and self.own and await stays_in_use(journal)
            finally:
                await journal.aclose()
        except (JournalInvalid, JournalUnavailable) as error:
            raise JournalUnusable(where=error.where, why=error.reason, needed=not create) from None
        if busy:
            raise InputInvalid(reason=f"The fleet {self.fleet!r} runs already: another process has its journal open.")
        return found

    async def end(self) -> None:
        """Note that the fleet, which is closed, is finished business. Where that cannot be written, it is said."""
        if self.url is None:
            return
        from ..journal.sql import SqlJournal

        journal = SqlJournal(self.url, create=False)
        try:
            await mark_ended(journal, self.fleet)
        except (JournalInvalid, JournalUnavailable) as error:
            complain(f"The runs have ended, but that could not be written: {error}")
        finally:
            await journal.aclose()


def fleet_journal(name: str, journal: str, *, none: bool) -> FleetJournal:
    """Where a fleet's journal is by a command's options.

    Args:
        name: The fleet's; empty: a new one.
        journal: A path, a URL, or `env:NAME`; empty: the fleet's own file in the user's folder.
        none: No journal is kept.

    Raises:
        ArgumentInvalid: The name cannot be a fleet's.
        InputInvalid: The options contradict each other, or the name cannot be a file's.
        JournalUnusable: The journal is none.
    """
    check_fleet_name(name)
    if none and journal:
        raise InputInvalid(reason="Give --journal or --no-journal, not both.")
    if none:
        return FleetJournal(name or new_name(), None)
    if journal:
        made = FleetJournal(name or new_name(), read(journal))
        try:
            _ = made.where
        except JournalInvalid as error:
            raise JournalUnusable(where=error.where, why=error.reason) from None
        return made
    return own_file(name)


def own_file(name: str) -> FleetJournal:
    """A fleet's own file in the user's folder."""
    folder = state_folder()
    while not name:
        drawn = new_name()
        name = "" if (folder / f"{drawn}.sqlite").exists() else drawn
    try:
        path = default_path(name, environ=os.environ, home=Path.home())
    except ValueError:
        reason = f"A fleet named {name!r} cannot have a file of its name: name another one, or a file with --journal."
        raise InputInvalid(reason=reason) from None
    return FleetJournal(name, str(path), own=True)


def read(journal: str) -> str:
    """A path or a URL as it was typed, or as the environment has it: there a password is in no list of processes."""
    if not journal.startswith(ENVIRONMENT):
        return journal
    variable = journal.removeprefix(ENVIRONMENT)
    if value := os.environ.get(variable):
        return value
    raise InputInvalid(reason=f"--journal {journal}: the environment has no variable {variable}.")


async def stays_in_use(journal: "SqlJournal") -> bool:
    """Whether somebody else has a journal open, and for longer than what is left of a killed command lasts."""
    with ticking(Console(stderr=True)):
        for _ in range(LEFTOVERS):
            if not await journal.in_use():
                return False
            await asyncio.sleep(PAUSE)
    return True


def new_name() -> str:
    """A name that no fleet has, most probably."""
    return f"fleet-{secrets.token_hex(3)}"


def state_folder() -> Path:
    """The user's folder of journals.

    Raises:
        JournalUnusable: Nobody knows where this user's home is.
    """
    try:
        return default_folder(environ=os.environ, home=Path.home())
    except RuntimeError as error:
        raise JournalUnusable(where="in the user's folder", why=str(error)) from None
