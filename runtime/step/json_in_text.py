"""The JSON object in a model's answer: models like to wrap it in words and fences.

Nothing is repaired. Who asks chooses: the first object that has the fields asked for, or the only one there is. An
answer may be made to be slow to read, so only so much of it is.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, TypeAlias, cast

from ...protocols.messages import Json

__all__ = ("JsonObject", "first_object", "only_object")

JsonObject: TypeAlias = dict[str, Json]

KINDS = {list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number", type(None): "null"}

LONGEST = 200_000
"""Characters of an answer in which JSON is looked for; an answer that is JSON as a whole may be longer."""

MOST_STARTS = 100
"""Braces at which JSON may begin that are tried."""

ALONE = "give the JSON object alone"

BRACE = re.compile(r"[{}]")


def first_object(text: str, *names: str) -> JsonObject | None:
    """The first JSON object in a text that has one of these fields, be it inside of another; None: there is none."""
    found = (value for value, _ in tried(text[:LONGEST], inner=True))
    return next((each for each in found if isinstance(each, dict) and not each.keys().isdisjoint(names)), None)


def only_object(text: str) -> tuple[JsonObject | None, str]:
    """The one outermost JSON object of a text, and ""; or None and, for the model, why there is not just one.

    What is no object is passed over as a whole: an object inside of a broken one is no answer.
    """
    try:
        whole = cast("Json", DECODER.decode(text))
    except (ValueError, RecursionError):
        return only_outermost(text)
    if isinstance(whole, dict):
        return whole, ""
    return None, f"The answer is {KINDS[type(whole)]}, not a JSON object."


def only_outermost(text: str) -> tuple[JsonObject | None, str]:
    """The only object among the outermost `{...}` of a text, or what is wrong."""
    if len(text) > LONGEST:
        return None, f"The answer is too long to look for JSON in it: {ALONE}."
    found = list(tried(text, inner=False))
    objects = [value for value, _ in found if isinstance(value, dict)]
    if found and text.find("{", found[-1][1]) >= 0:
        return None, f"The answer has too many braces to look for JSON between them: {ALONE}."
    if len(objects) == 1:
        return objects[0], ""
    if objects:
        return None, f"The answer holds {len(objects)} JSON objects: give one only."
    return None, f"The JSON is not valid: {found[-1][0]}." if found else "The answer holds no JSON object."


def tried(text: str, *, inner: bool) -> Iterator[tuple[JsonObject | str, int]]:
    """What stands at each brace that may begin an object: the object, or why it is none; and where to go on.

    Args:
        text: Any text.
        inner: Go on inside of what was found, else behind it.
    """
    end = 0
    for _ in range(MOST_STARTS):
        start = text.find("{", end)
        if start < 0:
            return
        found, end = read(text, start)
        end = start + 1 if inner else end or closed(text, start)
        yield found, end


def read(text: str, start: int) -> tuple[JsonObject | str, int]:
    """The object that begins at a place, and its end; or why there is none, and 0."""
    try:
        return cast("tuple[JsonObject, int]", DECODER.raw_decode(text, start))
    except json.JSONDecodeError as error:
        return f"{error.msg} at line {error.lineno}, column {error.colno}", 0
    except (ValueError, RecursionError) as error:
        return str(error), 0


def closed(text: str, start: int) -> int:
    """Where the brace that opens at `start` is closed, braces inside strings counted too; else the end of the text."""
    depth = 0
    for brace in BRACE.finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.end()
    return len(text)


def refuse(constant: str) -> Any:  # noqa: ANN401  what json asks for
    """Refuse a number that JSON does not have.

    Raises:
        ValueError: Always.
    """
    raise ValueError(f"{constant} is no JSON")


DECODER = json.JSONDecoder(parse_constant=refuse)
