"""JSON written by strangers: read without trusting its shape, written compactly.

Each reader gives an empty value where the shape is another one, so that a provider that sends `null`, a number or
nothing where an object is due costs no special case further up.
"""

import json
from collections.abc import Mapping
from math import isinf
from typing import Final

from ..messages import Json

__all__ = ("compact", "count", "is_object", "items", "mapping", "parse", "sound", "sound_fields", "text")

ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=dict)


def refuse_constant(name: str) -> float:
    """NaN and the infinities are no JSON; Python reads them unless told not to."""
    raise ValueError(f"{name} is no JSON")


SMALLEST, LARGEST = -(2**63), 2**64 - 1
"""Whole numbers that a journal holds."""

TOO_DEEP: Final = "it is nested too deep"

DEEPEST: Final = 128
"""Levels of objects and arrays in one another. No answer needs as many, and what is read must be written again."""


def whole(digits: str) -> int | float | str:
    """A whole number. One that has more than 64 bits is a float, as most who read JSON take it; or its own text."""
    number = int(digits)
    if SMALLEST <= number <= LARGEST:
        return number
    return digits if isinf(float(digits)) else float(digits)


DECODER: Final = json.JSONDecoder(parse_constant=refuse_constant)
STORING: Final = json.JSONDecoder(parse_int=whole)


def compact(value: object) -> str:
    """The JSON text of plain data, without white space; a mapping of any type is an object.

    Raises:
        TypeError: The value holds something that JSON does not have.
    """
    return ENCODER.encode(value)


def parse(raw: str | bytes) -> Json:
    """The JSON value of a text, or of UTF-8 bytes.

    Raises:
        ValueError: It is no JSON, or nested too deep to be read.
    """
    plain = raw.decode("utf-8-sig") if isinstance(raw, bytes) else raw
    try:
        value: Json = DECODER.decode(plain)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    if plain.count("[") + plain.count("{") > DEEPEST and is_deep(value):
        raise ValueError(TOO_DEEP)
    return value


def is_deep(value: Json) -> bool:
    """Whether it has more than `DEEPEST` levels."""
    level = [value]
    for _ in range(DEEPEST + 1):
        objects = [list(each.values()) for each in level if isinstance(each, dict)]
        arrays = [each for each in level if isinstance(each, list)]
        if not objects and not arrays:
            return False
        level = [item for each in (*objects, *arrays) for item in each]
    return True


def is_object(raw: str) -> bool:
    """Whether a text is the JSON text of an object."""
    try:
        return isinstance(parse(raw), dict)
    except ValueError:
        return False


def mapping(value: Json) -> dict[str, Json]:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Json) -> list[Json]:
    """The array, or an empty one."""
    return value if isinstance(value, list) else []


def text(value: Json) -> str:
    """The string, or an empty one."""
    return value if isinstance(value, str) else ""


MOST = 10**12
"""No count is above this: whoever says so lies, and what is built on counts needs numbers of 64 bits."""


def count(value: Json) -> int:
    """The whole number that is not negative, or 0."""
    return min(value, MOST) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def sound(raw: str) -> str:
    r"""The text without lone surrogates, which no encoder downstream would take.

    A provider that cuts a stream between `\ud83d` and `\ude00` sends two halves; side by side they are one character.
    """
    try:
        raw.encode()
    except UnicodeEncodeError:
        return raw.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return raw


def sound_fields(fields: Mapping[str, Json]) -> dict[str, Json]:
    """The fields as they can be kept: without lone surrogates, and without whole numbers of more than 64 bits."""
    return STORING.decode(sound(compact(fields))) if fields else {}
