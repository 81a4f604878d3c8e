"""Typed reading of a JSON body; what does not fit is refused in OpenAI's words, with the path to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from .errors import Refused

__all__ = ("Node",)

KINDS: Mapping[type, str] = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a decimal",
    str: "a string",
    list: "an array",
    dict: "an object",
}
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Node:
    """A value in a body and the path to it, as in `messages[2].tool_calls[0].id`; the body's own path is empty."""

    value: object
    path: str = ""

    def only(self, *known: str) -> None:
        """Refuse fields that are not known."""
        for name in self._fields():
            if name not in known:
                path = self._path(name)
                raise Refused(message=f"Unknown parameter: '{path}'.", param=path, code="unknown_parameter")

    def get(self, name: str) -> "Node | None":
        """The field `name`; None when it is missing or null."""
        value = self._fields().get(name)
        return None if value is None else Node(value, self._path(name))

    def field(self, name: str) -> "Node":
        """The field `name`, which has to be there."""
        if name not in self._fields():
            path = self._path(name)
            message = f"Missing required parameter: '{path}'."
            raise Refused(message=message, param=path, code="missing_required_parameter")
        return Node(self._fields()[name], self._path(name))

    def items(self) -> "list[Node]":
        """The elements of an array that has at least one."""
        elements = cast("list[object]", self._typed(list))
        if not elements:
            expected = "Expected an array with minimum length 1, but got an empty array instead."
            raise self.invalid("empty array", expected, code="empty_array")
        return [Node(element, f"{self.path}[{place}]") for place, element in enumerate(elements)]

    def text(self) -> str:
        """A string."""
        return self._typed(str)

    def flag(self) -> bool:
        """A boolean."""
        return self._typed(bool)

    def whole(self, low: int) -> int:
        """An integer of at least `low`."""
        value = self._typed(int)
        if value < low:
            expected = f"Expected a value >= {low}, but got {value} instead."
            raise self.invalid("integer below minimum value", expected, code="integer_below_min_value")
        return value

    def number(self, low: float, high: float) -> float:
        """A number within `low` and `high`, both included."""
        value = self.value if type(self.value) is int else self._typed(float)
        if not low <= value <= high:
            expected = f"Expected a value between {low:g} and {high:g}, but got {value:g} instead."
            raise self.invalid("decimal out of range", expected, code="decimal_out_of_range")
        return value

    def choice(self, supported: Sequence[str]) -> str:
        """One of the `supported` strings."""
        value = self.text()
        if value not in supported:
            *others, final = (f"'{name}'" for name in supported)
            listed = f"{', '.join(others)}, and {final}" if others else final
            message = f"Invalid value: '{value}'. Supported values are: {listed}."
            raise Refused(message=message, param=self.path, code="invalid_value")
        return value

    def invalid(self, what: str, expected: str, *, code: str = "invalid_value") -> Refused:
        """The refusal of this value: what is wrong with it and what was expected."""
        return Refused(message=f"Invalid '{self.path}': {what}. {expected}", param=self.path, code=code)

    def _fields(self) -> dict[str, object]:
        return cast("dict[str, object]", self._typed(dict))

    def _path(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def _typed(self, expected: type[T]) -> T:
        # The exact type, because to Python True is an int.
        if type(self.value) is expected:
            return self.value
        where = f"for '{self.path}'" if self.path else "of the request's body"
        wanted, got = KINDS[expected], KINDS.get(type(self.value), "something else")
        message = f"Invalid type {where}: expected {wanted}, but got {got} instead."
        raise Refused(message=message, param=self.path or None, code="invalid_type")
