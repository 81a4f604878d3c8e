import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from amrita_fleet.protocols.messages import Json
from amrita_fleet.runtime.fingerprint import fingerprint
from amrita_fleet.runtime.tools.digest import signature

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).resolve().parents[3] / "src"

numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
arguments = st.dictionaries(st.text(), values, max_size=5)


def shuffled(value: Json, order: random.Random) -> Json:
    """The same value with its keys in another order and whole numbers spelled as floats."""
    if isinstance(value, dict):
        keys = order.sample(list(value), len(value))
        return {key: shuffled(value[key], order) for key in keys}
    if isinstance(value, list):
        return [shuffled(one, order) for one in value]
    return float(value) if type(value) is int else value


@given(
    given=arguments,
    order=st.randoms(use_true_random=False),
    indent=st.sampled_from([None, 0, 4]),
    ascii_only=st.booleans(),
)
def test_spelling_does_not_count(
    given: dict[str, Json], order: random.Random, indent: int | None, *, ascii_only: bool
) -> None:
    other = json.dumps(shuffled(given, order), indent=indent, ensure_ascii=ascii_only)
    assert signature("f", json.dumps(given)) == signature("f", f" {other}\n")


@given(arguments, arguments)
def test_different_arguments_are_told_apart(one: dict[str, Json], other: dict[str, Json]) -> None:
    assume(one != other)
    assert signature("f", json.dumps(one)) != signature("f", json.dumps(other))


@given(st.text(st.characters()), st.text(st.characters()))
def test_any_text_has_a_signature(name: str, text: str) -> None:
    assert len(signature(name, text)) == len(fingerprint(text)) == 16


def test_the_tool_counts() -> None:
    assert signature("read", "{}") != signature("write", "{}")


@pytest.mark.parametrize("text", ["", " ", "null", "{}", "\n{ }"])
def test_no_arguments_have_one_signature(text: str) -> None:
    assert signature("f", text) == signature("f", "{}")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a": true}', '{"a": 1}'),
        ('{"a": "1"}', '{"a": 1}'),
        ('{"a": null}', "{}"),
        ('{"a": "x "}', '{"a": "x"}'),
        ('{"a": 9007199254740993}', '{"a": 9007199254740992}'),
    ],
)
def test_values_that_only_look_alike_are_told_apart(one: str, other: str) -> None:
    assert signature("f", one) != signature("f", other)


def test_what_is_no_json_counts_by_its_text() -> None:
    assert signature("f", ' {"a": ') == signature("f", '{"a":\n')
    assert signature("f", '{"a": ') != signature("f", '{"b": ')


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": ' + "9" * 5000 + "}"], ids=["nested", "long number"])
def test_what_json_cannot_read_here_counts_by_its_text(text: str) -> None:
    assert signature("f", text) == signature("f", f"{text} ")


def test_another_process_gives_the_same_signature() -> None:
    script = "from amrita_fleet.runtime.tools.digest import signature; print(signature('f', '{\"a\": 1}'))"
    env = {"PYTHONPATH": str(SOURCE), "PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == signature("f", '{"a":1.0}')
