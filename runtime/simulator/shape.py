"""Typed reading of a JSON body; what does not fit is refused in the provider's words, with the path to it."""

import json
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

from .words import Words

__all__ = ("Node", "read_json")

T = TypeVar("T")
ARRAY: type[list[object]] = list
OBJECT: type[dict[str, Any]] = dict


def read_json(raw: bytes, words: Words) -> object:
    """The JSON value of a request's body.

    Raises:
        Refused: It is no JSON.
    """
    try:
        return json.loads(raw)
    except ValueError:
        raise words.not_json() from None


class Node:
    """A value in a body.

    A request has some hundred of them and hardly ever a fault, so this is no dataclass, and the path is spelled only
    when it is asked for.

    Attributes:
        value: As JSON gave it.
        words: How its provider refuses.
    """

    __slots__ = ("_key", "_parent", "value", "words")

    def __init__(self, value: object, words: Words, parent: "Node | None" = None, key: str | int = "") -> None:
        """A value under the name or number `key` of its parent; without a parent: the body itself."""
        self.value = value
        self.words = words
        self._parent = parent
        self._key = key

    @property
    def path(self) -> str:
        """Where it is, as its provider spells it; empty for the body itself."""
        if self._parent is None:
            return ""
        if isinstance(self._key, int):
            return self.words.element(self._parent.path, self._key)
        return self.words.member(self._parent.path, self._key)

    def only(self, known: AbstractSet[str]) -> None:
        """Refuse fields that are not known."""
        fields = self.fields()
        if not known >= fields.keys():
            unknown = next(name for name in fields if name not in known)
            raise self.words.unknown(self.tagged(unknown).path)

    def get(self, name: str) -> "Node | None":
        """The field `name`; None when it is missing or null."""
        value = self.fields().get(name)
        return None if value is None else Node(value, self.words, self, name)

    def field(self, name: str) -> "Node":
        """The field `name`, which has to be there."""
        fields = self.fields()
        if name not in fields:
            raise self.words.missing(self.tagged(name).path)
        return Node(fields[name], self.words, self, name)

    def tagged(self, tag: str) -> "Node":
        """This value, with `tag` at the end of its path."""
        return Node(self.value, self.words, self, tag)

    def items(self, *, low: int = 1) -> "list[Node]":
        """The elements of an array that has at least `low`, which is 0 or 1."""
        elements = self._typed(ARRAY)
        if len(elements) < low:
            raise self.words.empty(self.path)
        return [Node(value, self.words, self, place) for place, value in enumerate(elements)]

    def text(self) -> str:
        """A string."""
        return self._typed(str)

    def flag(self) -> bool:
        """A boolean."""
        return self._typed(bool)

    def fields(self) -> dict[str, Any]:
        """An object with whatever fields."""
        return self._typed(OBJECT)

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

    def _typed(self, expected: type[T]) -> T:
        # The exact type, because to Python True is an int.
        if type(self.value) is expected:
            return self.value
        raise self.words.mistyped(self.path, expected, self.value)
