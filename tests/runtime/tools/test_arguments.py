import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, field_validator

from amrita_fleet.protocols.messages import Json
from amrita_fleet.runtime.tools.arguments import read_arguments
from amrita_fleet.runtime.tools.output import ToolOutput
from amrita_fleet.runtime.tools.tool import Tool, tool


class Level(Enum):
    LOW = 1


class Point(BaseModel):
    x: int


@dataclass
class Range:
    first: int
    last: int = 9


def everything(  # noqa: PLR0913, PLR0917
    moment: datetime,
    items: set[str],
    spot: tuple[int, int],
    level: Level,
    at: Point,
    lines: Range,
    count: int = 1,
) -> None: ...


def search(path: str, limit: int = 10, mode: Literal["fast", "deep"] = "fast") -> None: ...


def nothing() -> None: ...


typed = tool(search)
written = tool(
    name="written",
    parameters={
        "type": "object",
        "properties": {
            "to": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
            "limit": {"type": "integer"},
            "share": {"type": "number"},
            "loud": {"type": "boolean"},
            "extra": {},
        },
        "required": ["to"],
        "additionalProperties": False,
    },
)(search)
both = pytest.mark.parametrize("made", [typed, written], ids=["typed", "written"])

json_text = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["path", "limit", "mode", "to", "at", "x"]) | st.text(), inner, max_size=4)
    ),
    max_leaves=8,
).map(json.dumps)


def given_to(function: Callable[..., Any] | Tool, text: str) -> dict[str, Any]:
    values = read_arguments(function if isinstance(function, Tool) else tool(function), text)
    assert not isinstance(values, ToolOutput), values
    return values


def refusal(made: Tool, text: str) -> str:
    output = read_arguments(made, text)
    assert isinstance(output, ToolOutput)
    assert output.failed
    assert len(output.content.splitlines()) == 2
    assert "pydantic" not in output.content
    return output.content


@given(json_text | st.text(st.characters()), st.sampled_from([typed, written, tool(everything), tool(nothing)]))
def test_no_arguments_raise(text: str, made: Tool) -> None:
    values = read_arguments(made, text)
    if isinstance(values, ToolOutput):
        assert values.failed
        assert values.content.startswith(f"ERROR: The arguments of {made.name} are wrong: ")
    else:
        assert set(values) <= set(made.schema.parameters["properties"])  # type: ignore[arg-type]


def test_json_becomes_what_the_annotations_say() -> None:
    text = json.dumps(
        {
            "moment": "2026-01-02T03:04:05",
            "items": ["b", "a", "b"],
            "spot": [1, 2],
            "level": 1,
            "at": {"x": 3},
            "lines": {"first": 4},
        }
    )
    assert given_to(everything, text) == {
        "moment": datetime(2026, 1, 2, 3, 4, 5),  # noqa: DTZ001
        "items": {"a", "b"},
        "spot": (1, 2),
        "level": Level.LOW,
        "at": Point(x=3),
        "lines": Range(4),
    }


def test_what_is_not_given_is_left_to_the_functions_defaults() -> None:
    assert given_to(search, '{"path": "a"}') == {"path": "a"}


def test_a_number_written_as_a_text_is_taken() -> None:
    assert given_to(search, '{"path": "a", "limit": "5"}') == {"path": "a", "limit": 5}


@pytest.mark.parametrize("text", ["", " ", "null", "{}", "\n"])
def test_nothing_means_no_arguments(text: str) -> None:
    assert given_to(nothing, text) == {}


@both
@pytest.mark.parametrize("text", ['"foo"', "[1, 2]", "5", '"{}"'])
def test_what_is_no_object_is_refused(made: Tool, text: str) -> None:
    assert "they must be one JSON object" in refusal(made, text)


@both
@pytest.mark.parametrize(
    "text", ['{"path": "a', '{"to": 1}{"to": 2}', "[" * 100_000, "to=5"], ids=["cut", "two", "deep", "other"]
)
def test_what_is_no_json_is_refused(made: Tool, text: str) -> None:
    assert "they are not valid JSON (" in refusal(made, text)


