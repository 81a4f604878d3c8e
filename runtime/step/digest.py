"""A conversation as one text, for a model that is to sum it up."""

from ...protocols.messages import Role, ToolResult, Turn
from ...protocols.plural import are, plural
from .sizes import shortened, size_of

__all__ = ("digest", "shown")

LINE = 2000
"""Bytes of one text or output at most."""

ARGUMENTS = 300
"""Bytes of a call's arguments at most."""

GAP = 64
"""Bytes kept for the line that says how much is missing."""


def digest(turns: tuple[Turn, ...], size: int) -> str:
    """The first turn, which may be an older summary, and the newest, as many as fit into `size` bytes.

    Args:
        turns: At least one.
        size: Bytes; at least 1,000.
    """
    oldest = shortened(shown(turns[0]), size // 3)
    room, newest = size - size_of(oldest) - GAP, list[str]()
    for turn in reversed(turns[1:]):
        text = shortened(shown(turn), min(LINE, size // 4))
        room -= size_of(text) + len("\n")
        if room < 0:
            break
        newest.append(text)
    missing = len(turns) - 1 - len(newest)
    gap = [f"[... {plural(missing, 'message')} {are(missing)} left out here ...]"] if missing else []
    return "\n".join((oldest, *gap, *reversed(newest)))


def shown(turn: Turn) -> str:
    """A turn as a line of a conversation."""
    if isinstance(turn, ToolResult):
        return f"{turn.name} gave: {turn.content}"
    if turn.role is not Role.ASSISTANT:
        return f"User: {turn.content}"
    calls = [f"Agent called {call.name}: {shortened(call.arguments, ARGUMENTS)}" for call in turn.calls]
    said = [f"Agent: {turn.content}"] if turn.content.strip() else []
    return "\n".join((*said, *calls))
