"""YAML as plain data: only what is data, each thing with its place, and nothing that grows beyond all bounds."""

import re
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from amrita_fleet.runtime.fleet_file.document import MOST_DEPTH, read_document
from amrita_fleet.runtime.fleet_file.problems import Problems

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGES = "a: &a {" + ", ".join(f"k{n}: 1" for n in range(1000)) + "}\nb: {<<: [" + ", ".join(["*a"] * 1000) + "]}\n"
CHAIN = "a: &a0 [x]\n" + "".join(f"b{n}: &a{n + 1} [*a{n}]\n" for n in range(MOST_DEPTH + 5))


def read(text: str) -> tuple[Any, list[tuple[int | None, int | None, str]]]:
    """The data, and each problem with its line and column."""
    problems = Problems("f")
    data = read_document(text, problems)
    return data, [(each.line, each.column, each.text) for each in problems.found]


def test_texts_numbers_lists_and_mappings_are_read_with_their_places() -> None:
    problems = Problems("f")
    data = read_document("a: 1\nb:\n  - x\n  - {c: yes}\n", problems)
    assert data == {"a": 1, "b": ["x", {"c": True}]}
    assert problems.places["b", 1, "c"].key == (4, 6)
    assert problems.places["b", 1, "c"].value == (4, 9)
    assert problems.places["b", 0].value == (3, 5)


@pytest.mark.parametrize(
    ("written", "value"),
    [("2026-11-01", "2026-11-01"), ("~", None), ("0x10", 16), ("1.5", 1.5), ("'1'", "1"), ("=", "="), ("on", True)],
)
def test_a_scalar_is_what_yaml_says_and_a_day_is_a_text(written: str, value: object) -> None:
    assert read(f"a: {written}") == ({"a": value}, [])


def test_anchors_and_merges_may_be_used_and_a_key_of_its_own_counts_more() -> None:
    data, problems = read("base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\nhere: {y: 5, <<: [*b, *m]}\nsame: *b\n")
    assert problems == []
    assert data["here"] == {"y": 5, "x": 1, "z": 4}
    assert data["same"] == {"x": 1, "y": 2}


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        ("a: 1\na: 2\n", 2, 1, 'The key "a" is here twice; it stands in line 1 already.'),
        ("{a: 1, b: {c: 1, c: 2}}", 1, 18, 'The key "c" is here twice; it stands in line 1 already.'),
        ("yes: 1\n", 1, 1, 'A key must be a text, and YAML reads yes as true or false: write "yes".'),
        ("a:\n  1: x\n", 2, 3, 'A key must be a text, and YAML reads 1 as a number: write "1".'),
        ("? [a]\n: 1\n", 1, 3, "A key must be a text, not a mapping or a list."),
        ("a: !!python/object/apply:os.system [x]\n", 1, 4, "A fleet file has plain data only: leave out the tag"),
        ("a: !mine x\n", 1, 4, "A fleet file has plain data only: leave out the tag !mine."),
        ("a: !!set {x}\n", 1, 4, "A fleet file has plain data only: leave out the tag !!set."),
        ("<<: 3\n", 1, 1, "<< takes a mapping, or a list of them"),
        ("a: 0b_\n", 1, 4, "YAML cannot read this as a number: put it in quotes if it is a text."),
        ("a: 99999999999999999999\n", 1, 4, "This number is too large: the largest is 9,223,372,036,854,775,807."),
        ('a: "\\ud800"\n', 1, 4, "This text holds half a surrogate pair, which nothing can carry."),
        ('a: "\\0"\n', 1, 4, "This text holds the character #x0000, which neither paths nor names may have."),
        ('"\\0": a\n', 1, 1, "This key holds the character #x0000, which neither paths nor names may have."),
        ("a:\n\t- x\n", 2, 1, "There is a tab here: YAML is indented with spaces."),
        ("a: [1, 2\nb: 3\n", 2, 2, "This is no YAML: while parsing a flow sequence, expected ',' or ']'"),
        ("a: *nobody\n", 1, 4, "This is no YAML: found undefined alias 'nobody'."),
        ("a: 1\n---\nb: 2\n", 2, 1, "This is no YAML: expected a single document in the stream, but found another"),
        ("a: b\x07c\n", 1, 5, "The character #x0007 is none that YAML allows."),
        ('a: "\\UFFFFFFFF"\n', 1, 7, "This escape names no character."),
        (f"{'[' * 100}{']' * 100}", 1, MOST_DEPTH + 1, f"Values lie more than {MOST_DEPTH} deep in one another here."),
        ("[" * 100_000, 1, MOST_DEPTH + 1, f"Values lie more than {MOST_DEPTH} deep in one another here."),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_what_is_no_plain_data_is_told_with_its_place(text: str, line: int, column: int, said: str) -> None:
    _, problems = read(text)
    ((at, where, text),) = problems
    assert (at, where) == (line, column)
    assert text.startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &a [*a]\n", f"Values lie more than {MOST_DEPTH} deep in one another here."),
        ("a: &a {<<: *a}\n", f"Values lie more than {MOST_DEPTH} deep in one another here."),
        (CHAIN, f"Values lie more than {MOST_DEPTH} deep in one another here."),
        (LAUGHS, "The file comes to more than 100,000 values: aliases multiply them."),
        (MERGES, "The file comes to more than 100,000 values: aliases multiply them."),
    ],
    ids=["round", "merged round", "chain", "laughs", "merges"],
)
def test_aliases_come_to_no_more_than_there_is_room_for(text: str, said: str) -> None:
    _, problems = read(text)
    assert problems[0][2] == said


NOTHING = st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False)
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
PLAIN = st.recursive(
    NOTHING | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=20,
)


@given(PLAIN)
def test_what_yaml_writes_of_plain_data_is_read_as_the_same(data: object) -> None:
    assert read(yaml.safe_dump(data, allow_unicode=True)) == (data, [])


PIECES = st.lists(
    st.sampled_from(
        ["a", "b: ", "- ", "\n", "  ", "[", "]", "{", "}", ",", "&x ", "*x", "<<: ", "!t ", "'", '"', "\\U"]
    )
    | st.sampled_from(
        ["\t", "|", ">", "? ", ": ", "#", "%", "---\n", "...\n", "\u2028", "\x85", "\r", "0o", "1:2", "\x00"]
    ),
    max_size=40,
).map("".join)


@given(st.text() | PIECES)
@example("\ufeff\ufeffa")
@example("a: \udcff")
@example("%YAML 9" + "9" * 5000)
def test_any_text_is_read_or_its_problem_lies_inside_of_it(text: str) -> None:
    _, problems = read(text)
    lines = re.split("\r\n|[\n\r\x85\u2028\u2029]", text)
    for line, column, _ in problems:
        assert line and column
        assert 1 <= line <= len(lines)
        assert 1 <= column <= len(lines[line - 1]) + 1
