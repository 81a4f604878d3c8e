"""The processes of this machine that are actors of a class."""

from pathlib import Path

__all__ = ("processes_of",)


def processes_of(actor: type) -> set[int]:
    """Their numbers."""
    found = Path("/proc").glob("[0-9]*/cmdline")
    return {int(each.parent.name) for each in found if title(each).startswith(f"ray::{actor.__name__}")}


def title(process: Path) -> str:
    """What a process is called."""
    try:
        return process.read_bytes().decode(errors="replace")
    except OSError:  # it has just ended
        return ""
