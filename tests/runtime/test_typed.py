"""Typed output: what a class must be, what of an answer is taken, and what the model reads when it is not."""

import importlib
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel, computed_field, field_validator

from amrita_fleet.protocols.codec import decode, encode
from amrita_fleet.protocols.errors import OutputMissing, PresetInvalid
from amrita_fleet.protocols.ids import AgentId, RunId
from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.outcome import Ending, Outcome
from amrita_fleet.runtime.typed import OutputType

SOURCE = Path(__file__).resolve().parents[2] / "src"


class Dog(BaseModel):
    kind: Literal["dog"]
    bark: int


class Cat(BaseModel):
    kind: Literal["cat"]
    meow: str


class Finding(BaseModel):
    """Everything that makes reading back hard: strictness, aliases, computed fields, unions, itself."""

    model_config = ConfigDict(strict=True, extra="forbid")

    when: date = Field(alias="foundOn")
    pet: Annotated[Dog | Cat, Field(discriminator="kind")]
    parts: "list[Finding]" = []

    @computed_field  # type: ignore[prop-decorator]
    @property
    def year(self) -> int:
        return self.when.year


class Count(BaseModel):
    words: int
    note: str = ""


class Even(BaseModel):
    number: int

    @field_validator("number")
    @classmethod
    def even(cls, number: int) -> int:
        if number % 2:
            raise ZeroDivisionError("an odd one")
        return number


class Late(BaseModel):
    what: "Nowhere"  # type: ignore[name-defined]  # noqa: F821


class Odd(BaseModel):
    call: Callable[[int], int]


COUNT = OutputType(Count)
FOUND = '{"foundOn": "2031-01-02", "pet": {"kind": "cat", "meow": "mü"}, "parts": []}'

MAIN = """
import sys
import ray.cloudpickle
from pydantic import BaseModel
from amrita_fleet.runtime.typed import OutputType


class Word(BaseModel):
    text: str


class Words(BaseModel):
    words: list[Word]


sys.stdout.buffer.write(ray.cloudpickle.dumps(OutputType(Words)))
"""

READER = """
import pickle, sys
made = pickle.load(sys.stdin.buffer)
print(made.read('{"words": [{"text": "x"}]}')[0], "schema" in vars(made))
"""


def outcome(output: Json = None, ending: Ending = Ending.ANSWERED, reason: str = "") -> Outcome:
    return Outcome(RunId("ana/1"), AgentId("ana"), ending, "text", output=output, reason=reason)


@pytest.mark.parametrize(
    "text",
    [
        '{"words": 7}',
        '\n {"words": 7}\n',
        '```json\n{"words": 7}\n```',
        'There are {some} words.\n\n```\n{\n  "words": 7\n}\n```\nAnything else?',
        'So f(x) = {x} gives {"words": 7}.',
    ],
)
def test_words_and_fences_around_the_object_do_not_matter(text: str) -> None:
    assert COUNT.read(text) == ({"words": 7, "note": ""}, "")


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("", "The answer holds no JSON object."),
        ("seven", "The answer holds no JSON object."),
        ("7", "The answer is a number, not a JSON object."),
        ("null", "The answer is null, not a JSON object."),
        ('[{"words": 7}]', "The answer is an array, not a JSON object."),
        ('"{}"', "The answer is a string, not a JSON object."),
        ('{"words": 7} or {"words": 8}', "The answer holds 2 JSON objects: give one only."),
        (
            "{'words': 7}",
            "The JSON is not valid: Expecting property name enclosed in double quotes at line 1, column 2.",
        ),
        ('{"words": NaN}', "The JSON is not valid: NaN is no JSON."),
        ('{"all": {"words": 7}', "The JSON is not valid: Expecting ',' delimiter at line 1, column 21."),
        (
            '{a: {"words": 7}}',
            "The JSON is not valid: Expecting property name enclosed in double quotes at line 1, column 2.",
        ),
    ],
)
def test_what_is_not_just_one_object_is_refused_and_nothing_is_repaired(text: str, flaw: str) -> None:
    assert COUNT.read(text) == (None, flaw)


def test_all_flaws_come_at_once_with_their_paths() -> None:
    text = '{"pet": {"kind": "dog", "bark": []}, "parts": [{"foundOn": 5}], "more": 1}'
    output, flaw = OutputType(Finding).read(text)
    assert output is None
    assert flaw.removeprefix("The JSON object is wrong: ").split("; ") == [
        "'foundOn' is missing",
        "'pet.bark' (as dog) is []: Input should be a valid integer",
        "'parts.0.foundOn' is 5: Input should be a valid date",
        "'parts.0.pet' is missing",
        "there is no 'more'.",
    ]


def test_the_model_says_what_is_converted() -> None:
    assert COUNT.read('{"words": "7"}') == ({"words": 7, "note": ""}, "")


class Mute(Exception):
    def __str__(self) -> str:
        raise KeyboardInterrupt


class Evil(BaseModel):
    number: int

    @field_validator("number")
    @classmethod
    def check(cls, number: int) -> int:
        raise (SystemExit(3), KeyboardInterrupt(), Mute())[number]


@pytest.mark.parametrize(
    ("number", "flaw"), [(0, "SystemExit: 3"), (1, "KeyboardInterrupt"), (2, "Mute: (its message cannot be shown)")]
)
def test_a_validator_that_exits_is_a_flaw_and_ends_nothing(number: int, flaw: str) -> None:
    assert OutputType(Evil).read(f'{{"number": {number}}}') == (None, f"The JSON object is wrong: {flaw}.")


