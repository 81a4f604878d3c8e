"""Numbers in words for a person."""

from ...protocols.plural import plural

__all__ = ("plural", "size_shown")

KILO, MEGA = 1_000, 1_000_000


def size_shown(size_bytes: int) -> str:
    """A size in the unit that leaves something before the point."""
    if size_bytes < KILO:
        return plural(size_bytes, "byte")
    return f"{size_bytes / KILO:,.1f} kB" if size_bytes < MEGA else f"{size_bytes / MEGA:,.1f} MB"
