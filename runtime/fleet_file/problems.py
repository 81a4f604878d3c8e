"""All problems of one reading, each with its place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import NamedTuple, TypeAlias

from .errors import FleetFileInvalid, Problem

__all__ = ("Keys", "Place", "Problems", "nearest")

Keys: TypeAlias = tuple[str | int, ...]
"""What leads to a value: keys of mappings, and numbers, from 0, in lists."""


class Place(NamedTuple):
    """Lines and columns, both from 1, of a key and of its value; in a list they are the same."""

    key: tuple[int, int]
    value: tuple[int, int]


@dataclass
class Problems:
    """Collects what is wrong.

    Attributes:
        path: What the file is called.
        places: Where everything stands.
        found: The problems so far.
    """

    path: str
    places: Mapping[Keys, Place] = field(default_factory=dict[Keys, Place])
    found: list[Problem] = field(default_factory=list[Problem])
    _known: set[Problem] = field(default_factory=set[Problem], init=False)

    def add(self, keys: Keys, text: str, *, key: bool = False) -> None:
        """Note a problem.

        Args:
            keys: What leads to it.
            text: What it is, as a sentence.
            key: It is the key that is wrong, not its value.
        """
        place = self.places.get(keys)
        if place is None:  # what is not there is missed where it should stand
            place, key = self._nearest(keys), True
        self.at(place.key if key else place.value, text, keys)

    def at(self, position: tuple[int, int], text: str, keys: Keys = ()) -> None:
        """Note a problem at a line and a column."""
        problem = Problem(text, shown(keys), *position)
        if problem not in self._known:
            self._known.add(problem)
            self.found.append(problem)

    def check(self) -> None:
        """Come to an end if there are problems, in the order of their places.

        Raises:
            FleetFileInvalid: There are.
        """
        if self.found:
            found = sorted(self.found, key=lambda each: (each.line or 0, each.column or 0))
            raise FleetFileInvalid(path=self.path, problems=tuple(found))

    def _nearest(self, keys: Keys) -> Place:
        while keys and keys not in self.places:
            keys = keys[:-1]
        return self.places.get(keys, Place((1, 1), (1, 1)))


def shown(keys: Keys) -> str:
    """Keys as people write them: `agents.ana.tools[0]`."""
    parts = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return "".join(parts).removeprefix(".")


def nearest(name: str, known: Sequence[str]) -> str:
    """What to say after a name that nobody knows: the one that was meant, or those there are."""
    if near := get_close_matches(name, known, 1):
        return f'Did you mean "{near[0]}"?'
    return f"There {'is' if len(known) == 1 else 'are'} {', '.join(known)}." if known else "There is none."
