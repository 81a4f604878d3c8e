"""Numbers of things in words."""

__all__ = ("are", "plural")


def plural(number: float, thing: str) -> str:
    """So many things, as in `1 file`, `2 files` and `0.5 seconds`."""
    count = f"{number:,}" if isinstance(number, int) else f"{number:,g}"
    return f"{count} {thing}{'' if number == 1 else 's'}"


def are(number: float) -> str:
    """The verb of so many things."""
    return "is" if number == 1 else "are"
