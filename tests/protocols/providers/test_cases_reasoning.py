"""Reasoning on its way back to the provider: faults that users of other programs reported."""

import json
from typing import Any

import pytest

from amrita_fleet.protocols.errors import BadRequest, PresetInvalid
from amrita_fleet.protocols.messages import Finish, Json, Message, Role
from amrita_fleet.protocols.presets import ThinkingConfig

from .wire_talk import USER, answer_of, asked, call, chat, claude, hear, messages_of, read, sse

pytestmark = pytest.mark.slow

LISTS: Json = {"id": "call_00", "type": "function", "function": {"name": "look", "arguments": '{"dir":"."}'}}
THINKING = ThinkingConfig(enabled=True)


def test_reasoning_before_a_call_goes_back_in_every_later_request() -> None:
    using = chat("deepseek")
    message: Json = {"role": "assistant", "content": "", "reasoning_content": "First the list.", "tool_calls": [LISTS]}
    reply = read(using, answer_of(message, "tool_calls"))
    _, result = call("call_00")
    later = (USER, reply.message, result, Message(Role.ASSISTANT, "Two files."), USER)
    for end in (3, 5):
        assert messages_of(using, *later[:end])[1]["reasoning_content"] == "First the list."


def test_the_refusal_of_missing_reasoning_is_not_tried_again() -> None:
    error: Json = {"type": "invalid_request_error", "message": "The reasoning_content must be passed back to the API."}
    found = chat("deepseek").refusal(400, {}, json.dumps({"error": error}).encode())
    assert type(found) is BadRequest
    assert not found.retryable


@pytest.mark.parametrize("profile", ["deepseek", "kimi"])
def test_a_turn_that_was_never_thought_about_says_so_by_an_empty_field(profile: str) -> None:
    asked_call, result = call("auto_1")
    for message in (Message(Role.ASSISTANT, "", calls=(asked_call,)), Message(Role.ASSISTANT, "Hello.")):
        turns = (USER, message, result) if message.calls else (USER, message)
        assert messages_of(chat(profile), *turns)[1]["reasoning_content"] == ""


def test_kimi_gets_its_reasoning_and_no_forced_call() -> None:
    asked_call, result = call("look:0")
    thought = Message(Role.ASSISTANT, "", (asked_call,), reasoning_content="Rain?", profile="kimi")
    using = chat("kimi", thinking_config=THINKING)
    body = asked(using, USER, thought, result)
    assert body["messages"][1]["reasoning_content"] == "Rain?"
    assert body["messages"][1]["tool_calls"][0]["id"] == body["messages"][2]["tool_call_id"] == "look:0"
    with pytest.raises(PresetInvalid, match="tool_choice can only be 'auto' or 'none' while kimi thinks"):
        chat("kimi", thinking_config=THINKING, extra_body={"tool_choice": "required"})


def test_both_names_of_reasoning_are_read_once_and_go_back_as_they_came() -> None:
    details: Json = [{"type": "reasoning.text", "text": "plus two.", "index": 0}]
    deltas: list[dict[str, Json]] = [
        {"role": "assistant", "reasoning": "Two "},
        {"reasoning": "plus two.", "reasoning_details": details},
        {"content": "4"},
    ]
    using = chat("openrouter")
    raw = sse(*({"choices": [{"index": 0, "delta": delta}]} for delta in deltas)) + "data: [DONE]\n\n"
    reply = hear(using, raw)
    assert (reply.message.content, reply.message.reasoning_content) == ("4", "Two plus two.")
    assert messages_of(using, USER, reply.message)[1] == {
        "role": "assistant",
        "content": "4",
        "reasoning": "Two plus two.",
        "reasoning_details": details,
    }
    twice = read(using, answer_of({"content": "4", "reasoning": "Two.", "reasoning_content": "Two."}))
    assert twice.message.reasoning_content == "Two."


