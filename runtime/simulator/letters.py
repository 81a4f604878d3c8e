"""Mail and notes of the runtime as a model finds them in user messages."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ("RUNTIME", "Letter", "letters")

RUNTIME = ""
"""The sender of the runtime's own notes."""

HEAD = re.compile(r"^\[(?:Message \S+ from (?P<sender>[^\],\n]+)(?:,[^\]\n]*)?|Note from the runtime)\]$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Letter:
    """One message of a peer, or one note of the runtime."""

    sender: str
    body: str


def letters(text: str) -> Iterator[Letter]:
    """The letters in a user message, in order; what stands before the first head belongs to none."""
    heads = list(HEAD.finditer(text))
    ends = [*(head.start() for head in heads), len(text)][1:]
    for head, end in zip(heads, ends, strict=True):
        yield Letter(head["sender"] or RUNTIME, text[head.end() : end].strip())
