"""Faults that a request asks for, after its model's name or in a header.

    simulated-census+429*2           the model, with a fault for its first two requests
    simulated-census+latency=0.5+crlf

A fault is `name`, `name=value` or `name=value*n`; several are joined by `+`. `*n` keeps it to the first n requests
that ask with these very words, so that trying again succeeds. The header `x-simulator-fault` takes the same words.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from .errors import Refused

__all__ = ("HEADER", "MODES", "SEPARATOR", "Active", "FaultTally", "Mode", "Wish", "read_wishes")

HEADER = "x-simulator-fault"
SEPARATOR = "+"
WISH = re.compile(r"(?P<name>[a-z0-9-]+)(?:=(?P<value>\d+(?:\.\d+)?))?(?:\*(?P<times>\d+))?")


@dataclass(frozen=True, slots=True)
class Mode:
    """One kind of fault.

    Attributes:
        about: What it does.
        value: What its value means; empty when it takes none.
        default: The value when none is given; None: one has to be.
    """

    about: str
    value: str = ""
    default: float | None = 0.0


MODES: Mapping[str, Mode] = {
    "latency": Mode("the answer comes late", "seconds", 1.0),
    "429": Mode("refused as one too many", "seconds of Retry-After", 1.0),
    "529": Mode("refused as overloaded"),
    "500": Mode("refused with a fault of the server"),
    "cut": Mode("the connection breaks in the body", "bytes sent before", None),
    "end": Mode("the body ends too early, in peace", "bytes sent before", None),
    "open": Mode("the connection stays open, silent, after the last byte"),
    "error": Mode("an error inside a stream; a whole answer is an error with status 200", "events before", 2.0),
    "empty": Mode("neither text nor calls nor reasoning"),
    "reasoning-only": Mode("reasoning and nothing else"),
    "no-usage": Mode("no count of tokens"),
    "duplicate": Mode("each whole call twice in a stream; on /v1/messages message_start twice"),
    "comments": Mode("keep-alive comments between the events"),
    "crlf": Mode("lines of the stream end in CR LF"),
}

Active: TypeAlias = Mapping[str, float]
"""Names of the faults that hit a request, and their values."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A fault that is asked for; `times` is the number of requests it hits, None: all."""

    name: str
    value: float
    times: int | None = None


def read_wishes(words: str) -> tuple[Wish, ...]:
    """The faults that `words` ask for; none when they are empty.

    Raises:
        Refused: There is no such fault, or its value is missing or not wanted.
    """
    return tuple(read_wish(word.strip()) for word in words.split(SEPARATOR)) if words.strip() else ()


def read_wish(word: str) -> Wish:
    """One fault."""
    found = WISH.fullmatch(word)
    mode = MODES.get(found["name"]) if found else None
    if found is None or mode is None:
        message = f"The simulator has no fault {word!r}. It has {', '.join(MODES)}."
        raise Refused(message=message, code="unknown_fault")
    value = mode.default if found["value"] is None else float(found["value"])
    if value is None or (found["value"] and not mode.value):
        wanted = f"takes a value: {mode.value}" if mode.value else "takes no value"
        raise Refused(message=f"The fault {found['name']!r} {wanted}.", code="unknown_fault")
    return Wish(found["name"], value, int(found["times"]) if found["times"] else None)


class FaultTally:
    """Counts the requests that ask for faults, so that those with a number end."""

    def __init__(self) -> None:
        """Count from 0."""
        self._asked: Counter[str] = Counter()

    def take(self, words: str) -> Active:
        """The faults that hit the request that asks with these words; the first one named wins.

        Raises:
            Refused: There is no such fault.
        """
        wishes = read_wishes(words)
        if not wishes:
            return {}
        self._asked[words] += 1
        return {wish.name: wish.value for wish in reversed(wishes) if self._hits(wish, words)}

    def _hits(self, wish: Wish, words: str) -> bool:
        return wish.times is None or self._asked[words] <= wish.times