def test_anthropic_thinking_stands_before_the_call_it_led_to() -> None:
    using = claude(thinking_config=THINKING)
    thought: Json = {"type": "thinking", "thinking": "Oslo.", "signature": "s"}
    use: Json = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"city": "Oslo"}}
    reply = read(using, {"content": [thought, use], "stop_reason": "tool_use"})
    _, result = call("toolu_1")
    body = asked(using, USER, reply.message, result)
    assert body["messages"][1]["content"] == [thought, use]
    assert body["thinking"]["type"] == "enabled"


@pytest.mark.parametrize("origin", ["deepseek", "openai"])
def test_a_call_without_its_thinking_turns_thinking_off_for_the_request(origin: str) -> None:
    using = claude(thinking_config=THINKING)
    asked_call, result = call("look:0")
    elsewhere = Message(Role.ASSISTANT, "", (asked_call,), reasoning_content="hm", profile=origin)
    body = asked(using, USER, elsewhere, result)
    assert body["thinking"] == {"type": "disabled"}
    assert [block["type"] for block in body["messages"][1]["content"]] == ["tool_use"]
    answered = asked(using, USER, elsewhere, result, Message(Role.ASSISTANT, "Rain."), USER)
    assert answered["thinking"]["type"] == "enabled"


def test_geminis_signature_comes_back_with_its_call_and_goes_to_nobody_else() -> None:
    signed: dict[str, Json] = {"google": {"thought_signature": "QUJD"}}
    message: Json = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{**LISTS, "id": "", "extra_content": signed}],  # type: ignore[dict-item]
        "extra_content": signed,
    }
    reply = read(chat("gemini"), answer_of(message))
    sent = messages_of(chat("gemini"), USER, reply.message)[1]
    assert (sent["extra_content"], sent["tool_calls"][0]["extra_content"]) == (signed, signed)
    assert "extra_content" not in json.dumps(messages_of(chat("openai"), USER, reply.message))


def test_an_error_that_comes_in_a_list_is_read() -> None:
    body = (
        b'[{"error":{"code":400,"message":"Function call is missing a thought_signature","status":"INVALID_ARGUMENT"}}]'
    )
    found = chat("gemini").refusal(400, {}, body)
    assert type(found) is BadRequest
    assert "missing a thought_signature" in found.sentence


def test_a_cap_that_was_reached_while_thinking_is_told_from_an_empty_answer() -> None:
    usage: Json = {
        "prompt_tokens": 40,
        "completion_tokens": 200,
        "total_tokens": 240,
        "completion_tokens_details": {"reasoning_tokens": 199},
    }
    message: Json = {"role": "assistant", "content": "", "reasoning_content": "Let me think"}
    reply = read(chat(), answer_of(message, "length", usage))
    assert (reply.finish, reply.message.content, reply.message.reasoning_content) == (
        Finish.LENGTH,
        "",
        "Let me think",
    )
    assert (reply.usage.completion, reply.usage.reasoning) == (200, 199)
    cut = read(claude(), {"content": [{"type": "thinking", "thinking": "Let"}], "stop_reason": "max_tokens"})
    assert (cut.finish, cut.message.content, cut.message.reasoning_content) == (Finish.LENGTH, "", "Let")


@pytest.mark.parametrize("origin", ["kimi", "groq", "anthropic"])
@pytest.mark.parametrize("profile", ["deepseek", "openai", "mistral"])
def test_to_another_provider_only_text_and_calls_go_over(origin: str, profile: str) -> None:
    asked_call, result = call("toolu_bdrk_01ADw53o3uvrGvccVaVYUX4G")
    extra: dict[str, Any] = {"reasoning_details": [1], "annotations": [], "blocks": []}
    message = Message(Role.ASSISTANT, "On it.", (asked_call,), "secret thought", "signature", extra, profile=origin)
    _, said, got = messages_of(chat(profile), USER, message, result)
    assert said.keys() - {"reasoning_content"} == {"role", "content", "tool_calls"}
    assert said.get("reasoning_content", "") == ""
    assert said["tool_calls"][0]["id"] == got["tool_call_id"]
    assert message.reasoning_content == "secret thought"
