"""Ranges of files, and what the tools of the census say of them."""

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

from ...protocols.messages import Json, is_failure

__all__ = ("Shard", "failed", "read_object", "split")

ORDER = re.compile(r"Please take files (?P<first>\d+) to (?P<last>\d+) of the census")


@dataclass(frozen=True, slots=True)
class Shard:
    """The files numbered `first` to `last`, both included."""

    first: int
    last: int

    @classmethod
    def find(cls, text: str) -> "Shard | None":
        """The shard that `text` asks to be counted, or None."""
        found = ORDER.search(text)
        return cls(int(found["first"]), int(found["last"])) if found else None

    def __str__(self) -> str:
        """As in `files 0 to 9`."""
        return f"files {self.first} to {self.last}"


def split(shard: Shard, parts: int) -> tuple[Shard, ...]:
    """At most `parts` shards of nearly equal size, none empty, that together are `shard`."""
    size = shard.last - shard.first + 1
    edges = sorted({shard.first + size * part // parts for part in range(parts + 1)})
    return tuple(Shard(first, after - 1) for first, after in pairwise(edges))


def failed(output: str) -> bool:
    """Whether a call came to nothing."""
    return is_failure(output) or output.startswith("Cancelled:")


def read_object(text: str) -> dict[str, Json] | None:
    """The JSON object in `text`, or None when it is none: an error, or a call that was cancelled."""
    try:
        value: object = json.loads(text)
    except ValueError:
        return None
    return cast("dict[str, Json]", value) if isinstance(value, dict) else None