def test_a_validator_that_breaks_is_a_flaw_and_no_crash() -> None:
    assert OutputType(Even).read('{"number": 3}') == (None, "The JSON object is wrong: ZeroDivisionError: an odd one.")


def test_a_number_that_no_wire_carries_is_a_flaw() -> None:
    output, flaw = COUNT.read(f'{{"words": {10**30}}}')
    assert output is None
    assert "value.words is a whole number of more than 64 bits" in flaw


@given(st.text() | st.lists(st.sampled_from(['{"words":', "7", "}", "{", '"', "[", "]", ",", "x", "NaN"])).map("".join))
def test_no_answer_raises(text: str) -> None:
    output, flaw = COUNT.read(text)
    assert (output is None) == bool(flaw)


@given(st.integers(-(2**63), 2**63), st.text(st.characters(exclude_categories=["Cs"])))
def test_whatever_fits_is_taken(words: int, note: str) -> None:
    data: dict[str, Json] = {"words": words, "note": note}
    assert COUNT.read(f"Here:\n{json.dumps(data)}") == (data, "")


def test_deep_nonsense_is_refused() -> None:
    for text in ('{"a":{' * 20_000, '{"a"' * 20_000, "{ " * 20_000, '{"a":' * 20_000 + "1" + "}" * 20_000):
        assert COUNT.read(text)[0] is None


def test_the_instruction_shows_the_schema_without_references_where_it_can() -> None:
    schema = json.loads(COUNT.instruction.split("\n", 1)[1])
    assert schema == COUNT.schema
    assert schema["properties"] == {"words": {"type": "integer"}, "note": {"type": "string", "default": ""}}
    pet = cast("dict[str, Any]", OutputType(Finding).schema["properties"])["pet"]
    assert [one["properties"]["kind"]["const"] for one in pet["oneOf"]] == ["dog", "cat"]
    assert "discriminator" not in pet


@pytest.mark.parametrize(
    "model",
    [RootModel[dict[str, int]], RootModel[Dog | Cat], RootModel[Count], Finding],
    ids=lambda each: each.__name__,
)
def test_whatever_is_always_an_object_can_be_an_output(model: type[BaseModel]) -> None:
    assert OutputType(model).schema


def test_a_root_models_flaws_have_paths_too() -> None:
    scores = OutputType(RootModel[dict[str, int]])
    assert scores.read('{"a": 1}') == ({"a": 1}, "")
    assert scores.read('{"a": []}')[1] == "The JSON object is wrong: 'a' is []: Input should be a valid integer."


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (int, "cannot be int: it must be a class derived from pydantic.BaseModel"),
        ("Count", "cannot be 'Count': it must be a class"),
        (Count(words=1), r"cannot be Count\(words=1, note=''\): it must be a class"),
        (BaseModel, "cannot be BaseModel: it must be a class derived"),
        (RootModel[list[int]], "in JSON it is not always an object; put it into a field of a model"),
        (RootModel[Dog | None], "in JSON it is not always an object"),
        (Odd, r"cannot be Odd: no JSON Schema describes it \(Cannot generate a JsonSchema for"),
        (
            Late,
            r"cannot be Late: no JSON Schema describes it \(`Late` is not fully defined; you should define `Nowhere`",
        ),
    ],
    ids=["int", "text", "instance", "base", "list", "maybe", "callable", "unfinished"],
)
def test_what_no_model_could_answer_with_is_refused_at_once(given: object, sentence: str) -> None:
    with pytest.raises(PresetInvalid, match=sentence) as caught:
        OutputType(cast("Any", given))
    assert caught.value.field == "output"


def test_an_output_crosses_processes_and_becomes_the_model_again() -> None:
    output, _ = OutputType(Finding).read(FOUND)
    assert output == {"when": "2031-01-02", "pet": {"kind": "cat", "meow": "mü"}, "parts": []}
    received = decode(encode(outcome(output)), Outcome)
    assert received == outcome(output)
    assert received.typed(Finding) == Finding.model_validate_json(FOUND)


def test_without_an_output_the_error_says_how_the_run_ended() -> None:
    with pytest.raises(OutputMissing, match=r"ana/1 has no such output: .*; its agent has no output type\.$"):
        outcome().typed(Count)
    with pytest.raises(OutputMissing, match=r"; it ended stalled \(it went in circles\)\.$"):
        outcome(ending=Ending.STALLED, reason="it went in circles").typed(Count)


def test_asked_for_as_another_type_the_error_says_so() -> None:
    with pytest.raises(OutputMissing, match="it does not fit Count, which is not the agent's output type") as caught:
        outcome({"number": 2}).typed(Count)
    assert pickle.loads(pickle.dumps(caught.value)).run == "ana/1"


def test_an_output_type_of_a_module_is_pickled_by_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "forms.py").write_text("from pydantic import BaseModel\n\n\nclass Form(BaseModel):\n    x: int\n")
    monkeypatch.syspath_prepend(tmp_path)
    made = OutputType(importlib.import_module("forms").Form)
    data = pickle.dumps(made)
    assert b"forms" in data
    again = pickle.loads(data)
    assert again.model is made.model
    assert vars(again)["schema"] == made.schema
    del sys.modules["forms"]


@pytest.mark.ray
def test_an_output_type_of_the_main_script_travels_by_value() -> None:
    def run(script: str, data: bytes = b"") -> bytes:
        env = {"PYTHONPATH": str(SOURCE)}
        return subprocess.run(
            [sys.executable, "-c", script], env=env, input=data, capture_output=True, check=True
        ).stdout

    assert run(READER, run(MAIN)).strip() == b"{'words': [{'text': 'x'}]} True"
