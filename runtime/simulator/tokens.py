"""A count of tokens that needs no tokenizer and is never more than the bytes of the text."""

import re
from itertools import islice

__all__ = ("count", "cut")

PIECE = re.compile(r"\w{1,4}|[^\w\s]")


def kind(code: int) -> int:
    """The letter that stands for an ASCII character in `count`: of a word, a mark, or a space."""
    character = chr(code)
    return ord("a" if re.match(r"\w", character) else "!" if PIECE.match(character) else " ")


KINDS = bytes(map(kind, range(128))).ljust(256)


def count(text: str) -> int:
    """Tokens of `text`: runs of up to four word characters, and each other visible character."""
    if not text.isascii():
        return len(PIECE.findall(text))
    # The same for ASCII at a sixth of the time: each token shrinks to one byte, from the longest runs down.
    shrunk = text.encode().translate(KINDS)
    for run in (b"aaaa", b"aaa", b"aa"):
        shrunk = shrunk.replace(run, b"w")
    return len(shrunk) - shrunk.count(b" ")


def cut(text: str, limit: int) -> str:
    """The longest beginning of `text` that has at most `limit` tokens."""
    beyond = next(islice(PIECE.finditer(text), max(limit, 0), None), None)
    return text if beyond is None else text[: beyond.start()]
