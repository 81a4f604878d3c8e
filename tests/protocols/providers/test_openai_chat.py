import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.errors import BadRequest, ContentRefused, PresetInvalid, ProviderError, StreamBroken
from amrita_fleet.protocols.messages import Finish, Json, Message, Reply, Role, ToolCall, ToolResult, Turn
from amrita_fleet.protocols.presets import ContentMode, ModelConfig, ModelPreset, ThinkingConfig
from amrita_fleet.protocols.providers.base import Draft, ToolSchema
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat
from amrita_fleet.protocols.secret import Secret

PRESET = ModelPreset(model="m", base_url="http://127.0.0.1/v1")
TOOL = ToolSchema("f", "Does it.", {"type": "object", "properties": {}})
ASKED = Message(Role.USER, "hé")


def preset(**fields: Any) -> ModelPreset:  # noqa: ANN401
    return replace(PRESET, **fields)


def body(*turns: Turn, tools: tuple[ToolSchema, ...] = (), using: ModelPreset = PRESET) -> dict[str, Any]:
    return json.loads(OpenAIChat(using).draft(turns, tools, None).body(99))  # type: ignore[no-any-return]


def written(turn: Turn, using: ModelPreset = PRESET) -> dict[str, Any]:
    return body(turn, using=using)["messages"][0]  # type: ignore[no-any-return]


def answer(message: Json, *, reason: Json = "stop", usage: Json = None) -> bytes:
    return json.dumps({"choices": [{"message": message, "finish_reason": reason}], "usage": usage}).encode()


def called(*calls: Json, content: Json = None) -> Json:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def one_call(arguments: Json, identifier: Json = "c1", name: str = "f") -> Json:
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}}


class TestHeaders:
    def test_the_key_is_the_bearer(self) -> None:
        headers = OpenAIChat(preset(api_key=Secret("sk-1\n"))).headers({})
        assert headers == {"content-type": "application/json", "authorization": "Bearer sk-1"}

    def test_a_key_may_be_read_from_the_environment_given(self) -> None:
        using = preset(api_key=Secret.from_env("KEY"))
        assert OpenAIChat(using).headers({"KEY": "sk-2"})["authorization"] == "Bearer sk-2"

    @pytest.mark.parametrize("key", ["", "-"])
    def test_without_a_key_none_is_sent(self, key: str) -> None:
        assert "authorization" not in OpenAIChat(preset(api_key=Secret(key))).headers({})

    @pytest.mark.parametrize("key", ["sk-1\nx: y", "sk-é"])
    def test_a_key_that_no_header_can_hold_is_refused_without_being_shown(self, key: str) -> None:
        with pytest.raises(PresetInvalid) as caught:
            OpenAIChat(preset(api_key=Secret(key))).headers({})
        assert "sk-" not in str(caught.value)

    def test_extra_headers_win(self) -> None:
        using = preset(api_key=Secret("sk-1"), extra_headers={"Authorization": "other", "api-key": "x"})
        headers = OpenAIChat(using).headers({})
        assert (headers["authorization"], headers["api-key"]) == ("other", "x")


