"""JSON in an answer: the first object with a field, or the only outermost one, and never at length."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.messages import Json
from amrita_fleet.runtime.step.json_in_text import LONGEST, MOST_STARTS, first_object, only_object

WORDS = st.text(st.characters(exclude_characters="{}"), max_size=20)
OBJECTS = st.dictionaries(st.text(max_size=5), st.integers() | st.lists(st.text(max_size=3), max_size=3), max_size=4)


@given(WORDS, OBJECTS, WORDS)
def test_one_object_is_found_whatever_words_stand_around_it(before: str, given: dict[str, Json], after: str) -> None:
    assert only_object(f"{before}{json.dumps(given)}{after}") == (given, "")


@given(WORDS, OBJECTS, OBJECTS)
def test_of_several_objects_the_first_with_the_field_counts_and_none_is_the_only_one(
    words: str, one: dict[str, Json], other: dict[str, Json]
) -> None:
    wanted = {**other, "kind ": 1}
    text = f"{words}{json.dumps(one)}{words}{json.dumps(wanted)}"
    assert first_object(text, "kind ") == wanted
    assert only_object(text)[0] is None


def test_an_inner_object_may_be_the_first_and_is_never_the_only_one() -> None:
    assert first_object('{"answer": {"kind": 1}}', "kind") == {"kind": 1}
    assert first_object('{broken: {"kind": 1}}', "kind") == {"kind": 1}
    assert only_object('{"answer": {"kind": 1}}') == ({"answer": {"kind": 1}}, "")
    assert only_object('{broken: {"kind": 1}}')[0] is None


def test_as_many_objects_as_are_tried_are_counted_and_more_are_refused() -> None:
    assert only_object("{a}" * (MOST_STARTS - 1) + '{"b": 1}') == ({"b": 1}, "")
    assert only_object("{a}" * MOST_STARTS + " and words")[1].startswith("The JSON is not valid: ")
    too_many = "The answer has too many braces to look for JSON between them: give the JSON object alone."
    for text in ("{a}" * 100_000, '{"b": 1}' + "{a}" * MOST_STARTS, "{a}" * MOST_STARTS + '{"b": 1}'):
        assert only_object(text[:LONGEST]) == (None, too_many)
    assert first_object("{a}" * MOST_STARTS + '{"b": 1}', "b") is None


def test_a_very_long_answer_is_read_where_it_is_nothing_but_json() -> None:
    whole = json.dumps({"b": "x" * LONGEST})
    assert only_object(whole)[1] == ""
    flaw = "The answer is too long to look for JSON in it: give the JSON object alone."
    assert only_object(f"Here: {whole}") == (None, flaw)
    assert first_object(f'{{"b": 1}}{" " * LONGEST}{{"c": 1}}', "c") is None


@pytest.mark.parametrize(
    "text",
    [
        "{" * 10**6,
        "{a}" * 10**6,
        '{"a":' * 10**5,
        "}" * 10**6,
        "[" * 10**6,
        '{"a": ' + "9" * 10**5 + "}",
        "{\n" * 10**5,
    ],
    ids=["open", "pairs", "deep", "closed", "arrays", "number", "lines"],
)
def test_what_is_made_to_be_slow_to_read_is_refused(text: str) -> None:
    assert only_object(text)[0] is None
    assert first_object(text, "b") is None
