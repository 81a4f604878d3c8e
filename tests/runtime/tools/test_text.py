import json
import threading
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import PurePosixPath
from typing import NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from amrita_fleet.runtime.tools.room import Room, TooLarge
from amrita_fleet.runtime.tools.text import as_text, clean, cut, shown

pytestmark = pytest.mark.slow

BYTES = 100_000


class Level(Enum):
    LOW = 1


class Rank(IntEnum):
    TOP = 3


class Spot(NamedTuple):
    x: int
    y: int


@dataclass
class Hit:
    where: PurePosixPath
    score: float


class Weather(BaseModel):
    city: str
    when: datetime


anything = st.text(st.characters())
single: st.SearchStrategy[object] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | anything
    | st.binary()
    | st.datetimes()
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.fractions()
    | st.sampled_from([Level.LOW, Rank.TOP, PurePosixPath("/a")])
)
hashable = single | st.tuples(single, single)
nested: st.SearchStrategy[object] = st.recursive(
    single | st.frozensets(hashable, max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(hashable, inner, max_size=4)
        | st.dictionaries(anything, inner, max_size=3).map(lambda entries: entries.values())
    ),
    max_leaves=15,
)


@given(nested)
def test_any_data_becomes_the_same_utf8_text_each_time(value: object) -> None:
    text = as_text(value, Room(BYTES))
    assert text == as_text(value, Room(BYTES))
    assert text.encode().decode() == text


@given(st.lists(nested, max_size=3) | st.dictionaries(hashable, nested, max_size=3))
def test_compound_data_becomes_strict_json(value: object) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    json.loads(as_text(value, Room(BYTES)), parse_constant=refuse)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        ("", ""),
        (None, "null"),
        (True, "true"),
        (7, "7"),
        (0.5, "0.5"),
        (float("nan"), "NaN"),
        ([float("inf"), -float("inf")], '["Infinity","-Infinity"]'),
        ({"b": 1, "a": "ü"}, '{"b":1,"a":"ü"}'),
        ({1: "x", None: "y", (1, 2): "z"}, '{"1":"x","null":"y","[1,2]":"z"}'),
        ({"Oslo", "Bergen"}, '["Bergen","Oslo"]'),
        (b"text", "text"),
        (b"\xff\x00", "base64:/wA="),
        (bytearray(b"x"), "x"),
        (datetime(2031, 1, 2, tzinfo=UTC), "2031-01-02T00:00:00+00:00"),
        ([date(2031, 1, 2), time(3, 4)], '["2031-01-02","03:04:00"]'),
        (timedelta(days=1), "1 day, 0:00:00"),
        (Decimal("1.10"), "1.10"),
        (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (Level.LOW, "1"),
        ({Level.LOW: Rank.TOP}, '{"1":3}'),
        (PurePosixPath("/tmp/x"), "/tmp/x"),
        (Spot(1, 2), '{"x":1,"y":2}'),
        (Hit(PurePosixPath("a"), 0.5), '{"where":"a","score":0.5}'),
        (Weather(city="Oslo", when=datetime(2031, 1, 2, tzinfo=UTC)), '{"city":"Oslo","when":"2031-01-02T00:00:00Z"}'),
        (range(3), "[0,1,2]"),
        ({"a": 1}.values(), "[1]"),
    ],
)
def test_each_kind_of_result_has_its_text(value: object, text: str) -> None:
    assert as_text(value, Room(BYTES)) == text


@pytest.mark.parametrize(
    "value", [object(), threading.Lock(), len, iter([1]), Hit], ids=lambda value: type(value).__name__
)
def test_what_has_only_an_address_is_refused_by_type(value: object) -> None:
    with pytest.raises(TypeError, match=rf"the result holds a .*{type(value).__name__}.*should return plain data"):
        as_text({"deep": [value]}, Room(BYTES))


def test_data_that_holds_itself_is_refused() -> None:
    knot: list[object] = []
    knot += [knot, knot]
    with pytest.raises(ValueError, match="holds itself"):
        as_text(knot, Room(BYTES))


@given(anything)
def test_cleaning_changes_lone_surrogates_only(text: str) -> None:
    cleaned = clean(text)
    assert cleaned.encode().decode() == cleaned
    assert cleaned == text or any("\ud800" <= char <= "\udfff" for char in text)


@given(st.text(max_size=3000), st.integers(400, 3000))
def test_a_cut_text_fits_and_keeps_both_ends(text: str, limit: int) -> None:
    short = cut(text, limit)
    assert len(short.encode()) <= limit
    if len(text.encode()) <= limit:
        assert short == text
    else:
        head, _, rest = short.partition("\n[... ")
        note, _, tail = rest.rpartition(" ...]\n")
        assert text.startswith(head) and text.endswith(tail)
        missing = len(text.encode()) - len(head.encode()) - len(tail.encode())
        assert note.startswith(f"{missing} of {len(text.encode())} bytes")


def test_the_end_of_a_long_log_survives() -> None:
    log = "compiling\n" * 100_000 + "error: no such file"
    short = cut(log, 2000)
    assert short.startswith("compiling\n")
    assert short.endswith("error: no such file")
    assert "call again for a smaller part" in short


@pytest.mark.parametrize(
    "value",
    [
        range(10**12),
        dict.fromkeys(range(10**5), "x" * 10),
        [["x" * 10**6] * 1000] * 1000,
        ["a", [{"b": "x" * 10**7}], 1],
        [10**4000] * 10**6,
        {"k" * 10**6: 1},
        b"\xff" * 10**6,
        "\ud800" * 10**6,
        set(range(5000)),
    ],
    ids=["long", "mapping", "nested", "deep text", "numbers", "key", "bytes", "surrogates", "set"],
)
def test_a_result_of_any_size_is_shown_and_what_is_small_enough_for_the_loop_is_told_first(value: object) -> None:
    with pytest.raises(TooLarge):
        shown(value, 2000, brief=True)
    text = shown(value, 2000)
    assert len(text.encode()) <= 2000
    assert "call again for a smaller part to see" in text or "bytes are left out here" in text


def test_what_is_cut_says_by_how_much() -> None:
    text = shown("ab" * 10**6, 2000)
    assert "of 2000000 bytes are left out here; call again for a smaller part to see them" in text
    assert shown({"log": "x" * 10**7, "status": 1}, 2000).endswith(',"status":1}')


@given(nested)
def test_a_result_that_has_room_is_the_same_everywhere(value: object) -> None:
    assert shown(value, BYTES, brief=True) == shown(value, BYTES) == cut(as_text(value, Room(BYTES)), BYTES)
