"""What cannot go to another process is named by the attributes that lead to it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from amrita_fleet import PresetInvalid, Unpicklable
from amrita_fleet.actors.pickling import check_picklable

pytestmark = pytest.mark.ray

LOCK = threading.Lock()


class Box:
    def __init__(self, inside: object) -> None:
        self.inside = inside

    def method(self) -> None: ...


@dataclass(frozen=True)
class Row:
    name: str
    cells: tuple[object, ...]


def closing_over(inside: object) -> Callable[[], object]:
    return lambda: inside


def by_default(inside: object) -> Callable[[], object]:
    def function(given: object = inside) -> object:
        return given

    return function


@pytest.mark.parametrize(
    ("value", "path"),
    [
        pytest.param(LOCK, "it", id="itself"),
        pytest.param(Box(Box(LOCK)), "it.inside.inside", id="attributes"),
        pytest.param(Row("x", (1, [LOCK])), "it.cells[1][0]", id="sequences"),
        pytest.param({"a": 1, "b": {"c": LOCK}}, "it['b']['c']", id="mappings"),
        pytest.param(closing_over(Box(LOCK)), "it.inside.inside", id="closure"),
        pytest.param(by_default(LOCK), "it.__defaults__", id="default"),
        pytest.param(partial(max, LOCK), "it.args[0]", id="partial"),
        pytest.param(Box(LOCK).method, "it.__self__.inside", id="method"),
    ],
)
def test_the_path_leads_to_the_innermost_part(value: object, path: str) -> None:
    with pytest.raises(Unpicklable) as caught:
        check_picklable(value, "it")
    assert (caught.value.path, caught.value.reason) == (path, "TypeError: cannot pickle '_thread.lock' object")


def test_what_can_travel_passes() -> None:
    check_picklable([Box(1), Row("x", (1,)), closing_over("x"), Box(1).method], "it")


def test_a_circle_ends() -> None:
    box = Box(LOCK)
    box.inside = [box, LOCK]
    with pytest.raises(Unpicklable):
        check_picklable(box, "it")


def test_an_error_of_ours_says_itself_what_is_wrong() -> None:
    class Picky:
        def __reduce__(self) -> tuple[Any, ...]:
            raise PresetInvalid(field="x", reason="because")

    with pytest.raises(PresetInvalid, match="because"):
        check_picklable(Picky(), "it")
