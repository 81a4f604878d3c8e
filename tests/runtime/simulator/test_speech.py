"""What goes over the wire of an answer: ids, reasoning, the output cap and the count."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.runtime.simulator import openai_reply, tokens
from amrita_fleet.runtime.simulator.conversation import Answer, Call, Conversation, Request, Said
from amrita_fleet.runtime.simulator.speech import Speech, speak

pytestmark = pytest.mark.slow

CONVERSATION = Conversation("m", (Said("user", "Count."),), ("count",))
ANSWER = Answer("I count both.", (Call("count", {"first": 0}), Call("count", {"first": 5})), "Two ranges are left.")


def spoken(answer: Answer = ANSWER, *, thinking: bool = True, cap: int | None = None) -> Speech:
    return speak(answer, Request(CONVERSATION, thinking=thinking, cap=cap), number=7, prompt_tokens=3)


@given(
    text=st.text(),
    arguments=st.lists(st.dictionaries(st.text(), st.text() | st.integers()), max_size=3),
    reasoning=st.text(),
    thinking=st.booleans(),
    cap=st.none() | st.integers(min_value=1, max_value=60),
)
def test_a_stream_says_what_the_whole_answer_says(
    dialogue_of: Callable[..., Any],
    text: str,
    arguments: list[dict[str, Any]],
    reasoning: str,
    *,
    thinking: bool,
    cap: int | None,
) -> None:
    asked = Request(CONVERSATION, thinking=thinking, include_usage=True, cap=cap)
    answer = Answer(text, tuple(Call("count", given) for given in arguments), reasoning)
    speech = speak(answer, asked, number=7, prompt_tokens=3)
    dialogue = dialogue_of("m")
    streamed = "".join(dialogue.wire.events(speech, asked, 0, {}))
    expected = dialogue.facts(dialogue.wire.whole(speech, 0, {}))
    assert dialogue.assembled(streamed) == expected


def test_usage_is_streamed_only_when_it_is_asked_for() -> None:
    events = list(openai_reply.events(spoken(), created=0, include_usage=False))
    assert not any("usage" in event for event in events)


def test_an_answer_comes_in_several_pieces() -> None:
    answer = Answer("x" * 100, (Call("count", {"text": "y" * 100}),))
    events = list(openai_reply.events(spoken(answer), created=0, include_usage=False))
    assert sum('"content": "x' in event for event in events) > 1
    assert sum('"function": {"arguments"' in event for event in events) > 1


def test_a_thinking_model_reasons_even_when_its_scenario_gives_no_reasoning() -> None:
    assert spoken(Answer("Done.")).reasoning
    assert spoken(Answer("Done."), thinking=False).reasoning is None


def test_each_call_has_an_id_of_its_own() -> None:
    ids = [
        call.id
        for number in (1, 2)
        for call in speak(ANSWER, Request(CONVERSATION), number=number, prompt_tokens=0).calls
    ]
    assert len(set(ids)) == 4


@given(st.integers(min_value=1, max_value=80))
def test_an_answer_never_has_more_tokens_than_its_cap(cap: int) -> None:
    speech, whole = spoken(cap=cap), spoken()
    assert speech.completion_tokens == min(cap, whole.completion_tokens)
    assert speech.cut == (cap < whole.completion_tokens)


def test_the_cap_cuts_from_the_end() -> None:
    reasoning, text = tokens.count(ANSWER.reasoning), tokens.count(ANSWER.text)
    assert spoken(cap=reasoning).text == ""
    cut = spoken(cap=reasoning + text + tokens.count("count") + 2)
    assert (cut.text, [call.arguments for call in cut.calls]) == (ANSWER.text, ['{"'])


@pytest.mark.parametrize(
    ("answer", "cap", "reason"),
    [
        pytest.param(Answer("Done."), None, "stop", id="text"),
        pytest.param(ANSWER, None, "tool_calls", id="calls"),
        pytest.param(ANSWER, 2, "length", id="cut"),
    ],
)
def test_the_finish_reason_says_why_the_model_stopped(answer: Answer, cap: int | None, reason: str) -> None:
    whole: Any = openai_reply.completion(spoken(answer, cap=cap), created=0)
    assert whole["choices"][0]["finish_reason"] == reason
