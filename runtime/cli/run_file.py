"""`amrita-fleet run FILE`: a fleet file, and the options that may stand beside it."""

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Literal

from ..fleet_file.file import FleetFile
from .crews import Described
from .errors import InputInvalid
from .fleet_journal import FleetJournal, fleet_journal
from .work import Work

__all__ = ("file_work", "is_fleet_file", "refuse_beside")

ENDINGS = (".yaml", ".yml")


def is_fleet_file(task: str) -> bool:
    """Whether a file is meant and no task: it ends as fleet files do, and is there or at least one word."""
    if not task.endswith(ENDINGS):
        return False
    try:
        return len(task.split()) == 1 or Path(task).exists()
    except OSError:  # too long for a path
        return False


def refuse_beside(file: str, options: Mapping[str, object]) -> None:
    """Refuse options that say what a fleet file says.

    Args:
        file: The file.
        options: What was given, by the names of the options; what is empty was not.

    Raises:
        InputInvalid: There are such.
    """
    if given := [f"--{name.replace('_', '-')}" for name, value in options.items() if value not in (None, "", False)]:
        say = "says that itself" if len(given) == 1 else "says them itself"
        raise InputInvalid(reason=f"Leave out {', '.join(given)}: a fleet file ({file}) {say}.")


def file_work(file: str, system: Literal["ray", "local"], name: str, journal: str, *, none: bool, resume: bool) -> Work:
    """What a fleet file asks for, with the options that may stand beside it.

    Args:
        file: Where it is.
        system: Where its agents are to live.
        name: The fleet's; empty: as the file says, or a new one.
        journal: As the option says; empty: as the file says, or in the user's folder.
        none: No journal is kept.
        resume: Only what is unfinished goes on.

    Raises:
        FleetFileInvalid: It describes no fleet.
        InputInvalid: It has nothing to run, or contradicts the options.
        JournalUnusable: The journal is none.
    """
    with redirect_stdout(sys.stderr):  # what imported modules print is no part of what was asked for
        read = FleetFile.read(file)
    if not read.agents:
        raise InputInvalid(reason=f"{file} has no agent that lives by itself: each has count 0.")
    if not (resume or read.tasks):
        example = f"tasks: [{{agent: {read.agents[0]}, task: ...}}]"
        raise InputInvalid(reason=f"{file} has no tasks, so there is nothing to run: add some, as in {example}.")
    return Work(Described(read, system), journal_beside(read, name, journal, none=none, resume=resume), resume)


def journal_beside(file: FleetFile, name: str, journal: str, *, none: bool, resume: bool) -> FleetJournal:
    """The journal of a fleet file's fleet: as the file says, or the options where it says nothing.

    Raises:
        InputInvalid: File and options contradict each other, or options each other.
        JournalUnusable: The journal is none.
    """
    if file.name and name not in ("", file.name):
        raise InputInvalid(reason=f"--name {name} contradicts {file.path}: there the fleet is named {file.name!r}.")
    if file.journal and (journal or none):
        option = "--no-journal" if none else "--journal"
        raise InputInvalid(reason=f"{option} contradicts {file.path}: it names a journal itself, as fleet.journal.")
    if resume and none:
        raise InputInvalid(reason="--resume needs the journal: leave out --no-journal.")
    named = file.name or name
    if resume and not named:
        reason = f"--resume needs --name, as {file.path} names no fleet: `amrita-fleet journal` lists those there are."
        raise InputInvalid(reason=reason)
    return fleet_journal(named, file.journal or journal, none=none)
