"""What goes over the wire of an answer: ids, reasoning, the output cap and the count."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.runtime.simulator import openai_reply, tokens
from amrita_fleet.runtime.simulator.conversation import Answer, Call, Conversation, Request, Said
from amrita_fleet.runtime.simulator.speech import Speech, speak

CONVERSATION = Conversation("m", (Said("user", "Count."),), ("count",))
ANSWER = Answer("I count both.", (Call("count", {"first": 0}), Call("count", {"first": 5})), "Two ranges are left.")


def spoken(answer: Answer = ANSWER, *, thinking: bool = True, cap: int | None = None) -> Speech:
    return speak(answer, Request(CONVERSATION, thinking=thinking, cap=cap), number=7, prompt_tokens=3)


def reassembled(events: list[str]) -> tuple[dict[str, Any], str, Any]:
    """The message, finish reason and usage that a client puts together from a stream."""
    assert events.pop() == "data: [DONE]\n\n"
    chunks = [json.loads(event.removeprefix("data: ")) for event in events]
    message: dict[str, Any] = {"content": "", "reasoning_content": "", "tool_calls": []}
    finish, usage = "", None
    for chunk in chunks:
        usage = chunk.get("usage") or usage
        for choice in chunk["choices"]:
            finish = choice["finish_reason"] or finish
            add(message, choice["delta"])
    return message, finish, usage


def add(message: dict[str, Any], delta: dict[str, Any]) -> None:
    for name in ("content", "reasoning_content"):
        message[name] += delta.get(name) or ""
    for piece in delta.get("tool_calls", []):
        if "id" in piece:
            assert piece["index"] == len(message["tool_calls"])
            message["tool_calls"].append({"id": piece["id"], "type": piece["type"], "function": piece["function"]})
        else:
            message["tool_calls"][piece["index"]]["function"]["arguments"] += piece["function"]["arguments"]


@given(
    text=st.text(),
    arguments=st.lists(st.dictionaries(st.text(), st.text() | st.integers()), max_size=3),
    reasoning=st.text(),
    thinking=st.booleans(),
    cap=st.none() | st.integers(min_value=1, max_value=60),
)
def test_a_stream_says_what_the_whole_answer_says(
    text: str, arguments: list[dict[str, Any]], reasoning: str, *, thinking: bool, cap: int | None
) -> None:
    answer = Answer(text, tuple(Call("count", given) for given in arguments), reasoning)
    speech = spoken(answer, thinking=thinking, cap=cap)
    whole: Any = openai_reply.completion(speech, created=0)
    message, finish, usage = reassembled(list(openai_reply.events(speech, created=0, include_usage=True)))
    expected = whole["choices"][0]["message"]
    assert message["content"] == (expected["content"] or "")
    assert message["reasoning_content"] == expected.get("reasoning_content", "")
    assert message["tool_calls"] == expected.get("tool_calls", [])
    assert finish == whole["choices"][0]["finish_reason"]
    assert usage == whole["usage"]


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
