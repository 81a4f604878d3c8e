"""Texts and JSON values with slots, as in `It is {degrees} degrees` of a scenario."""

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from ...protocols.messages import Json
from .errors import Refused

__all__ = ("Groups", "fill", "fill_text", "slots")

Groups: TypeAlias = Mapping[str, str]

SLOT = re.compile(r"\{(\w+)(?::d)?\}")
NUMBER = re.compile(r"\{(\w+):d\}")


def slots(value: Json) -> Iterator[str]:
    """Names of all slots within a JSON value."""
    match value:
        case str():
            yield from SLOT.findall(value)
        case list():
            for element in value:
                yield from slots(element)
        case dict():
            for element in value.values():
                yield from slots(element)
        case _:
            return


def fill(value: Json, groups: Groups) -> Json:
    """A JSON value with the groups' texts in its slots; a text that is nothing but `{name:d}` becomes a number.

    Raises:
        Refused: The text for such a number is none.
    """
    match value:
        case str():
            number = NUMBER.fullmatch(value)
            return whole(number[1], groups) if number else fill_text(value, groups)
        case list():
            return [fill(element, groups) for element in value]
        case dict():
            return {name: fill(element, groups) for name, element in value.items()}
        case _:
            return value


def fill_text(text: str, groups: Groups) -> str:
    """A text with the groups' texts in its slots."""
    return SLOT.sub(lambda slot: groups[slot[1]], text)


def whole(name: str, groups: Groups) -> int:
    """The whole number that a group's text is."""
    try:
        return int(groups[name])
    except ValueError:
        message = f"The scenario wants a number in {name!r}, and the conversation has {groups[name]!r} there."
        raise Refused(message=message, code="scenario_misfit") from None
