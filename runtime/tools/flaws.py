"""What is wrong with a call's arguments, in words that let the model send better ones."""

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import cast

from ...protocols.messages import Json
from .output import ToolOutput
from .tool import Tool

__all__ = ("described", "refused", "shown", "unknown")

FLAWS_SHOWN = 3
"""Flaws one error names."""

VALUE_SHOWN = 100
"""Characters of a value that an error repeats."""


def refused(tool: Tool, flaws: Sequence[str]) -> ToolOutput:
    """The output that names the flaws and what the tool takes."""
    more = f"; and {len(flaws) - FLAWS_SHOWN} more" if len(flaws) > FLAWS_SHOWN else ""
    what = "; ".join(flaws[:FLAWS_SHOWN]) + more
    takes = ", ".join(names(tool)) or "no arguments"
    return ToolOutput.failure(f"The arguments of {tool.name} are wrong: {what}.\nIt takes {takes}.")


def described(tool: Tool, kind: str, where: Sequence[int | str], message: str, value: object) -> str:
    """One of pydantic's errors in words for a model."""
    path = ".".join(map(str, where))
    if kind == "json_invalid":
        return f"they are not valid JSON ({message.removeprefix('Invalid JSON: ')})"
    if not path:
        return "they must be one JSON object"
    if kind == "missing":
        return f"{path!r} is missing"
    if kind == "extra_forbidden" and len(where) == 1:
        return unknown(tool, path)
    return f"{path!r} is {shown(value)}: {message}"


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