class TestBody:
    def test_a_plain_request_says_model_messages_and_cap(self) -> None:
        assert body(ASKED) == {"model": "m", "messages": [{"role": "user", "content": "hé"}], "max_tokens": 99}

    def test_it_is_compact_and_keeps_its_letters(self) -> None:
        draft = OpenAIChat(PRESET).draft((ASKED,), (), None)
        assert draft.body(9) == '{"model":"m","messages":[{"role":"user","content":"hé"}],"max_tokens":9}'.encode()

    def test_tools_sampling_streaming_and_thinking_are_written_when_they_are_set(self) -> None:
        using = preset(
            config=ModelConfig(stream=True, temperature=0.5, top_p=0.9),
            thinking_config=ThinkingConfig(enabled=True, budget_tokens=100),
            extra_body={"seed": 7},
        )
        fields = body(ASKED, tools=(TOOL,), using=using)
        assert fields["stream"] is True
        assert fields["stream_options"] == {"include_usage": True}
        assert (fields["temperature"], fields["top_p"], fields["seed"]) == (0.5, 0.9, 7)
        assert fields["thinking"] == {"type": "enabled", "budget_tokens": 100}
        assert fields["tools"] == [
            {
                "type": "function",
                "function": {
                    "name": "f",
                    "description": "Does it.",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ]

    def test_the_cap_has_the_name_the_provider_knows(self) -> None:
        using = preset(base_url="https://api.openai.com/v1")
        assert body(ASKED, using=using)["max_completion_tokens"] == 99

    @pytest.mark.parametrize("name", ["messages", "max_tokens", "max_completion_tokens", "n", "stream", "model"])
    def test_extra_body_cannot_take_over_a_field_of_ours(self, name: str) -> None:
        with pytest.raises(PresetInvalid, match=name):
            OpenAIChat(preset(extra_body={name: 2}))

    def test_reasoning_that_must_go_back_cannot_be_switched_off(self) -> None:
        never = ThinkingConfig(content_mode=ContentMode.NEVER)
        with pytest.raises(PresetInvalid, match="deepseek"):
            OpenAIChat(preset(model="deepseek-chat", thinking_config=never))

    def test_a_lone_surrogate_does_not_break_the_request(self) -> None:
        assert written(ToolResult("c", "f", "a\ud83d"))["content"] == "a?"


class TestTurns:
    def test_a_tool_output_names_its_call(self) -> None:
        assert written(ToolResult("c1", "f", "out")) == {"role": "tool", "tool_call_id": "c1", "content": "out"}

    def test_calls_go_back_as_they_came(self) -> None:
        call = ToolCall("c1", "f", '{ "a" : 1 }', {"extra_content": {"google": {"thought_signature": "QUJD"}}})
        message = Message(Role.ASSISTANT, "", calls=(call,))
        assert written(message) == {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "f", "arguments": '{ "a" : 1 }'},
                    "extra_content": {"google": {"thought_signature": "QUJD"}},
                }
            ],
        }

    @pytest.mark.parametrize("arguments", ["", "[1]", '"x"', '{"a":', "{}{}", '{"a":NaN}'])
    def test_arguments_that_are_no_object_are_mended_in_the_copy_only(self, arguments: str) -> None:
        call = ToolCall("c1", "f", arguments)
        sent = written(Message(Role.ASSISTANT, "x", calls=(call,)))
        assert sent["tool_calls"][0]["function"]["arguments"] == "{}"
        assert call.arguments == arguments

    @pytest.mark.parametrize("reasoning", ["I need\n the list. ", ""], ids=["text", "empty"])
    def test_reasoning_goes_back_verbatim(self, reasoning: str) -> None:
        assert written(Message(Role.ASSISTANT, "x", reasoning_content=reasoning))["reasoning_content"] == reasoning

    def test_a_message_without_reasoning_has_no_field_for_it(self) -> None:
        assert written(Message(Role.ASSISTANT, "x")) == {"role": "assistant", "content": "x"}

    def test_where_reasoning_is_due_its_absence_is_said(self) -> None:
        message = Message(Role.ASSISTANT, "x")
        assert written(message, preset(model="deepseek-chat"))["reasoning_content"] == ""
        assert written(message, preset(thinking_config=ThinkingConfig(enabled=True)))["reasoning_content"] == ""

    def test_signature_and_extras_go_back_verbatim(self) -> None:
        message = Message(Role.ASSISTANT, "x", reasoning_signature="s", extra={"annotations": [], "a": {"b": 1}})
        sent = written(message)
        assert (sent["reasoning_signature"], sent["annotations"], sent["a"]) == ("s", [], {"b": 1})

    @pytest.mark.parametrize(
        ("mode", "plain", "calling"),
        [("never", False, False), ("by-tool", False, True), ("optional", True, True)],
    )
    def test_the_thinking_filter_works_on_copies(self, mode: str, plain: bool, calling: bool) -> None:
        using = preset(thinking_config=ThinkingConfig(content_mode=ContentMode(mode)))
        thought = Message(Role.ASSISTANT, "x", reasoning_content="t", extra={"reasoning_details": [1], "other": 1})
        acted = replace(thought, calls=(ToolCall("c", "f", "{}"),))
        for message, kept in ((thought, plain), (acted, calling)):
            sent = written(message, using)
            assert ("reasoning_content" in sent, "reasoning_details" in sent) == (kept, kept)
            assert sent["other"] == 1
        assert thought.reasoning_content == "t"