def test_a_missing_parameter_is_named() -> None:
    assert refusal(typed, "") == (
        "ERROR: The arguments of search are wrong: 'path' is missing.\nIt takes path, limit, mode."
    )
    assert "'to' is missing" in refusal(written, "")


def test_an_unknown_parameter_is_named_with_the_nearest() -> None:
    text = refusal(typed, '{"path": "a", "limt": 5}')
    assert "there is no \"limt\" (did you mean 'limit'?)" in text
    assert 'there is no "zzz"' in refusal(written, '{"to": "a", "zzz": 5}')


def test_a_wrong_value_is_shown_with_what_it_should_be() -> None:
    text = refusal(typed, '{"path": "a", "limit": "many", "mode": "slow"}')
    assert "'limit' is \"many\": Input should be a valid integer" in text
    assert "'mode' is \"slow\": Input should be 'fast' or 'deep'" in text


def test_a_wrong_value_deep_inside_is_named_by_its_path() -> None:
    def place(points: list[Point]) -> None: ...

    assert "'points.1.x' is null: " in refusal(tool(place), '{"points": [{"x": 1}, {"x": null}]}')


def test_a_long_value_is_cut_and_very_many_flaws_are_counted() -> None:
    text = refusal(typed, json.dumps({"path": "a", "limit": "x" * 5000} | dict.fromkeys(map(str, range(25)))))
    assert len(text) < 1000
    assert "; and 6 more." in text


def test_all_flaws_come_at_once_with_the_forms_of_a_union_and_the_names_in_the_json() -> None:
    class Cat(BaseModel):
        name: str
        lives: int = Field(alias="numLives")

    def adopt(pets: list[Cat | Point], count: int | str) -> None: ...

    text = refusal(tool(adopt), '{"pets": [{"x": 1}, {"name": "Tom", "x": []}], "count": [], "from": "here"}')
    assert text.removeprefix("ERROR: The arguments of adopt are wrong: ").split("\n")[0] == (
        "'pets.1.numLives' (as Cat) is missing; 'pets.1.x' (as Point) is []: Input should be a valid integer; "
        "'count' (as int) is []: Input should be a valid integer; 'count' (as str) is []: Input should be a valid "
        'string; there is no "from".'
    )


def test_what_a_validator_says_is_told_as_it_is() -> None:
    class Even(BaseModel):
        number: int

        @field_validator("number")
        @classmethod
        def even(cls, number: int) -> int:
            if number % 2:
                raise ValueError("take an even one")
            return number

    def halve(of: Even) -> None: ...

    assert "'of.number' is 3: take an even one.\n" in refusal(tool(halve), '{"of": {"number": 3}}')


@pytest.mark.parametrize(
    "given", [{"to": "a"}, {"to": ["a", "b"]}, {"to": "a", "limit": 1, "share": 0.5, "loud": True, "extra": {"x": 1}}]
)
def test_a_hand_written_schema_lets_through_what_fits(given: dict[str, Any]) -> None:
    assert given_to(written, json.dumps(given)) == given


@pytest.mark.parametrize(
    ("name", "value"),
    [("to", 5), ("to", ["a", 5]), ("limit", "5"), ("limit", True), ("limit", 1.5), ("share", True), ("loud", 1)],
)
def test_a_hand_written_schema_refuses_what_does_not_fit(name: str, value: object) -> None:
    assert f"{name!r} should be " in refusal(written, json.dumps({"to": "a"} | {name: value}))


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"title": "A", "type": "integer"}, "'a' should be integer, not {}"),
        ({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]}, "array of string or null, not"),
        (False, "'a' should be left out"),
    ],
)
def test_what_a_hand_written_schema_wants_is_said_in_words(schema: Json, said: str) -> None:
    one = Tool(name="one", function=print, parameters={"type": "object", "properties": {"a": schema}})
    assert said in refusal(one, '{"a": {}}')
