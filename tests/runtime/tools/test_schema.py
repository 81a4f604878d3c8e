from collections.abc import Callable, Sequence
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pytest
from pydantic import BaseModel, Field

from amrita_fleet.protocols.messages import Json
from amrita_fleet.runtime.errors import ToolInvalid
from amrita_fleet.runtime.tools.output import ToolContext
from amrita_fleet.runtime.tools.tool import tool


class Level(Enum):
    LOW = 1
    HIGH = 2


class Point(BaseModel):
    """A place on the map."""

    title: str
    level: Level = Level.LOW


class Node(BaseModel):
    children: list["Node"] = []


def schema(function: Callable[..., Any]) -> dict[str, Json]:
    return dict(tool(function).schema.parameters)


def properties(function: Callable[..., Any]) -> Json:
    return schema(function)["properties"]


def test_only_parameters_without_default_are_required_and_defaults_are_shown() -> None:
    def search(q: str, limit: int = 10, tag: str | None = None) -> None: ...

    assert schema(search) == {
        "type": "object",
        "properties": {
            "q": {"type": "string"},
            "limit": {"type": "integer", "default": 10},
            "tag": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["q"],
        "additionalProperties": False,
    }


def test_every_common_type_says_what_it_takes() -> None:
    def op(
        kind: Literal["create", "delete"], level: Level, when: datetime, meta: object, ids: Sequence[int], where: Path
    ) -> None: ...

    assert properties(op) == {
        "kind": {"type": "string", "enum": ["create", "delete"]},
        "level": {"type": "integer", "enum": [1, 2]},
        "when": {"type": "string", "format": "date-time"},
        "meta": {},
        "ids": {"type": "array", "items": {"type": "integer"}},
        "where": {"type": "string", "format": "path"},
    }


def test_a_nested_model_stands_where_it_is_used() -> None:
    def place(at: Point, others: list[Point] | None = None) -> None: ...

    point = {
        "type": "object",
        "description": "A place on the map.",
        "properties": {"title": {"type": "string"}, "level": {"type": "integer", "enum": [1, 2], "default": 1}},
        "required": ["title"],
    }
    assert properties(place) == {
        "at": point,
        "others": {"anyOf": [{"type": "array", "items": point}, {"type": "null"}], "default": None},
    }
    assert "$defs" not in schema(place)


def test_a_model_that_holds_itself_stays_a_reference() -> None:
    def walk(tree: Node) -> None: ...

    node = {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Node"}, "default": []}},
    }
    assert properties(walk) == {"tree": node}
    assert schema(walk)["$defs"] == {"Node": node}


def test_a_function_without_parameters_takes_an_empty_object() -> None:
    def now() -> None: ...

    assert schema(now) == {"type": "object", "properties": {}, "additionalProperties": False}


def test_the_docstring_describes_the_tool_and_its_parameters() -> None:
    def read(path: str, limit: Annotated[int, Field(ge=1, description="At most this many.")] = 5) -> None:
        """Read a file.

        Args:
            path: Which one,
                from the root.
            limit: Not seen: the annotation says it.
        """

    made = tool(read)
    assert made.schema.description == "Read a file."
    assert made.schema.parameters["properties"] == {
        "path": {"type": "string", "description": "Which one,\nfrom the root."},
        "limit": {"type": "integer", "minimum": 1, "default": 5, "description": "At most this many."},
    }


def test_what_the_runtime_fills_in_is_hidden() -> None:
    def who(context: ToolContext, name: str) -> None:
        """Say who.

        Args:
            context: Not for the model.
            name: A name.
        """

    assert properties(who) == {"name": {"type": "string", "description": "A name."}}


def test_names_that_pydantic_uses_itself_are_fine_parameters() -> None:
    def odd(copy: int, schema: str, _x: int, model_config: int = 0) -> None: ...

    assert schema(odd)["required"] == ["copy", "schema", "_x"]


def test_a_default_that_json_cannot_spell_is_left_out() -> None:
    def find(where: Path | object = object()) -> None: ...  # noqa: B008

    assert properties(find) == {"where": {"anyOf": [{"type": "string", "format": "path"}, {}]}}


@pytest.mark.parametrize("hint", [ToolContext | None, Annotated[ToolContext, "who asks"]], ids=["or none", "noted"])
def test_the_context_is_known_in_every_form(hint: object) -> None:
    def who(context: object, name: str) -> None: ...

    who.__annotations__["context"] = hint
    assert tool(who).contexts == ("context",)
    assert properties(who) == {"name": {"type": "string"}}


def test_the_forms_of_a_union_stand_where_they_are_used() -> None:
    class Square(BaseModel):
        kind: Literal["square"]

    class Round(BaseModel):
        kind: Literal["round"]

    def draw(shape: Annotated[Square | Round, Field(discriminator="kind")]) -> None: ...

    forms = [
        {"type": "object", "properties": {"kind": {"type": "string", "const": name}}, "required": ["kind"]}
        for name in ("square", "round")
    ]
    assert properties(draw) == {"shape": {"oneOf": forms}}


def test_a_field_as_a_default_is_refused_since_the_function_would_get_it() -> None:
    def find(limit: int = Field(5, ge=1)) -> None: ...

    with pytest.raises(
        ToolInvalid, match=r"default of its parameter 'limit' is a Field \(annotate it instead: limit: Ann"
    ):
        _ = tool(find).schema


def test_self_is_refused_wherever_it_stands() -> None:
    class Chain:
        def join(self, others: list[Self]) -> None: ...

    with pytest.raises(ToolInvalid, match="its parameter 'others' is annotated with Self: name the class"):
        _ = tool(Chain().join).schema


@pytest.mark.parametrize("kind", [Callable[[int], int], ToolInvalid, 5], ids=["callable", "class", "no type"])
def test_a_type_that_no_json_becomes_is_refused_with_the_parameter(kind: object) -> None:
    def run(context: ToolContext, fine: int, wrong: object) -> None: ...

    run.__annotations__["wrong"] = kind

    with pytest.raises(ToolInvalid, match=r"'run' cannot be a tool: no JSON Schema describes its parameter 'wrong' \("):
        _ = tool(run).schema
