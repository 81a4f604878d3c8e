"""A model's answer to "simple or a plan?", and to "what came of it?"."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.runtime.errors import PlanInvalid
from amrita_fleet.runtime.step.decomposition import (
    DECOMPOSE_ALWAYS,
    DECOMPOSE_SYSTEM,
    SUMMARISE_SYSTEM,
    read_decomposition,
    read_summary,
)
from amrita_fleet.runtime.step.plan import Node

TWO = (Node("a", "Read"), Node("b", "Compare", ("a",)))
ANSWER = '{"kind": "plan", "steps": [{"id": "a", "title": "Read"}, {"id": "b", "title": "Compare", "needs": ["a"]}]}'

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["kind", "steps", "id", "title", "needs"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def steps(*given: object, kind: object = "plan") -> str:
    return json.dumps({"kind": kind, "steps": given})


@pytest.mark.parametrize(
    "text",
    [
        ANSWER,
        f"```json\n{ANSWER}\n```",
        f"Let me {{think}} about {{}}. Here it is:\n{ANSWER}\nShall I begin?",
        ANSWER.replace('"plan"', '" DAG "'),
        ANSWER.replace('"kind": "plan", ', ""),
        ANSWER.replace("needs", "depends_on"),
        ANSWER.replace("needs", "dependencies"),
        ANSWER.replace('["a"]', '"a"'),
        ANSWER.replace('["a"]', '["a", "a", ""]'),
        ANSWER.replace("Compare", " Com\\npare ").replace("Com\\npare", "Compare\\n"),
        f'{{"answer": {ANSWER}}}',
    ],
    ids=[
        "bare",
        "fence",
        "words",
        "DAG",
        "no kind",
        "depends_on",
        "dependencies",
        "one need",
        "twice",
        "lines",
        "deep",
    ],
)
def test_a_plan_is_read_however_it_is_wrapped(text: str) -> None:
    assert read_decomposition(text) == TWO


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "simple"}',
        'The task is easy.\n```\n{"kind": "Simple"}\n```',
        '{"kind": "plan", "steps": []}',
        '{"kind": "plan", "steps": [{"title": "Do it"}]}',
    ],
    ids=["simple", "fence", "no steps", "one step"],
)
def test_a_simple_task_has_no_steps(text: str) -> None:
    assert read_decomposition(text) == ()


def test_numbers_are_ids_and_steps_without_an_id_are_numbered() -> None:
    text = steps({"title": "A"}, {"id": 1, "title": "B"}, {"title": "C", "needs": [1.0]}, {"id": None, "title": "D"})

    assert read_decomposition(text) == (Node("2", "A"), Node("1", "B"), Node("3", "C", ("1",)), Node("4", "D"))


def test_white_space_in_an_id_is_the_same_wherever_it_is_named() -> None:
    text = steps({"id": "step one", "title": "A"}, {"id": "step two", "title": "B", "needs": [" step  one"]})

    assert read_decomposition(text) == (Node("step_one", "A"), Node("step_two", "B", ("step_one",)))


def test_a_long_title_is_cut() -> None:
    first, _ = read_decomposition(steps({"title": "x" * 1000}, {"title": "B"}))

    assert first.title == "x" * 297 + "..."


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the answer holds no JSON object with 'kind'"),
        ("I would read both files, then compare them.", "the answer holds no JSON object with 'kind'"),
        (ANSWER[:-30], "the answer holds no JSON object with 'kind'"),
        ("{" * 5000, "the answer holds no JSON object with 'kind'"),
        ('{"kind": ' + "[" * 5000, "the answer holds no JSON object with 'kind'"),
        ('{"kind": "maybe"}', "its kind must be 'simple' or 'plan', not 'maybe'"),
        ('{"kind": "plan"}', "'steps' must be a list"),
        (steps("Read", "Compare"), "each step must be an object"),
        (steps({"id": "a"}, {"title": "B"}), "the step 'a' has no title"),
        (steps({"title": ["A"]}, {"title": "B"}), "'title' must be text"),
        (steps({"id": True, "title": "A"}, {"title": "B"}), "an id must be text, not true"),
        (steps({"id": 1.5, "title": "A"}, {"title": "B"}), "an id must be text, not 1.5"),
        (steps({"id": 0, "title": "A"}, {"title": "B"}).replace("0", "1e999"), "an id must be text, not Infinity"),
        (steps({"title": "A", "needs": [["b"]]}, {"title": "B"}), 'an id must be text, not ["b"]'),
        (steps({"id": "x" * 65, "title": "A"}, {"title": "B"}), "an id has 1 to 64 printable characters"),
        (steps({"id": "a", "title": "A"}, {"id": "a", "title": "B"}), "several steps would have the id 'a'"),
        (steps({"title": "A", "needs": [2]}, {"title": "B", "needs": [1]}), "1, 2 would need one another in a circle"),
        (steps({"title": "A", "needs": ["z"]}, {"title": "B"}), "'1' would need 'z', but there is no step 'z'"),
        (steps(*[{"title": "A"}] * 51), "'steps' must be a list of at most 50 objects"),
    ],
)
def test_what_is_no_plan_is_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(PlanInvalid) as caught:
        read_decomposition(text)

    assert caught.value.reason.startswith(reason)


@given(answer=JSON, kind=st.sampled_from(["plan", "simple", "dag", None]))
def test_any_answer_is_read_or_refused(answer: object, kind: str | None) -> None:
    try:
        nodes = read_decomposition(json.dumps({"kind": kind, "steps": answer}))
    except PlanInvalid:
        return
    assert len(nodes) != 1


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ('{"verb": "compared", "object": "both files"}', "compared both files"),
        ('```json\n{"verb": "found", "object": "3\\n\\n errors"}\n```', "found 3 errors"),
        ('So {here}: {"object": "nothing"} ok', "nothing"),
        ('{"verb": "waited"}', "waited"),
        ('{"verb": "", "object": " "}', None),
        ('{"verb": 3, "object": null}', None),
        ('{"other": "x"}', None),
        ("compared both files", None),
        ("", None),
    ],
)
def test_a_summary_is_one_line_or_none(text: str, summary: str | None) -> None:
    assert read_summary(text) == summary


def test_a_long_summary_is_cut() -> None:
    summary = read_summary(json.dumps({"verb": "wrote", "object": "x" * 5000}))

    assert summary is not None
    assert len(summary) == 500
    assert summary.endswith("x...")


@pytest.mark.parametrize("system", [DECOMPOSE_SYSTEM, DECOMPOSE_ALWAYS])
def test_the_example_that_a_model_is_shown_is_a_plan(system: str) -> None:
    example = system[system.index('{"kind": "plan"') :]

    assert [each.id for each in read_decomposition(example)] == ["read", "compare"]


def test_only_auto_offers_a_model_to_answer_that_the_task_is_simple() -> None:
    assert read_decomposition(DECOMPOSE_SYSTEM) == ()
    assert "simple" not in DECOMPOSE_ALWAYS


def test_the_example_summary_that_a_model_is_shown_is_one() -> None:
    assert read_summary(SUMMARISE_SYSTEM) == "compared both files: the second has 120 words more"
