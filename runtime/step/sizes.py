"""How much room texts and turns take, and texts made shorter.

A size is bytes of UTF-8. It is a measure of how long a history is, quick enough to be kept with each change; what a
request is charged with before its tokens are known is measured on its JSON (`last_answer`, `budget`).
"""

import json

from ...protocols.messages import ToolResult, Turn

__all__ = ("FRAME", "level", "shortened", "size_of", "weight")

FRAME = 64
"""Bytes of JSON counted around the texts of each turn and of each call."""

MARKER = 160
"""Bytes kept for the line that says what is missing in a text that was cut."""


def size_of(text: str) -> int:
    """Bytes of UTF-8; half a surrogate counts as what stands in for it, which is three."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def weight(turn: Turn) -> int:
    """The bytes a turn takes in a request, whatever the wire format."""
    if isinstance(turn, ToolResult):
        return FRAME + size_of(turn.call_id) + size_of(turn.content)
    beside = size_of(turn.reasoning_content or "") + size_of(turn.reasoning_signature or "") + size_of_data(turn.extra)
    calls = sum(
        FRAME + size_of(call.id) + size_of(call.name) + size_of(call.arguments) + size_of_data(call.extra)
        for call in turn.calls
    )
    return FRAME + size_of(turn.content) + beside + calls


def size_of_data(extra: object) -> int:
    """Bytes of a provider's own fields; most turns have none, and then nothing is written out."""
    return size_of(json.dumps(extra, ensure_ascii=False, default=dict)) if extra else 0


def shortened(text: str, limit: int, hint: str = "") -> str:
    """A text of at most `limit` bytes: head and tail, and between them a line that says what is missing.

    The tail stays because the error of a long log stands at its end. Where there is no room for such a line, only
    the head stays.

    Args:
        text: Any text.
        limit: Bytes.
        hint: What the reader can do to see the rest; at most 80 bytes.
    """
    if len(text) * 4 <= limit or (size := size_of(text)) <= limit:
        return text
    room = limit - MARKER
    if room < MARKER:
        return head_of(text, max(0, limit))
    head, tail = head_of(text, room * 2 // 3), tail_of(text, room // 3)
    missing = size - size_of(head) - size_of(tail)
    return f"{head}\n[... {missing} of {size} bytes are left out here{hint and '; '}{hint} ...]\n{tail}"


def head_of(text: str, size: int) -> str:
    """The beginning of a text in at most `size` bytes. The rest is not looked at: it may be very long."""
    return text[:size].encode(errors="replace")[:size].decode(errors="ignore")


def tail_of(text: str, size: int) -> str:
    """The end of a text in at most `size` bytes, at least 1. The rest is not looked at."""
    return text[-size:].encode(errors="replace")[-size:].decode(errors="ignore")


def level(sizes: list[int], excess: int, least: int) -> int:
    """The size to which the largest must come down for `excess` bytes to be gone in all; not below `least`.

    Args:
        sizes: Bytes, the largest first.
        excess: Bytes; more than none.
        least: Bytes.
    """
    total = 0
    for count, size in enumerate(sizes, 1):
        total += size
        limit = (total - excess) // count
        if limit >= (sizes[count] if count < len(sizes) else 0):
            return max(least, limit)
    return least
