"""JSON written by strangers: read without trusting its shape, written compactly.

Each reader gives an empty value where the shape is another one, so that a provider that sends `null`, a number or
nothing where an object is due costs no special case further up.
"""

import json
from typing import Final

from ..messages import Json

__all__ = ("compact", "count", "is_object", "items", "mapping", "parse", "sound", "text")

ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=dict)


def refuse_constant(name: str) -> float:
    """NaN and the infinities are no JSON; Python reads them unless told not to."""
    raise ValueError(f"{name} is no JSON")


DECODER: Final = json.JSONDecoder(parse_constant=refuse_constant)


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
        return DECODER.decode(plain)  # type: ignore[no-any-return]
    except RecursionError:
        raise ValueError("it is nested too deep") from None


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
