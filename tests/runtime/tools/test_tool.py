import importlib
import json
import pickle
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

from amrita_fleet.protocols.messages import Json
from amrita_fleet.runtime.errors import ToolInvalid
from amrita_fleet.runtime.tools.tool import Tool, ToolOptions, tool

SOURCE = Path(__file__).resolve().parents[3] / "src"

SHOP = '''
from pydantic import BaseModel

from amrita_fleet.runtime.tools.tool import tool


class Item(BaseModel):
    """What is sold."""

    price: int


@tool(polling=True)
async def price(item: Item, count: int = 1) -> int:
    """The price of some items."""
    return item.price * count


def stock(item: str) -> int:
    """How many are left."""
    return 3


counted = tool(stock)
'''

READER = """
import pickle, sys
made = pickle.load(sys.stdin.buffer)
assert made.schema.parameters["properties"], made.schema
print(made.name, "pydantic" in sys.modules, "docstring_parser" in sys.modules)
"""

MAIN = """
from __future__ import annotations

import sys
from dataclasses import dataclass

import ray.cloudpickle

from amrita_fleet.runtime.tools.tool import tool

FACTOR = 7


@dataclass
class Item:
    price: int


@tool(enable_if=lambda: True)
def price(item: Item, again: bool = False) -> int:
    return price(item) if again else item.price * FACTOR


sys.stdout.buffer.write(ray.cloudpickle.dumps(price))
"""

MAIN_READER = """
import asyncio, pickle, sys
from amrita_fleet.runtime.tools.executor import Executor
made = pickle.load(sys.stdin.buffer)
print(asyncio.run(Executor().run(made, '{"item": {"price": 6}, "again": true}', None)).content)
"""


def greet(name: str) -> str:
    """Greet."""
    return f"hello {name}"