class TestReuse:
    def test_fragments_of_turns_that_were_written_before_are_used_again(self, adapter: OpenAIChat) -> None:
        before = adapter.draft((ASKED,), (TOOL,), None)
        after = adapter.draft((ASKED, ToolResult("c", "f", "x")), (TOOL,), before)
        assert after.fragments[0] is before.fragments[0]
        assert after.head is before.head

    TURNS = st.lists(
        st.one_of(
            st.builds(Message, st.sampled_from(Role), st.sampled_from(["a", "b", ""])),
            st.builds(ToolResult, st.just("c"), st.just("f"), st.sampled_from(["a", "b"])),
        ),
        max_size=5,
    ).map(tuple)
    TOOLS = st.sampled_from([(), (TOOL,), (TOOL, replace(TOOL, name="g"))])

    @given(TURNS, TOOLS, TURNS, TOOLS)
    def test_a_draft_never_depends_on_the_one_before(
        self,
        first: tuple[Turn, ...],
        first_tools: tuple[ToolSchema, ...],
        turns: tuple[Turn, ...],
        tools: tuple[ToolSchema, ...],
    ) -> None:
        adapter = OpenAIChat(PRESET)
        before = adapter.draft(first, first_tools, None)
        for given_turns in (turns, first + turns, first):
            assert adapter.draft(given_turns, tools, before) == adapter.draft(given_turns, tools, None)


