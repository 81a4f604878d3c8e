"""What is wrong with data a model wrote, in words that let it write better ones."""

import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, cast

from ...protocols.messages import Json
from .output import ToolOutput
from .tool import Tool

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ("described", "listed", "refused", "shown", "unknown")

FLAWS_SHOWN = 20
"""Flaws one error names."""

VALUE_SHOWN = 100
"""Characters of a value that an error repeats."""


def refused(tool: Tool, flaws: Iterable[str], count: int) -> ToolOutput:
    """The output that names the flaws, `count` in all, and what the tool takes."""
    takes = ", ".join(names(tool)) or "no arguments"
    return ToolOutput.failure(f"The arguments of {tool.name} are wrong: {listed(flaws, count)}.\nIt takes {takes}.")


def listed(flaws: Iterable[str], count: int) -> str:
    """The flaws, `count` in all, in one line; of very many the first ones, and only these are looked at."""
    more = f"; and {count - FLAWS_SHOWN} more" if count > FLAWS_SHOWN else ""
    return "; ".join(islice(flaws, FLAWS_SHOWN)) + more


def described(error: "ErrorDetails", given: Json) -> str:
    """One of pydantic's errors in words for a model.

    Args:
        error: Without its context.
        given: The data the error is about.
    """
    path = located(error, given)
    if error["type"] == "missing":
        return f"{path} is missing"
    if error["type"] == "extra_forbidden":
        return f"there is no {path}"
    what = error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return f"{path} is {shown(error['input'])}: {what}" if path else what


def located(error: "ErrorDetails", given: Json) -> str:
    """The path to the flaw in the data, and of a union which of its forms was tried.

    Pydantic's path has both in one row: what does not lead further into the data is the name of a form.
    """
    path, forms = list[str](), list[str]()
    here = given
    for part in error["loc"]:
        try:
            here = entered(here, part)
        except LookupError:
            if error["type"] != "missing" or part != error["loc"][-1]:
                forms.append(str(part))
                continue
        path.append(str(part))
    tried = f" (as {' '.join(forms)})" if forms else ""
    return f"{'.'.join(path)!r}{tried}" if path else ""


def entered(data: Json, part: int | str) -> Json:
    """What stands in the data at one place.

    Raises:
        LookupError: There is no such place.
    """
    if isinstance(data, dict):
        return data[str(part)]
    if isinstance(data, list) and isinstance(part, int):
        return data[part]
    raise LookupError(part)


def unknown(tool: Tool, name: str) -> str:
    """That there is no such parameter, with the nearest one."""
    near = get_close_matches(name, names(tool), n=1)
    return f"there is no {shown(name)}" + (f" (did you mean {near[0]!r}?)" if near else "")


def names(tool: Tool) -> list[str]:
    """The parameters that a model may give."""
    return list(cast("Mapping[str, Json]", tool.schema.parameters.get("properties", {})))


def shown(value: object) -> str:
    """A value as the model may have written it, cut."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= VALUE_SHOWN else f"{text[:VALUE_SHOWN]}..."
