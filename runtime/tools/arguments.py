"""What a model sent as arguments, read; or an error that says what to send instead."""

import json
from collections.abc import Mapping
from types import NoneType
from typing import TYPE_CHECKING, Any, cast

from ...protocols.messages import Json
from .digest import NO_ARGUMENTS
from .flaws import described, refused, shown, unknown
from .output import ToolOutput
from .tool import Tool

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ("read_arguments",)

KINDS: Mapping[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (NoneType,),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
"""JSON Schema's types as Python reads them."""


def read_arguments(tool: Tool, text: str) -> dict[str, Any] | ToolOutput:
    """Keyword arguments for the tool's function, only those that were given; or a failed output for the model.

    Nothing, white space and `null` are no arguments. Values are checked as JSON and converted to the parameters' types
    in pydantic's lax mode: `"5"` is fine for an int.
    """
    text = text.strip()
    if text in NO_ARGUMENTS:
        text = "{}"
    if tool.parameters is None:
        return converted(tool, text)
    return checked(tool, tool.parameters, text)


def converted(tool: Tool, text: str) -> dict[str, Any] | ToolOutput:
    """Arguments as the function's annotations want them."""
    from pydantic import ValidationError

    try:
        given = tool.model.model_validate_json(text)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False)
        return refused(tool, (flaw(tool, one, text) for one in errors), len(errors))
    fields = type(given).model_fields
    return {str(fields[name].alias): getattr(given, name) for name in given.model_fields_set}


def flaw(tool: Tool, error: "ErrorDetails", text: str) -> str:
    """One flaw of the arguments `text`."""
    if error["type"] == "json_invalid":
        return f"they are not valid JSON ({error['msg'].removeprefix('Invalid JSON: ')})"
    if not error["loc"]:
        return "they must be one JSON object"
    if error["type"] == "extra_forbidden" and len(error["loc"]) == 1:
        return unknown(tool, str(error["loc"][0]))
    return described(error, json.loads(text))


def checked(tool: Tool, schema: Mapping[str, Json], text: str) -> dict[str, Any] | ToolOutput:
    """Arguments as they came, checked against a hand-written schema's outer level."""
    try:
        given: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        return refused(tool, [f"they are not valid JSON ({error})"], 1)
    if not isinstance(given, dict):
        return refused(tool, ["they must be one JSON object"], 1)
    values = cast("dict[str, Json]", given)
    known = cast("Mapping[str, Json]", schema.get("properties", {}))
    flaws = [f"{name!r} is missing" for name in cast("list[str]", schema.get("required", [])) if name not in values]
    for name, value in values.items():
        if name in known and not fits(known[name], value):
            flaws.append(f"{name!r} should be {wanted(known[name])}, not {shown(value)}")
        elif name not in known and schema.get("additionalProperties") is False:
            flaws.append(unknown(tool, name))
    return refused(tool, flaws, len(flaws)) if flaws else dict(values)


def wanted(schema: Json) -> str:
    """What a schema takes, as far as `fits` looks at it: `integer`, `array of string or null`."""
    if not isinstance(schema, dict):
        return "left out"
    choices = schema.get("anyOf")
    if isinstance(choices, list):
        return " or ".join(dict.fromkeys(map(wanted, choices)))
    kind = str(schema.get("type", "any value"))
    items = schema.get("items")
    return f"{kind} of {wanted(items)}" if isinstance(items, dict) else kind


def fits(schema: Json, value: Json) -> bool:
    """Whether the value is of the schema's type; further rules are not looked at."""
    if not isinstance(schema, dict):  # `true` takes anything, `false` nothing
        return schema is not False
    choices = schema.get("anyOf")
    if isinstance(choices, list):
        return any(fits(one, value) for one in choices)
    items = schema.get("items", True)
    if isinstance(value, list) and not all(fits(items, one) for one in value):
        return False
    kinds = KINDS.get(str(schema.get("type")), (object,))
    # Python's bool is an int, JSON's is not.
    return isinstance(value, kinds) and not (isinstance(value, bool) and int in kinds)
