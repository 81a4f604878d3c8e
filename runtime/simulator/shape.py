"""Typed reading of a JSON body; what does not fit is refused in the provider's words, with the path to it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from .words import Words

__all__ = ("Node", "read_json")

T = TypeVar("T")


def read_json(raw: bytes, words: Words) -> object:
    """The JSON value of a request's body.

    Raises:
        Refused: It is no JSON.
    """
    try:
        return json.loads(raw)
    except ValueError:
        raise words.not_json() from None


@dataclass(frozen=True, slots=True)
class Node:
    """A value in a body, how its provider refuses, and the path to the value; the body's own path is empty."""

    value: object
    words: Words
    path: str = ""

    def only(self, *known: str) -> None:
        """Refuse fields that are not known."""
        for name in self.fields():
            if name not in known:
                raise self.words.unknown(self.words.member(self.path, name))

    def get(self, name: str) -> "Node | None":
        """The field `name`; None when it is missing or null."""
        value = self.fields().get(name)
        return None if value is None else self._at(name, value)

    def field(self, name: str) -> "Node":
        """The field `name`, which has to be there."""
        fields = self.fields()
        if name not in fields:
            raise self.words.missing(self.words.member(self.path, name))
        return self._at(name, fields[name])

    def tagged(self, tag: str) -> "Node":
        """This value, with `tag` at the end of its path."""
        return replace(self, path=self.words.member(self.path, tag))

    def items(self, *, low: int = 1) -> "list[Node]":
        """The elements of an array that has at least `low`, which is 0 or 1."""
        elements = cast("list[object]", self._typed(list))
        if len(elements) < low:
            raise self.words.empty(self.path)
        element, words, path = self.words.element, self.words, self.path
        return [Node(value, words, element(path, place)) for place, value in enumerate(elements)]

    def text(self) -> str:
        """A string."""
        return self._typed(str)

    def flag(self) -> bool:
        """A boolean."""
        return self._typed(bool)

    def fields(self) -> dict[str, object]:
        """An object with whatever fields."""
        return cast("dict[str, object]", self._typed(dict))

    def whole(self, low: int) -> int:
        """An integer of at least `low`."""
        value = self._typed(int)
        if value < low:
            raise self.words.too_small(self.path, low, value)
        return value

    def number(self, low: float, high: float) -> float:
        """A number within `low` and `high`, both included."""
        value = self.value if type(self.value) is int else self._typed(float)
        if not low <= value <= high:
            raise self.words.outside(self.path, low, high, value)
        return value

    def choice(self, supported: Sequence[str]) -> str:
        """One of the `supported` strings."""
        value = self.text()
        if value not in supported:
            raise self.words.unsupported(self.path, value, supported)
        return value

    def _at(self, name: str, value: object) -> "Node":
        return Node(value, self.words, self.words.member(self.path, name))

    def _typed(self, expected: type[T]) -> T:
        # The exact type, because to Python True is an int.
        if type(self.value) is expected:
            return self.value
        raise self.words.mistyped(self.path, expected, self.value)
