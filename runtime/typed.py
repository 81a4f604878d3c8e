"""Typed output: an agent ends its run with one JSON object that a pydantic model of the user's takes.

Reading is lenient about what stands around the object, since models like to wrap it in words and fences, and takes
only what the model takes: nothing is repaired, and of two objects none is chosen.
"""

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from ..protocols.codec import encode
from ..protocols.errors import PresetInvalid
from ..protocols.messages import Json
from .tools.flaws import described, listed
from .tools.schema import model_schema

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ("OutputType",)

KINDS = {list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number", type(None): "null"}

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class OutputType:
    """What a run's output must be.

    It travels to another process with its schema, and its class by reference; one of `__main__` needs cloudpickle.

    Raises:
        PresetInvalid: The class is no pydantic model, or no JSON object becomes one.
    """

    model: "type[BaseModel]"

    def __post_init__(self) -> None:
        """Refuse at once what no model could answer with."""
        _ = self.schema

    @cached_property
    def schema(self) -> dict[str, Json]:
        """The JSON Schema of the object."""
        from pydantic import BaseModel
        from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError

        given = cast("object", self.model)
        if given is BaseModel or not (isinstance(given, type) and issubclass(given, BaseModel)):
            raise unfit(self.model, "it must be a class derived from pydantic.BaseModel")
        try:
            schema = model_schema(given)
        except (PydanticUserError, PydanticUndefinedAnnotation) as error:
            what = str(error).partition("\n")[0].removesuffix(".")
            raise unfit(self.model, f"no JSON Schema describes it ({what})") from None
        if not is_object(schema):
            raise unfit(self.model, "in JSON it is not always an object; put it into a field of a model")
        return schema

    @property
    def instruction(self) -> str:
        """What the agent's instructions say of it."""
        schema = json.dumps(self.schema, ensure_ascii=False, separators=(",", ":"))
        return (
            "When you have finished, answer with one JSON object that fits the JSON Schema below, and with nothing "
            f"else: no words around it, no code fence.\n{schema}"
        )

    def read(self, text: str) -> tuple[dict[str, Json] | None, str]:
        """The output that an answer holds, as plain data with the fields' own names, and "".

        Values are checked as the model says it: what it converts, as `"5"` to an int, is converted.

        Returns:
            None and what is wrong, in words for the model, if the answer holds no such output.
        """
        found, flaw = only_object(text)
        return (None, flaw) if found is None else self._validated(found)

    def _validated(self, given: dict[str, Json]) -> tuple[dict[str, Json] | None, str]:
        from pydantic import ValidationError

        try:
            # As JSON, since a strict model takes a date's text from nowhere else.
            value = self.model.model_validate_json(json.dumps(given))
            # Computed fields are left out: the model would not take them back.
            output = cast("dict[str, Json]", value.model_dump(mode="json", round_trip=True))
            encode(output)  # it is a part of the outcome, which crosses processes
        except ValidationError as error:
            errors = error.errors(include_url=False, include_context=False)
            return None, f"The JSON object is wrong: {listed([described(one, given) for one in errors])}."
        except Exception as error:  # a user's validator, or a number larger than any wire takes
            log.warning("An answer could not be read as a %s.", self.model.__name__, exc_info=error)
            return None, f"The JSON object is wrong: {type(error).__name__}: {error}".removesuffix(".") + "."
        return output, ""


def unfit(given: object, why: str) -> PresetInvalid:
    """The error for what cannot be an output type."""
    name = getattr(given, "__name__", repr(given))
    return PresetInvalid(field="output", reason=f"Agent.output cannot be {name}: {why}.")


def is_object(schema: dict[str, Any]) -> bool:
    """Whether only JSON objects fit; of a union, whether that is so for each of its forms."""
    forms = schema.get("oneOf") or schema.get("anyOf")
    return all(map(is_object, forms)) if forms else schema.get("type") == "object"


def only_object(text: str) -> tuple[dict[str, Json] | None, str]:
    """The one JSON object that stands in a text; or None and why there is not just one."""
    try:
        whole = DECODER.decode(text)
    except (ValueError, RecursionError):
        return one_of(list(regions(text)))
    if isinstance(whole, dict):
        return cast("dict[str, Json]", whole), ""
    return None, f"The answer is {KINDS[type(whole)]}, not a JSON object."


def one_of(found: "list[dict[str, Json] | str]") -> tuple[dict[str, Json] | None, str]:
    """The only object among what was found in a text, or what is wrong."""
    objects = [each for each in found if not isinstance(each, str)]
    if len(objects) == 1:
        return objects[0], ""
    if objects:
        return None, f"The answer holds {len(objects)} JSON objects: give one only."
    return None, f"The JSON is not valid: {found[-1]}." if found else "The answer holds no JSON object."


def regions(text: str) -> "Iterator[dict[str, Json] | str]":
    """Each outermost `{...}` of a text: the object it is, or why it is none.

    What is no object is passed over as a whole: an object inside of a broken one is no answer.
    """
    at = text.find("{")
    while at >= 0:
        try:
            value, end = DECODER.raw_decode(text, at)
            yield cast("dict[str, Json]", value)
        except json.JSONDecodeError as error:
            yield f"{error.msg} at line {error.lineno}, column {error.colno}"
            end = closed(text, at)
        except (ValueError, RecursionError) as error:
            yield str(error)
            end = closed(text, at)
        at = text.find("{", end)


def closed(text: str, at: int) -> int:
    """Where the brace that opens at `at` is closed, braces inside strings counted too; else the end of the text."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if not depth:
            return place + 1
    return len(text)


def refuse(constant: str) -> float:
    """Refuse a number that JSON does not have.

    Raises:
        ValueError: Always.
    """
    raise ValueError(f"{constant} is no JSON")


DECODER = json.JSONDecoder(parse_constant=refuse)
