"""Whatever a tool returns, as the text a model reads: the same value gives the same text in every process."""

import dataclasses
import json
import math
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from datetime import date, time
from enum import Enum
from numbers import Integral, Rational, Real
from types import NoneType
from typing import Any, TypeAlias, cast

from ...protocols.messages import Json
from ..step.sizes import shortened
from .room import Room

__all__ = ("as_text", "clean", "cut", "shown")

Compound: TypeAlias = Mapping[Any, Any] | AbstractSet[Any] | Sequence[Any] | ValuesView[Any]

DEPTH = 64
"""Levels of nesting; deeper data most likely holds itself."""

BITS = 3
"""Of a number's bits that make a digit, nearly."""

SHORT = 1000
"""Elements or bytes that are looked at in no time."""


REST = "call again for a smaller part to see"


def shown(value: object, limit: int, *, brief: bool = False) -> str:
    """A result as a model reads it: a text as it is, anything else as `as_text` writes it, cut.

    Args:
        value: The result.
        limit: Bytes of UTF-8, at least 400.
        brief: Others wait.

    Raises:
        TooLarge: Others wait, and this would take more than a few milliseconds.
        TypeError: The value holds an object that has only a `repr` with its address.
        ValueError: It is nested too deeply.
    """
    room = Room(limit, brief=brief)
    if isinstance(value, str) and not isinstance(value, Enum):
        if len(value) > limit:
            room.slow()
        return clean(cut(str(value), limit))
    return cut(as_text(value, room), limit)


def as_text(value: object, room: Room) -> str:
    """A text as it is, anything else as compact JSON in its own order.

    None is `null`, so that a model can tell it from an empty text. Sets are sorted; bytes are UTF-8, or else
    `base64:...`; NaN and the infinities, which JSON lacks, are texts; objects with a `__str__` of their own (a path, a
    UUID) are what it says. Where there is no more room, all that follows is left out, which the end says.

    Raises:
        TooLarge: There is not enough room, and others wait.
        TypeError: The value holds an object that has only a `repr` with its address.
        ValueError: It is nested too deeply.
    """
    data = plain(value, room)
    text = data if isinstance(data, str) else dumps(data)
    return f"{text}\n[... the result goes on, {REST} what follows ...]" if room.cut else text


def clean(text: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot carry, replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def cut(text: str, limit: int) -> str:
    """A text of at most `limit` bytes of UTF-8: head and tail, with a note of what is missing between them.

    The tail stays because the error of a long log stands at its end.

    Args:
        text: Any text.
        limit: Bytes, at least 400.
    """
    return shortened(text, limit, f"{REST} them")


def dumps(data: Json) -> str:
    """JSON text without spaces: a model pays for each."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def plain(value: object, room: Room, depth: int = 0) -> Json:
    """The value as JSON data, as far as there is room."""
    if depth > DEPTH:
        raise ValueError(f"the result is nested more than {DEPTH} levels deep, or holds itself")
    if isinstance(value, Enum):
        return plain(value.value, room, depth + 1)
    if isinstance(value, BINARY) and len(cast("bytes", value)) > SHORT:
        room.slow()
    for kind, form in LEAVES:
        if isinstance(value, kind):
            data = form(value)
            if isinstance(data, int):
                room.take(data.bit_length() // BITS)
            return clean(room.text(data)) if isinstance(data, str) else data
    inner = opened(value, room)
    if inner is None:
        return clean(room.text(told(value)))
    if isinstance(inner, Mapping):
        return {key(one, room): plain(item, room, depth + 1) for one, item in room.each(inner.items())}
    if isinstance(inner, AbstractSet):
        return list(room.each(in_order(inner, room, depth + 1)))
    return [plain(item, room, depth + 1) for item in room.each(inner)]


def in_order(values: AbstractSet[Any], room: Room, depth: int) -> list[Json]:
    """All elements of a set: which of them come first, only all together tell."""
    if len(values) > SHORT:
        room.slow()
    return sorted((plain(each, Room(room.limit), depth) for each in values), key=dumps)


def opened(value: object, room: Room) -> Compound | None:
    """What a compound value holds; None when it is not compound."""
    cls, it = type(value), cast("Any", value)
    if hasattr(cls, "model_dump"):  # a pydantic model, told without loading pydantic
        room.slow()  # it is written whole
        return cast("Compound", it.model_dump(mode="json"))
    if dataclasses.is_dataclass(cls):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(cls)}
    if isinstance(value, tuple) and hasattr(it, "_asdict"):  # a named tuple
        return cast("Compound", it._asdict())
    return cast("Compound", it) if isinstance(value, Mapping | AbstractSet | Sequence | ValuesView) else None


def told(value: object) -> str:
    """What an object says of itself, when its class has thought about it."""
    cls = type(value)
    if cls.__str__ is object.__str__:
        name = f"{cls.__module__}.{cls.__qualname__}".removeprefix("builtins.")
        raise TypeError(
            f"the result holds a {name}, which has no text form: the tool's author should return plain data"
        )
    return str(value)


def key(value: object, room: Room) -> str:
    """A mapping's key as JSON needs it."""
    data = plain(value, room)
    return data if isinstance(data, str) else dumps(data)


def real(value: float) -> Json:
    """A number, or the name of one that JSON lacks."""
    as_float = float(value)
    if math.isfinite(as_float):
        return as_float
    return "NaN" if math.isnan(as_float) else "Infinity" if as_float > 0 else "-Infinity"


def binary(value: bytes) -> str:
    """Bytes as UTF-8 where they are that."""
    data = bytes(value)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"base64:{b64encode(data).decode()}"


BINARY: tuple[Any, ...] = (bytes, bytearray, memoryview)

LEAVES: tuple[tuple[Any, Callable[[Any], Json]], ...] = (
    (str, str),
    (bool | NoneType, lambda value: value),
    (Integral, int),
    (Rational, str),
    (Real, real),
    (BINARY, binary),
    (date | time, lambda value: value.isoformat()),
)
"""How single values are written; the first kind that fits counts."""
