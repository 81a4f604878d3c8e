from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.providers.lenient import (
    DEEPEST,
    compact,
    count,
    is_object,
    items,
    mapping,
    parse,
    sound,
    sound_fields,
    text,
)


def test_json_is_written_without_white_space_and_with_its_letters() -> None:
    assert compact({"a": [1, "é"], "b": MappingProxyType({"c": None})}) == '{"a":[1,"é"],"b":{"c":null}}'


def test_what_json_does_not_have_is_not_written() -> None:
    with pytest.raises(TypeError):
        compact({"a": object()})


@pytest.mark.parametrize("raw", ["", "{", "NaN", '{"a":Infinity}', "[" * 100_000, b"\xff", "{} {}"])
def test_what_is_no_json_is_a_value_error(raw: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(raw)


def test_a_byte_order_mark_is_no_part_of_json() -> None:
    assert parse(b"\xef\xbb\xbf[1]") == [1]


@pytest.mark.parametrize(("raw", "objects"), [('{"a":1}', True), ("[1]", False), ("5", False), ("{}{}", False)])
def test_only_an_object_is_an_object(raw: str, objects: bool) -> None:
    assert is_object(raw) is objects


def test_another_shape_reads_as_an_empty_value() -> None:
    assert (mapping([1]), items({"a": 1}), text(None), count("3"), count(-1), count(True)) == ({}, [], "", 0, 0, 0)


def test_the_halves_of_a_character_become_one() -> None:
    assert sound("a\ud83d\ude00") == "a\U0001f600"


def test_a_lone_half_becomes_the_replacement_character() -> None:
    assert sound("a\ud83db") == "a\ufffdb"


@given(st.text(st.characters()))
def test_every_text_can_be_written_once_it_is_sound(raw: str) -> None:
    assert sound(raw).encode().decode() == sound(raw)


def test_a_count_that_no_model_can_reach_is_cut() -> None:
    assert count(10**30) == 10**12


def test_json_of_too_many_levels_is_no_json() -> None:
    nested = "[" * DEEPEST + "]" * DEEPEST

    assert is_object(f'{{"a":[{",".join(["[]"] * 1000)}]}}')
    assert parse(nested)
    with pytest.raises(ValueError, match="too deep"):
        parse(f"[{nested}]")
    with pytest.raises(ValueError, match="too deep"):
        parse(f'{{"a":{nested}}}')


@pytest.mark.parametrize(
    ("number", "kept"),
    [(2**64 - 1, 2**64 - 1), (2**64, 2.0**64), (-(2**63) - 1, -(2.0**63)), (10**400, str(10**400)), (True, True)],
    ids=["64 bits", "65 bits", "65 bits below 0", "no float either", "no number"],
)
def test_fields_that_are_kept_have_numbers_of_64_bits(number: int, kept: object) -> None:
    assert sound_fields({"a": {"b": [number]}}) == {"a": {"b": [kept]}}
    assert sound_fields({"a\ud83d": "\ude00"}) == {"a\ufffd": "\ufffd"}
