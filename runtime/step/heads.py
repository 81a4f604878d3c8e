"""The lines that say whose words follow. Only the runtime can write them, so a model can trust them."""

import re
from unicodedata import category, normalize

__all__ = ("FROM_RUNTIME", "LEFT_OUT", "guarded", "is_mail", "peer_messages")

FROM_RUNTIME = "[Note from the runtime]"
"""The head of what the runtime itself writes to an agent."""

LEFT_OUT = f"{FROM_RUNTIME}\nA request failed and is left out, and so are these messages that came with it:"
"""How a note begins that names messages whose words are not kept."""

FROM_PEER = "[Message "
"""How the head of a peer's message begins."""

NEXT_HEAD = re.compile(r"\n\n(?=\[Message |\[Note from the runtime\])")
"""What stands between two messages of one note; bodies have no line that begins like this."""

UNSEEN = frozenset({"Cc", "Cf", "Zs", "Mn"})
"""Unicode categories of characters that a reader does not see at the beginning of a line."""


def guarded(body: str) -> str:
    """The body with lines that look like the runtime's heads indented."""
    return "\n".join(f" {line}" if looks_like_head(line) else line for line in body.splitlines() or [""])


def looks_like_head(line: str) -> bool:
    """Whether a reader could take the line for a head: unseen characters, width and case of letters do not count."""
    seen = "".join(each for each in normalize("NFKC", line) if category(each) not in UNSEEN)
    return seen.casefold().startswith(("[message", "[note", "[plan"))


def is_mail(note: str) -> bool:
    """Whether a user note is mail, from a peer or from the runtime."""
    return note.startswith((FROM_PEER, FROM_RUNTIME))


def peer_messages(note: str) -> tuple[str, ...]:
    """The messages of peers that a note of mail holds, each with its head, word for word; none of another note.

    A note that only names messages is kept as they would be.
    """
    if note.startswith(LEFT_OUT):
        return (note,)
    parts = NEXT_HEAD.split(note) if is_mail(note) else []
    return tuple(part for part in parts if part.startswith(FROM_PEER))
