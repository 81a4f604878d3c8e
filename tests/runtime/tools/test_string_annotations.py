"""Tools whose annotations are text, as `from __future__ import annotations` makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from amrita_fleet.runtime.errors import ToolInvalid
from amrita_fleet.runtime.tools.output import ToolContext
from amrita_fleet.runtime.tools.tool import tool

if TYPE_CHECKING:
    from decimal import Decimal


@tool
def early(at: Later, ids: list[int] | None, context: ToolContext) -> Decimal:
    """Its types are defined after it, and that of its result only for checkers."""
    raise NotImplementedError


class Later(BaseModel):
    x: int


def test_81_annotations_that_are_text_mean_what_they_say_and_the_context_is_hidden() -> None:
    @tool
    def run(ids: list[int] | None, ctx: ToolContext, p: Later) -> str:
        raise NotImplementedError

    later = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    ids = {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}
    assert run.schema.parameters["properties"] == {"ids": ids, "p": later}


def test_names_defined_later_in_the_module_are_found() -> None:
    later = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    ids = {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}
    assert early.schema.parameters["properties"] == {"at": later, "ids": ids}
    assert early.contexts == ("context",)


def test_local_names_are_found_where_the_tool_is_made() -> None:
    class Point(BaseModel):
        y: int

    @tool
    def bare(at: Point) -> None: ...

    @tool(polling=True)
    def optioned(at: list[Point]) -> None: ...

    assert bare.hints == {"at": Point}
    assert optioned.hints == {"at": list[Point]}


def anywhere(at: Later) -> None: ...


def test_81_a_name_that_means_nothing_is_refused_when_the_schema_is_made() -> None:
    anywhere.__annotations__["at"] = "Nowhere"
    made = tool(anywhere)
    with pytest.raises(ToolInvalid, match=r"'anywhere' cannot be a tool: its annotations cannot be read .*'Nowhere'"):
        _ = made.schema


def test_a_local_function_with_a_name_that_means_nothing_is_refused_at_once() -> None:
    def local(at: Later) -> None: ...

    local.__annotations__["at"] = "Nowhere"
    with pytest.raises(ToolInvalid, match=r"'Nowhere'.*apply @tool where those names are defined"):
        tool(local)