class Greeter:
    def __call__(self, name: str) -> str:
        return greet(name)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module that other processes can import."""
    (tmp_path / "shop.py").write_text(SHOP)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("shop")
    del sys.modules["shop"]


def run(script: str, data: bytes = b"", *path: Path) -> bytes:
    env = {"PYTHONPATH": ":".join(map(str, (SOURCE, *path)))}
    done = subprocess.run([sys.executable, "-c", script], env=env, input=data, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def shown(made: Tool) -> Json:
    return made.schema.parameters["properties"]


def test_an_option_that_a_tool_does_not_have_is_refused_with_the_nearest() -> None:
    with pytest.raises(ToolInvalid, match=r"'greet' .* no option 'timeoutt' \(did you mean 'timeout'\?\)"):
        tool(timeoutt=3)(greet)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]


def test_a_bare_decorator_takes_everything_from_the_function() -> None:
    made = tool(greet)
    assert (made.name, made.schema.description, made.replay, made.polling) == ("greet", "Greet.", "never", False)


def test_options_go_before_what_the_function_says() -> None:
    made = tool(name="hi", description="Say hi.", replay="safe", polling=True, timeout=2.5, concurrency=1)(greet)
    assert (made.schema.name, made.schema.description) == ("hi", "Say hi.")
    assert (made.replay, made.polling, made.timeout, made.concurrency) == ("safe", True, 2.5, 1)


def test_one_decorator_makes_several_tools() -> None:
    def part(name: str) -> None: ...

    patient = tool(timeout=60)
    assert [patient(one).name for one in (greet, part)] == ["greet", "part"]


def test_a_tool_is_called_like_its_function() -> None:
    assert tool(greet)("ana") == "hello ana"


def test_a_hand_written_schema_is_shown_as_it_is() -> None:
    async def proxy(**arguments: object) -> None: ...

    parameters: dict[str, Json] = {"type": "object", "properties": {"q": {"type": "string"}}}
    made = tool(parameters=parameters, name="far-away")(proxy)
    assert made.schema.parameters == parameters


@pytest.mark.parametrize(
    "function",
    [greet, partial(greet), "".join, Greeter()],
    ids=["function", "partial", "bound method", "object"],
)
def test_sync_callables_run_in_threads(function: Callable[..., Any]) -> None:
    assert not Tool(name="x", function=function, parameters={}).on_loop


def test_async_callables_are_awaited() -> None:
    class Caller:
        async def method(self, name: str) -> None: ...

        async def __call__(self, name: str) -> None: ...

    for function in (Caller().method, Caller(), partial(Caller().method)):
        assert Tool(name="x", function=function).on_loop


def test_a_bound_method_and_a_partial_show_what_is_left_to_give() -> None:
    class Shop:
        def price(self, item: str, count: int = 1) -> None: ...

    assert shown(tool(Shop().price)) == {"item": {"type": "string"}, "count": {"type": "integer", "default": 1}}
    assert shown(tool(name="pens")(partial(Shop().price, "pen"))) == {"count": {"type": "integer", "default": 1}}


def test_what_a_partial_names_is_decided_and_no_model_sees_it() -> None:
    def fetch(page: str, key: str, depth: int = 1) -> None: ...

    made = tool(name="fetch")(partial(partial(fetch, key="s3cret"), depth=2))
    assert shown(made) == {"page": {"type": "string"}}


class Caller:
    """Calls somebody."""

    def __call__(self, name: str) -> None: ...


class Talker(Caller):
    def __call__(self, name: str) -> None:
        """Talk to somebody."""


@dataclass
class Letter:
    """Writes a letter.

    Attributes:
        to: Whom to write to.
    """

    to: str


@pytest.mark.parametrize(
    ("function", "description"),
    [(Caller(), "Calls somebody."), (Talker(), "Talk to somebody."), (Letter, "Writes a letter.")],
    ids=["its class", "its call", "a class"],
)
def test_an_object_is_described_by_its_call_or_else_its_class(function: Callable[..., Any], description: str) -> None:
    assert tool(name="x")(function).schema.description == description


def test_a_tool_may_need_approval_and_stays_so_in_another_process() -> None:
    assert not tool(greet).approval
    assert pickle.loads(pickle.dumps(tool(approval=True)(greet))).approval


@pytest.mark.parametrize("given", [("title",), ("name", "title"), "name"], ids=["unknown", "one unknown", "a text"])
def test_labels_name_parameters(given: tuple[str, ...]) -> None:
    written: dict[str, Json] = {"properties": {"name": {}}}
    for parameters in (None, written):
        assert Tool(name="x", function=greet, labels=("name",), parameters=parameters).labels == ("name",)
        with pytest.raises(ToolInvalid, match="labels must name some of its parameters, not "):
            Tool(name="x", function=greet, labels=given, parameters=parameters)


def test_a_nameless_callable_needs_a_name() -> None:
    with pytest.raises(ToolInvalid, match="give name="):
        tool(partial(greet))


def starred(*args: int) -> None: ...


def double_starred(**kwargs: int) -> None: ...


def unnamed(x: int, /) -> None: ...


def unannotated(x: int) -> None: ...


unannotated.__annotations__.clear()


def generator(n: int) -> Iterator[int]:
    yield n


async def async_generator(n: int) -> AsyncIterator[int]:
    yield n


class Shop:
    def price(self, item: str) -> None: ...


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (starred, r"it takes \*args"),
        (double_starred, r"it takes \*\*kwargs"),
        (unnamed, "'x' is positional-only"),
        (unannotated, "'x' has no annotation"),
        (Shop.price, r"'self' has no annotation \(of a method, make"),
        (generator, "it is a generator"),
        (async_generator, "it is a generator"),
        (cast("Any", 5), "cannot be read"),
    ],
)
def test_what_no_model_could_call_is_refused_when_the_tool_is_made(function: Callable[..., Any], reason: str) -> None:
    with pytest.raises(ToolInvalid, match=rf"^'x' cannot be a tool: .*{reason}"):
        tool(name="x")(function)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"name": "two words"}, "name must be"),
        ({"name": "x" * 65}, "name must be"),
        ({"timeout": 0}, "timeout must be above 0"),
        ({"timeout": float("nan")}, "timeout must be above 0"),
        ({"concurrency": 0}, "concurrency must be at least 1"),
        ({"replay": "always"}, "replay is 'safe' or 'never', not 'always'"),
    ],
)
def test_options_that_cannot_work_are_refused(options: ToolOptions, reason: str) -> None:
    with pytest.raises(ToolInvalid, match=reason):
        tool(**options)(greet)


def test_a_tool_of_a_module_is_pickled_as_a_reference_to_itself(shop: ModuleType) -> None:
    assert shop.price.path == "shop:price"
    data = pickle.dumps(shop.price)
    assert pickle.loads(data) is shop.price
    assert b"async def" not in data


def test_a_tool_made_of_another_modules_function_is_pickled_by_its_fields(shop: ModuleType) -> None:
    assert shop.counted.path is None
    again = pickle.loads(pickle.dumps(shop.counted))
    assert again.function is shop.stock
    assert (again.name, again.schema) == ("stock", shop.counted.schema)


def test_a_tool_made_inside_a_function_has_no_path() -> None:
    def local(x: int) -> None: ...

    assert tool(local).path is None


@pytest.mark.slow
def test_an_unpickled_tool_knows_its_schema_without_pydantic(shop: ModuleType) -> None:
    data = pickle.dumps(shop.price)
    # The other process has a module of that name that loads no pydantic of its own.
    Path(str(shop.__file__)).write_text(SHOP.replace("from pydantic import BaseModel", "BaseModel = object"))
    assert run(READER, data, Path(str(shop.__file__)).parent) == b"price False False\n"


def test_a_path_that_leads_to_something_else_is_refused(shop: ModuleType) -> None:
    data = pickle.dumps(shop.price)
    vars(shop)["price"] = 5
    with pytest.raises(ToolInvalid, match="'shop:price' cannot be a tool: in this process it is something else"):
        pickle.loads(data)


@pytest.mark.ray
def test_a_tool_of_the_main_script_travels_by_value_with_its_types_and_itself() -> None:
    assert run(MAIN_READER, run(MAIN)).strip() == b"42"


@pytest.mark.ray
def test_a_module_that_other_processes_lack_can_be_carried_by_value(shop: ModuleType) -> None:
    cloudpickle: Any = importlib.import_module("ray.cloudpickle")
    cloudpickle.register_pickle_by_value(shop)
    try:
        assert shop.price.path is None
        data = cloudpickle.dumps(shop.price)
    finally:
        cloudpickle.unregister_pickle_by_value(shop)
    script = "import pickle, sys; print(pickle.load(sys.stdin.buffer).polling)"
    assert run(script, data) == b"True\n"


def test_the_schema_is_plain_json() -> None:
    assert json.loads(json.dumps(tool(greet).schema.parameters)) == tool(greet).schema.parameters
