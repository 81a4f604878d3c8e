"""Fingerprints of calls and results, the same in every process and for every spelling of the same call."""

import json
from collections.abc import Collection

from ...protocols.messages import Json
from ..fingerprint import fingerprint

__all__ = ("NO_ARGUMENTS", "signature")

NO_ARGUMENTS = ("", "null")
"""What models send, white space aside, when they mean `{}`."""


def signature(name: str, arguments: str, labels: Collection[str] = ()) -> str:
    """16 hex digits that two calls share when they ask the same tool for the same thing.

    Key order, white space outside strings, escapes and number form (`50`, `50.0`, `5e1`) do not count. Arguments that
    are no JSON count by their text.

    Args:
        name: The tool's name.
        arguments: JSON text, as the model sent it.
        labels: Arguments that do not count (see `Tool.labels`).
    """
    return fingerprint(f"{name}\0{canonical(arguments, labels)}")


def canonical(arguments: str, labels: Collection[str]) -> str:
    """JSON text with one spelling for each value; the stripped text itself when it is no JSON."""
    text = arguments.strip()
    if text in NO_ARGUMENTS:
        return "{}"
    try:
        data: Json = json.loads(text, parse_float=number)
        if isinstance(data, dict):
            data = {name: value for name, value in data.items() if name not in labels}
        return json.dumps(data, sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        return text


def number(text: str) -> Json:
    """A JSON number with a point or an exponent; an int when it is whole, as `50.0` is."""
    value = float(text)
    return int(value) if value.is_integer() else value
