"""Numbers in words for a person."""

__all__ = ("plural", "size_shown")

KILO, MEGA = 1_000, 1_000_000


def plural(number: int, thing: str) -> str:
    """So many things, as in `1 file` and `2 files`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def size_shown(size_bytes: int) -> str:
    """A size in the unit that leaves something before the point."""
    if size_bytes < KILO:
        return plural(size_bytes, "byte")
    return f"{size_bytes / KILO:,.1f} kB" if size_bytes < MEGA else f"{size_bytes / MEGA:,.1f} MB"
