"""Tools' arguments, outputs and schemas: faults that users of other programs reported, by number."""

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest

from amrita_fleet.runtime.errors import ToolInvalid
from amrita_fleet.runtime.tools.executor import Executor
from amrita_fleet.runtime.tools.output import ToolContext
from amrita_fleet.runtime.tools.room import Room
from amrita_fleet.runtime.tools.text import as_text
from amrita_fleet.runtime.tools.tool import Tool, tool

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def properties(function: Callable[..., Any], name: str = "x") -> Any:  # noqa: ANN401  JSON of any depth
    return tool(name=name)(function).schema.parameters["properties"]


@tool
async def health() -> str:
    return "fine"


@tool
async def write_file(path: str, body: str = "") -> str:
    return f"{len(body)} characters to {path}"


@pytest.mark.parametrize("arguments", ["", " ", "null", "{}", "\n"])
async def test_23_nothing_in_any_form_is_no_arguments(arguments: str, context: ToolContext) -> None:
    assert (await Executor().run(health, arguments, context)).content == "fine"


@pytest.mark.parametrize("arguments", ['"foo"', "[1,2]", "5", '{"q":"x"}{"q":"y"}'])
@pytest.mark.parametrize("made", [health, write_file], ids=["without parameters", "with"])
async def test_25_what_is_no_object_fails_its_call_and_names_the_shape(
    made: Tool, arguments: str, context: ToolContext
) -> None:
    output = await Executor().run(made, arguments, context)
    assert output.failed
    assert "must be one JSON object" in output.content or "not valid JSON" in output.content
    assert output.content.endswith(f"\nIt takes {'path, body' if made is write_file else 'no arguments'}.")


async def test_27_half_an_object_is_not_repaired_and_not_run(context: ToolContext) -> None:
    cut = '{"path":"a.txt","body":"line one\\nline tw'
    output = await Executor().run(write_file, cut, context)
    assert output.content.startswith("ERROR: The arguments of write_file are wrong: they are not valid JSON (EOF while")


async def test_73_a_result_larger_than_the_window_is_cut_and_its_last_error_survives(context: ToolContext) -> None:
    @tool
    async def build() -> str:
        return "ü compiling\n" * 160_000 + "error: no such file ü"

    content = (await Executor(output_bytes=8000).run(build, "", context)).content
    assert len(content.encode()) <= 8000
    assert content.startswith("ü compiling\n")
    assert content.endswith("ü compiling\nerror: no such file ü")
    assert "�" not in content
    assert "bytes are left out here; call again for a smaller part to see them ...]" in content


def test_75_whatever_a_tool_gives_is_valid_json_for_the_model() -> None:
    value = {datetime(2031, 1, 2): {"Oslo"}, "x": float("nan"), "raw": b"\xff"}  # noqa: DTZ001
    assert json.loads(as_text(value, Room(1000))) == {"2031-01-02T00:00:00": ["Oslo"], "x": "NaN", "raw": "base64:/w=="}


async def test_76_what_has_a_default_is_not_required_and_null_as_a_text_stays_a_text(context: ToolContext) -> None:
    @tool
    async def search(q: str, limit: int = 10, tag: str | None = None) -> str:
        return f"{q} {limit} {tag!r}"

    parameters = search.schema.parameters
    assert parameters["required"] == ["q"]
    assert parameters["properties"] == {
        "q": {"type": "string"},
        "limit": {"type": "integer", "default": 10},
        "tag": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    }
    assert (await Executor().run(search, '{"q":"a","tag":"null"}', context)).content == "a 10 'null'"
    assert (await Executor().run(search, '{"q":"a","tag":null}', context)).content == "a 10 None"
    assert "'q' is null" in (await Executor().run(search, '{"q":null}', context)).content


class Level(Enum):
    LOW = 1
    HIGH = 2


async def test_77_every_type_says_what_it_takes_and_the_function_gets_it(context: ToolContext) -> None:
    got: dict[str, object] = {}

    def op(
        kind: Literal["create", "delete"],
        level: Level,
        when: datetime,
        meta: Any,  # noqa: ANN401  the case
        ids: Sequence[int],
        where: Path,
    ) -> None:
        got.update(kind=kind, level=level, when=when, meta=meta, ids=ids, where=where)

    assert properties(op) == {
        "kind": {"type": "string", "enum": ["create", "delete"]},
        "level": {"type": "integer", "enum": [1, 2]},
        "when": {"type": "string", "format": "date-time"},
        "meta": {},
        "ids": {"type": "array", "items": {"type": "integer"}},
        "where": {"type": "string", "format": "path"},
    }
    given = {"kind": "create", "level": 2, "when": "2031-01-02T03:04:05", "meta": {"a": []}, "ids": [1], "where": "a/b"}
    assert not (await Executor().run(tool(op), json.dumps(given), context)).failed
    assert got == given | {
        "level": Level.HIGH,
        "when": datetime(2031, 1, 2, 3, 4, 5),  # noqa: DTZ001
        "where": Path("a/b"),
    }


async def test_78_the_json_is_checked_and_then_converted(context: ToolContext) -> None:
    @tool
    async def f(moment: datetime, items: set[str], point: tuple[int, int]) -> list[object]:
        return [moment, items, point]

    text = '{"moment":"2026-01-02T03:04:05","items":["b","a"],"point":[1,"2"]}'
    assert (await Executor().run(f, text, context)).content == '["2026-01-02T03:04:05",["a","b"],[1,2]]'


def g(x: int, *args: int, **kwargs: str) -> None: ...


def h(x: int, /, y: int) -> None: ...


class Shop:
    def price(self, item: str) -> str:
        return item

    def __call__(self, item: str) -> str:
        return item


@pytest.mark.parametrize(("function", "reason"), [(g, r"takes \*args"), (h, "'x' is positional-only")])
def test_80_what_no_model_can_fill_is_refused_with_a_reason(function: Callable[..., Any], reason: str) -> None:
    with pytest.raises(ToolInvalid, match=reason):
        tool(function)


@pytest.mark.parametrize(
    "function",
    [Shop().price, partial(Shop().price), partial(Shop.price, Shop()), Shop()],
    ids=["method", "", "", "object"],
)
def test_80_self_is_never_a_parameter(function: Callable[..., Any]) -> None:
    assert properties(function) == {"item": {"type": "string"}}


MODES = 'One of:\n- "fast": quick results\n- "deep": exhaustive scan'


def google(mode: str) -> None:
    """Scan.

    Args:
        mode (str): One of:
            - "fast": quick results
            - "deep": exhaustive scan
    """


def untyped(mode: str) -> None:
    """Args:
    mode: One of:
        - "fast": quick results
        - "deep": exhaustive scan
    """


def numpy(mode: str) -> None:
    """Scan.

    Parameters
    ----------
    mode : str
        One of:
        - "fast": quick results
        - "deep": exhaustive scan
    """


def rest(mode: str) -> None:
    """Scan.

    :param mode: One of:
        - "fast": quick results
        - "deep": exhaustive scan
    """


@pytest.mark.parametrize("function", [google, untyped, numpy, rest], ids=lambda each: each.__name__)
def test_82_the_whole_block_of_a_parameter_is_kept(function: Callable[..., Any]) -> None:
    assert properties(function) == {"mode": {"type": "string", "description": MODES}}


def test_82_what_no_style_explains_is_description_in_full() -> None:
    def odd(mode: str) -> None:
        """Scan.

        Modes
          fast, deep
        """

    assert tool(odd).schema.description == "Scan.\n\nModes\n  fast, deep"
