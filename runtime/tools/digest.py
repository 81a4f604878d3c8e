"""Fingerprints of calls and results, the same in every process and for every spelling of the same call."""

import json
from hashlib import blake2b

from ...protocols.messages import Json

__all__ = ("NO_ARGUMENTS", "digest", "signature")

NO_ARGUMENTS = ("", "null")
"""What models send, white space aside, when they mean `{}`."""

DIGEST_BYTES = 8


def digest(text: str) -> str:
    """16 hex digits of a text, the same in every process."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).hexdigest()


def signature(name: str, arguments: str) -> str:
    """16 hex digits that two calls share when they ask the same tool for the same thing.

    Key order, white space outside strings, escapes and number form (`50`, `50.0`, `5e1`) do not count. Arguments that
    are no JSON count by their text.
    """
    return digest(f"{name}\0{canonical(arguments)}")


def canonical(arguments: str) -> str:
    """JSON text with one spelling for each value; the stripped text itself when it is no JSON."""
    text = arguments.strip()
    if text in NO_ARGUMENTS:
        return "{}"
    try:
        return json.dumps(json.loads(text, parse_float=number), sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        return text


def number(text: str) -> Json:
    """A JSON number with a point or an exponent; an int when it is whole, as `50.0` is."""
    value = float(text)
    return int(value) if value.is_integer() else value
