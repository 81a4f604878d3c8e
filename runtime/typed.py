"""Typed output: an agent ends its run with one JSON object that a pydantic model of the user's takes.

Reading is lenient about what stands around the object, since models like to wrap it in words and fences, and takes
only what the model takes: nothing is repaired, and of two objects none is chosen.
"""

import json
import logging
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from ..protocols.codec import encode
from ..protocols.errors import PresetInvalid
from ..protocols.messages import Json
from .step.json_in_text import only_object
from .step.raised import sentence
from .tools.flaws import described, listed
from .tools.schema import model_schema

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ("OutputType",)

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
            flaws = listed((described(one, given) for one in errors), len(errors))
            return None, f"The JSON object is wrong: {flaws}."
        except BaseException as error:
            log.warning("An answer could not be read as a %s.", self.model.__name__, exc_info=error)
            return None, f"The JSON object is wrong: {sentence(error)}".removesuffix(".") + "."
        return output, ""


def unfit(given: object, why: str) -> PresetInvalid:
    """The error for what cannot be an output type."""
    name = getattr(given, "__name__", repr(given))
    return PresetInvalid(field="output", reason=f"Agent.output cannot be {name}: {why}.")


def is_object(schema: dict[str, Any]) -> bool:
    """Whether only JSON objects fit; of a union, whether that is so for each of its forms."""
    forms = schema.get("oneOf") or schema.get("anyOf")
    return all(map(is_object, forms)) if forms else schema.get("type") == "object"
