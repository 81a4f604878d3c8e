"""Parameters as a pydantic model, which reads what a model sends, and as the JSON Schema it is shown.

Pydantic is loaded by calling these functions, not by importing this module: a process that checks no arguments never
pays for it.
"""

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, cast, get_args

from ...protocols.messages import Json
from ..errors import ToolInvalid
from .output import wants_context
from .parameters import Function, signature_of

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.errors import PydanticUserError
    from pydantic_core.core_schema import TaggedUnionSchema

__all__ = ("arguments_model", "model_schema", "parameters_schema")

Schema = dict[str, Json]

REF = "#/$defs/"


def arguments_model(
    tool: str, function: Function, hints: Mapping[str, Any], about: Mapping[str, str]
) -> "type[BaseModel]":
    """A pydantic model of what a call may give.

    Its fields are named by position and aliased to the parameters: `copy` or `_x` is a fine parameter, but no field.

    Raises:
        ToolInvalid: No JSON can become a parameter's type.
    """
    from pydantic import ConfigDict, create_model
    from pydantic.errors import PydanticUserError

    for name, hint in hints.items():
        if holds_self(hint):
            raise ToolInvalid(tool=tool, reason=f"its parameter {name!r} is annotated with Self: name the class")
    visible = [one for one in signature_of(tool, function).parameters.values() if not wants_context(hints[one.name])]
    fields: dict[str, Any] = {
        f"p{number}": (hints[one.name], field_of(tool, one, hints[one.name], about))
        for number, one in enumerate(visible)
    }
    try:
        return create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)
    except PydanticUserError as error:
        raise unsuitable(tool, hints, error) from None


def holds_self(hint: object) -> bool:
    """Whether `Self` is part of a type: pydantic would take it for the model of the arguments."""
    return hint is Self or any(map(holds_self, get_args(hint)))


def field_of(tool: str, one: inspect.Parameter, hint: type[Any], about: Mapping[str, str]) -> object:
    """How pydantic shall treat the parameter. A description in its annotation goes before the docstring's.

    Raises:
        ToolInvalid: Its default is no value.
    """
    from pydantic import Field
    from pydantic.fields import FieldInfo

    if isinstance(one.default, FieldInfo):
        advice = f"annotate it instead: {one.name}: Annotated[..., Field(...)]"
        raise ToolInvalid(tool=tool, reason=f"the default of its parameter {one.name!r} is a Field ({advice})")
    default = ... if one.default is one.empty else one.default
    said = FieldInfo.from_annotation(hint).description or about.get(one.name)
    return Field(default, alias=one.name, description=said) if said else Field(default, alias=one.name)


def parameters_schema(tool: str, model: "type[BaseModel]", hints: Mapping[str, Any]) -> Schema:
    """The JSON Schema of what a call may give.

    Raises:
        ToolInvalid: No JSON Schema says what a parameter's type is.
    """
    from pydantic.errors import PydanticUserError

    try:
        return model_schema(model)
    except PydanticUserError as error:
        raise unsuitable(tool, hints, error) from None


def model_schema(model: "type[BaseModel]") -> Schema:
    """The JSON Schema of what a model reads, without the titles pydantic invents.

    References are resolved, since not every provider follows them; only a type that holds itself stays a reference.
    So `discriminator`, which refers to definitions and which JSON Schema does not know, is left out.

    Raises:
        PydanticUserError: A type has no JSON Schema.
    """
    from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

    class Plain(GenerateJsonSchema):
        # A default that JSON cannot spell is the function's own affair.
        ignored_warning_kinds: set[JsonSchemaWarningKind] = {"non-serializable-default"}  # noqa: RUF012

        def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002
            return False

        def tagged_union_schema(self, schema: "TaggedUnionSchema") -> dict[str, Any]:
            return {key: one for key, one in super().tagged_union_schema(schema).items() if key != "discriminator"}

    schema: Schema = model.model_json_schema(schema_generator=Plain)
    whole = Definitions(cast("dict[str, Schema]", schema.pop("$defs", {}))).resolve(schema)
    return {key: one for key, one in whole.items() if key != "title"}


class Definitions:
    """The `$defs` of a schema, put where they are referred to."""

    def __init__(self, named: Mapping[str, Schema]) -> None:
        """Take definitions by name. Their titles are class names, of no use to a model."""
        self._named = {name: {key: one for key, one in each.items() if key != "title"} for name, each in named.items()}
        self._recursive: set[str] = set()

    def resolve(self, schema: Schema) -> Schema:
        """The schema with definitions in place, and `$defs` only for those that hold themselves."""
        whole = self._placed(schema, ())
        kept: Schema = {}
        while missing := self._recursive - set(kept):
            kept |= {name: self._placed(self._named[name], (name,)) for name in sorted(missing)}
        return {**whole, "$defs": kept} if kept else whole

    def _placed(self, schema: Schema, inside: tuple[str, ...]) -> Schema:
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return {key: self._inner(one, inside) for key, one in schema.items()}
        rest = {key: self._inner(one, inside) for key, one in schema.items() if key != "$ref"}
        name = reference.removeprefix(REF)
        if name in inside:
            self._recursive.add(name)
            return {**rest, "$ref": reference}
        return {**self._placed(self._named[name], (*inside, name)), **rest}

    def _inner(self, node: Json, inside: tuple[str, ...]) -> Json:
        if isinstance(node, list):
            return [self._inner(one, inside) for one in node]
        return self._placed(node, inside) if isinstance(node, dict) else node


def unsuitable(tool: str, hints: Mapping[str, Any], error: "PydanticUserError") -> ToolInvalid:
    """The error that names the parameters pydantic cannot do, which its own does not."""
    wrong = ", ".join(repr(name) for name, hint in hints.items() if not wants_context(hint) and not describable(hint))
    what = error.message.partition("\n")[0].partition(". ")[0].removesuffix(".")
    return ToolInvalid(tool=tool, reason=f"no JSON Schema describes its parameter {wrong} ({what})")


def describable(hint: type[Any]) -> bool:
    """Whether pydantic can do the type."""
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        TypeAdapter(hint).json_schema()
    except PydanticUserError:
        return False
    return True
