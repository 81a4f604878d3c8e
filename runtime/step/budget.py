"""How many tokens a Step has used, and how many a request can come to.

The bound is what makes a hard limit possible: a request is never counted as more tokens than the bytes its JSON
takes, since a token is at least one byte of the text (or of a Unicode-normalised form of it, for models that
normalise), plus what the provider adds unseen. Where the provider has counted the beginning of the same request
before, its count stands for that part.
"""

from dataclasses import dataclass
from unicodedata import normalize

__all__ = ("Counted", "TokenBudget", "request_bound", "text_bound")

SEPARATORS = 8
"""Bytes allowed for what joins one fragment to the next."""


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """Prompt tokens of one Step: `limit` of -1 is no limit."""

    limit: int = -1
    spent: int = 0

    def spend(self, tokens: int) -> "TokenBudget":
        """Count `tokens` more."""
        return TokenBudget(self.limit, self.spent + tokens)

    @property
    def exhausted(self) -> bool:
        """The limit is reached."""
        return 0 <= self.limit <= self.spent


@dataclass(frozen=True, slots=True)
class Counted:
    """A request whose prompt the provider has counted: `prompt` tokens, not estimated."""

    head: bytes
    fragments: tuple[bytes, ...]
    prompt: int


def request_bound(head: bytes, fragments: tuple[bytes, ...], hidden: int, counted: Counted | None) -> int:
    """The most tokens a request's prompt can be counted as.

    Args:
        head: JSON text that stands before the messages, tools included.
        fragments: JSON text of each message.
        hidden: Tokens the provider adds unseen.
        counted: The last request the provider counted, if any.
    """
    if counted is not None and head == counted.head:
        known = len(counted.fragments)
        if fragments[:known] == counted.fragments:
            return counted.prompt + sum(text_bound(each) + SEPARATORS for each in fragments[known:])
    return hidden + text_bound(head) + sum(text_bound(each) + SEPARATORS for each in fragments)


def text_bound(text: bytes) -> int:
    """The most tokens a text can be: its bytes, or those of its longest normal form."""
    if text.isascii():
        return len(text)
    raw = text.decode(errors="replace")
    forms = (len(normalize(form, raw).encode(errors="replace")) for form in ("NFC", "NFKC"))
    return max(len(text), *forms)
