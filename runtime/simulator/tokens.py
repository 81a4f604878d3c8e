"""A count of tokens that needs no tokenizer and is never more than the bytes of the text."""

import re
from itertools import islice

__all__ = ("count", "cut")

PIECE = re.compile(r"\w{1,4}|[^\w\s]")


def count(text: str) -> int:
    """Tokens of `text`: runs of up to four word characters, and each other visible character."""
    return sum(1 for _ in PIECE.finditer(text))


def cut(text: str, limit: int) -> str:
    """The longest beginning of `text` that has at most `limit` tokens."""
    beyond = next(islice(PIECE.finditer(text), max(limit, 0), None), None)
    return text if beyond is None else text[: beyond.start()]