class TestReply:
    def read(self, raw: bytes, draft: Draft, **headers: str) -> Reply:
        return OpenAIChat(PRESET).reply(headers, raw, draft)

    def test_a_whole_answer_is_read(self, draft: Draft) -> None:
        usage: Json = {"prompt_tokens": 10, "completion_tokens": 3}
        message: Json = {"role": "assistant", "content": "yes", "reasoning_content": "hm", "annotations": [], "x": None}
        reply = self.read(answer(message, usage=usage), draft, **{"x-ds-trace-id": "d1"})
        assert reply.message == Message(
            Role.ASSISTANT, "yes", reasoning_content="hm", extra={"annotations": []}, profile="unknown"
        )
        assert (reply.usage.prompt, reply.usage.completion, reply.usage.estimated) == (10, 3, False)
        assert (reply.finish, reply.request_id) == (Finish.STOP, "d1")

    def test_what_came_is_what_goes_back(self, draft: Draft) -> None:
        message: dict[str, Json] = {
            "role": "assistant",
            "content": "a",
            "reasoning": "r",
            "reasoning_details": [{"type": "reasoning.text", "text": "r", "signature": "s"}],
            "tool_calls": [{**one_call('{"a": 1}'), "extra_content": {"k": 1}}],  # type: ignore[dict-item]
        }
        reply = self.read(answer(message), draft)
        assert reply.message.reasoning_content == "r"
        assert written(reply.message) == message

    def test_reasoning_under_two_names_is_taken_once(self, draft: Draft) -> None:
        reply = self.read(answer({"content": "a", "reasoning": "r", "reasoning_content": "r"}), draft)
        assert written(reply.message) == {"role": "assistant", "content": "a", "reasoning_content": "r"}

    def test_content_in_parts_is_text_and_reasoning_and_goes_back_in_parts(self, draft: Draft) -> None:
        parts: Json = [
            {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
            {"type": "text", "text": "144"},
        ]
        reply = self.read(answer({"content": parts}), draft)
        assert (reply.message.content, reply.message.reasoning_content) == ("144", "hm")
        assert written(reply.message) == {"role": "assistant", "content": parts}

    def test_a_refusal_in_words_is_what_the_model_says(self, draft: Draft) -> None:
        assert self.read(answer({"content": None, "refusal": "I will not."}), draft).message.content == "I will not."

    @pytest.mark.parametrize(
        ("arguments", "read"),
        [
            (None, "{}"),
            ("", "{}"),
            (" ", "{}"),
            ("null", "{}"),
            ({"q": "x"}, '{"q":"x"}'),
            ('"foo"', '"foo"'),
            ('{"q":1}{"q":2}', '{"q":1}{"q":2}'),
        ],
    )
    def test_arguments_of_any_form_become_text(self, draft: Draft, arguments: Json, read: str) -> None:
        (call,) = self.read(answer(called(one_call(arguments))), draft).message.calls
        assert call.arguments == read

    def test_ids_are_unique_in_their_message(self, draft: Draft) -> None:
        calls = [one_call("{}", identifier) for identifier in ("a", "a", "", None, "call_1_1", 7)]
        ids = [call.id for call in self.read(answer(called(*calls)), draft).message.calls]
        assert len(set(ids)) == len(ids)
        assert (ids[0], ids[4], ids[5]) == ("a", "call_1_1", "7")
        assert all(ids)

    @pytest.mark.parametrize("reason", ["stop", "", "eos", "other", None, "tool_calls"])
    def test_calls_decide_and_not_the_finish_reason(self, draft: Draft, reason: Json) -> None:
        assert self.read(answer(called(one_call("{}")), reason=reason), draft).finish is Finish.CALLS
        assert self.read(answer({"content": "x"}, reason=reason), draft).finish is Finish.STOP

    def test_but_what_was_cut_or_filtered_is_not_to_be_run(self, draft: Draft) -> None:
        assert self.read(answer(called(one_call("{}")), reason="length"), draft).finish is Finish.LENGTH
        assert self.read(answer(called(one_call("{}")), reason="content_filter"), draft).finish is Finish.FILTER

    @pytest.mark.parametrize("arguments", ['{"path":"a.txt","body":"line one\\nline tw', '{"a":', '{"a":1', '{"a":[1,'])
    def test_arguments_that_end_in_the_middle_mean_that_the_answer_was_cut(self, draft: Draft, arguments: str) -> None:
        reply = self.read(answer(called(one_call(arguments)), reason="tool_calls"), draft)
        assert reply.finish is Finish.LENGTH

    @pytest.mark.parametrize("arguments", ["[1]", '{"a":NaN}', '{"a":1}}', "{'a':1}"])
    def test_arguments_that_are_merely_wrong_do_not(self, draft: Draft, arguments: str) -> None:
        reply = self.read(answer(called(one_call(arguments)), reason="tool_calls"), draft)
        assert reply.finish is Finish.CALLS

    def test_an_empty_answer_is_a_reply(self, draft: Draft) -> None:
        reply = self.read(answer({"content": None}), draft)
        assert (reply.message.content, reply.message.calls, reply.finish) == ("", (), Finish.STOP)

    def test_usage_that_is_missing_is_estimated(self, draft: Draft) -> None:
        usage = self.read(answer({"content": "x" * 30}), draft).usage
        assert usage.estimated
        assert usage.completion > 10
        assert usage.prompt > len(draft.body(1)) // 4

    def test_a_lone_surrogate_does_not_reach_the_transcript(self, draft: Draft) -> None:
        raw = rb'{"choices":[{"message":{"content":"a\ud83d","x":["\ude00"]}}]}'
        message = self.read(raw, draft).message
        assert (message.content, message.extra) == ("a\ufffd", {"x": ["\ufffd"]})

    @pytest.mark.parametrize(
        ("raw", "kind"),
        [
            pytest.param(b"method=POST pathname=/x", BadRequest, id="no JSON"),
            pytest.param(b"", BadRequest, id="nothing"),
            pytest.param(b"[]", BadRequest, id="no object"),
            pytest.param(b'{"choices":[]}', BadRequest, id="no choices"),
            pytest.param(b'{"choices":null}', BadRequest, id="choices null"),
            pytest.param(b'{"error":{"code":"content_filter","message":"x"}}', ContentRefused, id="error object"),
            pytest.param(b'{"object":"error","message":"x","code":400}', BadRequest, id="error without a wrapper"),
            pytest.param(answer({"content": "x"}, reason="error"), StreamBroken, id="given up"),
        ],
    )
    def test_what_is_no_answer_is_an_error_and_may_be_billed(
        self, draft: Draft, raw: bytes, kind: type[ProviderError]
    ) -> None:
        with pytest.raises(kind) as caught:
            self.read(raw, draft, **{"x-request-id": "r9"})
        assert caught.value.request_id == "r9"
        assert caught.value.billed

    @pytest.mark.parametrize(
        ("headers", "told"),
        [
            ({"x-ds-trace-id": "d", "eo-log-uuid": "e", "x-request-id": "x"}, "x"),
            ({"eo-log-uuid": "e", "x-ds-trace-id": "d"}, "d"),
            ({"eo-log-uuid": "e"}, "e"),
            ({}, "body"),
        ],
    )
    def test_the_request_id_is_looked_for_in_order(self, draft: Draft, headers: dict[str, str], told: str) -> None:
        raw = b'{"id":"body","choices":[{"message":{"content":"x"}}]}'
        assert self.read(raw, draft, **headers).request_id == told

    JSON = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=6,
    )
    MESSAGE = st.dictionaries(
        st.sampled_from(["content", "reasoning", "reasoning_content", "refusal", "tool_calls", "x", "role"]), JSON
    )

    @given(MESSAGE, JSON, JSON)
    def test_no_message_however_odd_breaks_the_reader_or_the_next_request(
        self, message: Json, reason: Json, usage: Json
    ) -> None:
        draft = OpenAIChat(PRESET).draft((ASKED,), (), None)
        try:
            reply = self.read(answer(message, reason=reason, usage=usage), draft)
        except ProviderError:
            return
        assert reply.usage.prompt > 0
        assert written(reply.message)["role"] == "assistant"
