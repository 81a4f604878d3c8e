"""Which journal a fleet gets, and where it is when nobody says."""

from collections.abc import Mapping
from pathlib import Path

from ..errors import ArgumentInvalid
from ..ports import Journal
from .memory import MemoryJournal

__all__ = ("check_journal", "default_folder", "default_path", "open_journal")


def check_journal(given: object) -> None:
    """Refuse what no journal is, nor names one.

    Raises:
        ArgumentInvalid: It is neither a text, a path, None, nor an object with the methods of a journal.
    """
    methods = ("open", "append", "read")
    if not isinstance(given, str | Path | None) and not all(callable(getattr(given, each, None)) for each in methods):
        reason = f"it must be a path, a URL, or an object with the methods of ports.Journal, not {type(given).__name__}"
        raise ArgumentInvalid(name="journal", reason=reason)


def open_journal(url: str | Path | None, *, known: bool = False) -> Journal:
    """The journal at a URL or path. A database is not opened before the first call.

    Args:
        url: A path or `sqlite:///path`, `postgresql://user:password@host:port/database`, or None: one in memory.
        known: It was a journal before: no missing file and no empty database becomes one in its place.

    Raises:
        JournalInvalid: The URL is none, or of something else.
    """
    if url is None:
        return MemoryJournal()
    from .sql import SqlJournal

    return SqlJournal(url, create=not known, known=known)


def default_folder(*, environ: Mapping[str, str], home: Path) -> Path:
    """Where journals are when nobody says: in the user's folder for what programs keep.

    Args:
        environ: The environment, for `XDG_STATE_HOME`; one that is no absolute path does not count.
        home: The user's home.

    Source: XDG Base Directory Specification, `XDG_STATE_HOME`.
    """
    state = Path(environ.get("XDG_STATE_HOME", ""))
    folder = state if state.is_absolute() else home / ".local" / "state"
    return folder / "amrita-fleet"


def default_path(fleet: str, *, environ: Mapping[str, str], home: Path) -> Path:
    """A fleet's journal when nobody says: a file of its own in `default_folder`.

    Args:
        fleet: The fleet's name.
        environ: As for `default_folder`.
        home: The user's home.

    Raises:
        ValueError: The name cannot be that of a file.
    """
    if not fleet.isprintable() or "/" in fleet or fleet in {"", ".", ".."}:
        raise ValueError(f"A fleet named {fleet!r} cannot have a file of its name: give the journal a path.")
    return default_folder(environ=environ, home=home) / f"{fleet}.sqlite"
