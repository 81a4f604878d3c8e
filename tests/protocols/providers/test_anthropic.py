import json
from dataclasses import replace
from typing import Any

import pytest

from amrita_fleet.protocols.adapters import adapter_class
from amrita_fleet.protocols.errors import (
    AuthRefused,
    BadRequest,
    ContextOverflow,
    PresetInvalid,
    ProviderBusy,
    ProviderError,
    ProviderOverloaded,
    QuotaSpent,
)
from amrita_fleet.protocols.messages import Finish, Json, Message, Role, ToolResult
from amrita_fleet.protocols.presets import ContentMode, ModelConfig, ThinkingConfig
from amrita_fleet.protocols.providers.anthropic import Anthropic
from amrita_fleet.protocols.secret import Secret

from .wire_talk import LOOK, USER, asked, call, claude, messages_of, read

SYSTEM = Message(Role.SYSTEM, "Be brief.")
THINKING = ThinkingConfig(enabled=True)
MARK = {"type": "ephemeral"}
THOUGHT: dict[str, Json] = {"type": "thinking", "thinking": "hm", "signature": "s1"}
HIDDEN: dict[str, Json] = {"type": "redacted_thinking", "data": "d1"}
TEXT: dict[str, Json] = {"type": "text", "text": "On it."}
USE: dict[str, Json] = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "a"}}


def answer(*blocks: Json, reason: Json = "end_turn", **fields: Json) -> dict[str, Json]:
    usage: Json = {"input_tokens": 10, "output_tokens": 5}
    return {"type": "message", "id": "msg_1", "content": list(blocks), "stop_reason": reason, "usage": usage, **fields}


@pytest.mark.parametrize("name", ["anthropic", "claude"])
def test_it_speaks_both_names_of_its_protocol(name: str) -> None:
    assert adapter_class(name) is Anthropic
    assert Anthropic.path == "/messages"


class TestHeaders:
    def test_key_and_version_have_headers_of_their_own(self) -> None:
        assert claude(api_key=Secret("sk-1")).headers({}) == {
            "anthropic-version": "2023-06-01",
            "content-type": "application/json",
            "x-api-key": "sk-1",
        }

    def test_those_of_the_preset_win(self) -> None:
        headers = claude(extra_headers={"Anthropic-Version": "2", "anthropic-beta": "b"}).headers({})
        assert (headers["anthropic-version"], headers["anthropic-beta"]) == ("2", "b")


class TestBody:
    def test_instructions_stand_at_the_top_and_tools_have_an_input_schema(self) -> None:
        using = claude(config=ModelConfig(stream=True, temperature=0.5, top_p=0.9), extra_body={"top_k": 3})
        assert asked(using, SYSTEM, USER) == {
            "model": "claude-sonnet-4-5",
            "stream": True,
            "temperature": 0.5,
            "top_p": 0.9,
            "tools": [{"name": "look", "description": "Looks.", "input_schema": dict(LOOK.parameters)}],
            "top_k": 3,
            "system": [{"type": "text", "text": "Be brief."}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Go."}]}],
            "max_tokens": 4000,
        }

    def test_instructions_that_come_later_are_the_users_words(self) -> None:
        body = asked(claude(), SYSTEM, USER, replace(SYSTEM, content="Be briefer."))
        assert [block["text"] for block in body["messages"][0]["content"]] == ["Go.", "Be briefer."]
        assert [block["text"] for block in body["system"]] == ["Be brief."]

    @pytest.mark.parametrize("name", ["messages", "system", "max_tokens", "thinking", "tools"])
    def test_extra_body_cannot_take_over_a_field_of_ours(self, name: str) -> None:
        with pytest.raises(PresetInvalid, match=name):
            claude(extra_body={name: 2})

    def test_tools_that_were_called_are_named_even_where_none_is_offered(self) -> None:
        asked_call, result = call()
        turns = (USER, Message(Role.ASSISTANT, "", calls=(asked_call,)), result)
        body = asked(claude(extra_body={"tool_choice": {"type": "auto"}}), *turns, tools=())
        assert body["tools"] == [{"name": "look", "input_schema": {"type": "object"}}]
        assert body["tool_choice"] == {"type": "none"}
        assert "tool_choice" not in asked(claude(extra_body={"tool_choice": {"type": "auto"}}), USER, tools=())


class TestThinking:
    def asked(self, output: int, budget: int | None = None, model: str = "claude-sonnet-4-5", most: int = 8000) -> Any:  # noqa: ANN401
        config, thinking = ModelConfig(max_tokens=most), ThinkingConfig(enabled=True, budget_tokens=budget)
        body = asked(claude(model=model, config=config, thinking_config=thinking), USER, output=output)
        return body["thinking"]

    def test_it_has_the_budget_of_the_preset_or_half_of_the_cap(self) -> None:
        assert self.asked(8000, 3000) == {"type": "enabled", "budget_tokens": 3000}
        assert self.asked(8000) == {"type": "enabled", "budget_tokens": 4000}

    def test_a_smaller_grant_leaves_less_of_it_and_at_last_none(self) -> None:
        assert self.asked(2000, 3000) == {"type": "enabled", "budget_tokens": 1999}
        assert self.asked(1024, 3000) == {"type": "disabled"}

    @pytest.mark.parametrize("model", ["claude-opus-4-7", "claude-sonnet-4-6", "claude-opus-5"])
    def test_later_models_decide_for_themselves(self, model: str) -> None:
        assert self.asked(500, 3000, model) == {"type": "adaptive"}

    @pytest.mark.parametrize(
        "model", ["claude-3-7-sonnet-latest", "claude-opus-4-1", "claude-haiku-4-5-20251001", "kimi-k2", "simulated"]
    )
    def test_earlier_ones_and_others_are_given_a_budget(self, model: str) -> None:
        assert self.asked(8000, 3000, model)["type"] == "enabled"

    def test_a_budget_that_the_provider_would_refuse_is_a_preset_error(self) -> None:
        with pytest.raises(PresetInvalid, match="1024 tokens or more"):
            self.asked(8000, 100)
        with pytest.raises(PresetInvalid, match="below max_tokens"):
            self.asked(500, None, most=1000)
        with pytest.raises(PresetInvalid, match="temperature can only be 1"):
            claude(config=ModelConfig(temperature=0.2), thinking_config=THINKING)


class TestTurns:
    def test_results_and_notes_after_them_are_one_message_results_first(self) -> None:
        (first, one), (second, two) = call("a"), call("b")
        turns = (USER, Message(Role.ASSISTANT, "", calls=(first, second)), one, replace(two, content="ERROR: no"), USER)
        assert messages_of(claude(), *turns)[2] == {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "seen"},
                {"type": "tool_result", "tool_use_id": "b", "content": "ERROR: no", "is_error": True},
                {"type": "text", "text": "Go."},
            ],
        }

    def test_nothing_empty_is_sent(self) -> None:
        asked_call, result = call()
        answers = Message(Role.ASSISTANT, "\n", calls=(asked_call,))
        turns = (replace(USER, content=" "), USER, Message(Role.ASSISTANT, ""), answers, replace(result, content=""))
        assert messages_of(claude(), *turns) == [
            {"role": "user", "content": [{"type": "text", "text": "Go."}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1"}]},
        ]

    @pytest.mark.parametrize("arguments", ["", "[1]", '{"a":', "{}{}"])
    def test_arguments_that_are_no_object_are_mended_in_the_copy_only(self, arguments: str) -> None:
        asked_call, _ = call(arguments=arguments)
        said = messages_of(claude(), USER, Message(Role.ASSISTANT, "", calls=(asked_call,)))[1]
        assert said["content"][0]["input"] == {}
        assert asked_call.arguments == arguments

    def test_a_lone_surrogate_does_not_break_the_request(self) -> None:
        assert messages_of(claude(), replace(USER, content="a\ud83d"))[0]["content"][0]["text"] == "a?"


class TestReply:
    @pytest.mark.parametrize(
        "blocks",
        [
            pytest.param([TEXT, USE], id="plain"),
            pytest.param([THOUGHT, TEXT, USE], id="thinking"),
            pytest.param([HIDDEN, TEXT, USE], id="redacted"),
            pytest.param([HIDDEN, THOUGHT, USE, TEXT, THOUGHT, {**USE, "id": "toolu_2"}], id="interleaved"),
            pytest.param([{**TEXT, "citations": [{"type": "char_location"}]}], id="citations"),
            pytest.param([{"type": "server_tool_use", "id": "s", "name": "web", "input": {"q": 1}}, TEXT], id="server"),
            pytest.param([{**USE, "caller": {"type": "direct"}}], id="field of a call"),
        ],
    )
    def test_what_came_is_what_goes_back(self, blocks: list[Json]) -> None:
        using = claude(thinking_config=THINKING)
        reply = read(using, answer(*blocks))
        assert messages_of(using, USER, reply.message)[1] == {"role": "assistant", "content": blocks}

    def test_it_is_read_into_text_thinking_and_calls(self) -> None:
        reply = read(claude(), answer(HIDDEN, THOUGHT, TEXT, USE, reason="tool_use"), **{"request-id": "req_1"})
        message = reply.message
        assert (message.content, message.reasoning_content, message.reasoning_signature) == ("On it.", "hm", "s1")
        assert [(each.id, each.name, each.arguments) for each in message.calls] == [("toolu_1", "look", '{"at":"a"}')]
        assert (message.profile, reply.finish, reply.request_id) == ("anthropic", Finish.CALLS, "req_1")
        assert (reply.usage.prompt, reply.usage.completion, reply.usage.estimated) == (10, 5, False)
        assert reply.usage.raw == {"input_tokens": 10, "output_tokens": 5}

    def test_text_and_calls_alone_are_kept_once(self) -> None:
        assert read(claude(), answer(THOUGHT, TEXT, USE)).message.extra == {}

    def test_blank_text_between_blocks_and_thinking_at_the_end_stay_at_home(self) -> None:
        using = claude(thinking_config=THINKING)
        reply = read(using, answer(THOUGHT, {"type": "text", "text": "\n"}, USE, THOUGHT, reason="max_tokens"))
        assert messages_of(using, USER, reply.message)[1]["content"] == [THOUGHT, USE]
        assert reply.message.extra["blocks"]

    def test_the_thinking_filter_works_on_copies(self) -> None:
        by_tool = claude(thinking_config=ThinkingConfig(enabled=True, content_mode=ContentMode.BY_TOOL))
        never = claude(thinking_config=ThinkingConfig(content_mode=ContentMode.NEVER))
        said, acted = read(by_tool, answer(THOUGHT, TEXT)).message, read(by_tool, answer(THOUGHT, HIDDEN, USE)).message
        before = json.dumps([dict(said.extra), dict(acted.extra)])
        assert messages_of(by_tool, USER, said)[1]["content"] == [TEXT]
        assert messages_of(by_tool, USER, acted)[1]["content"] == [THOUGHT, HIDDEN, USE]
        assert messages_of(never, USER, acted)[1]["content"] == [USE]
        assert json.dumps([dict(said.extra), dict(acted.extra)]) == before
        assert said.reasoning_content == "hm"

    def test_ids_are_unique_in_their_message_and_go_back_so(self) -> None:
        using = claude()
        message = read(using, answer(USE, {**USE, "caller": "x"}, {**USE, "id": ""})).message
        results = [ToolResult(each.id, each.name, "x") for each in message.calls]
        _, said, got = messages_of(using, USER, message, *results)
        ids = [block["id"] for block in said["content"]]
        assert len(set(ids)) == len(ids)
        assert [block["tool_use_id"] for block in got["content"]] == ids

    @pytest.mark.parametrize(
        ("reason", "finish"),
        [
            ("end_turn", Finish.STOP),
            ("stop_sequence", Finish.STOP),
            ("pause_turn", Finish.STOP),
            (None, Finish.STOP),
            ("max_tokens", Finish.LENGTH),
            ("model_context_window_exceeded", Finish.LENGTH),
            ("refusal", Finish.FILTER),
        ],
    )
    def test_the_reason_to_stop_is_understood(self, reason: Json, finish: Finish) -> None:
        assert read(claude(), answer(TEXT, reason=reason)).finish is finish

    def test_calls_decide_unless_the_answer_was_cut(self) -> None:
        assert read(claude(), answer(USE, reason="end_turn")).finish is Finish.CALLS
        assert read(claude(), answer(USE, reason="max_tokens")).finish is Finish.LENGTH

    def test_why_a_provider_refused_is_kept_and_never_goes_back(self) -> None:
        reply = read(claude(), answer(reason="refusal", stop_details={"explanation": "No."}))
        assert (reply.finish, reply.message.content) == (Finish.FILTER, "")
        assert reply.message.extra["stop_details"] == {"explanation": "No."}
        assert len(messages_of(claude(), USER, reply.message)) == 1

    @pytest.mark.parametrize("body", [{}, [], {"content": None}, {"content": "text"}])
    def test_what_is_no_answer_is_an_error_and_may_be_billed(self, body: Json) -> None:
        with pytest.raises(BadRequest, match="has no content") as caught:
            read(claude(), body, **{"request-id": "req_9"})
        assert (caught.value.request_id, caught.value.billed) == ("req_9", True)


class TestCache:
    CACHED = ModelConfig(prompt_cache=True)

    def test_tools_instructions_and_the_last_block_are_marked(self) -> None:
        body = asked(claude(config=self.CACHED), SYSTEM, USER, USER)
        assert body["tools"][-1]["cache_control"] == MARK
        assert body["system"][-1]["cache_control"] == MARK
        assert [block.get("cache_control") for block in body["messages"][0]["content"]] == [None, MARK]

    def test_the_mark_moves_on(self) -> None:
        asked_call, result = call()
        turns = (SYSTEM, USER, Message(Role.ASSISTANT, "", calls=(asked_call,)), result)
        first, said, last = asked(claude(config=self.CACHED), *turns)["messages"]
        assert "cache_control" not in json.dumps([first, said])
        assert last["content"][-1]["cache_control"] == MARK

    def test_nothing_is_marked_unless_it_is_wanted(self) -> None:
        assert "cache_control" not in json.dumps(asked(claude(), SYSTEM, USER))


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (400, {"type": "invalid_request_error", "message": "max_tokens: must be > 0"}, BadRequest),
        (
            400,
            {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8 maximum"},
            ContextOverflow,
        ),
        (400, {"type": "invalid_request_error", "message": "Your credit balance is too low to go on."}, QuotaSpent),
        (401, {"type": "authentication_error", "message": "invalid x-api-key"}, AuthRefused),
        (403, {"type": "permission_error", "message": "not for you"}, AuthRefused),
        (404, {"type": "not_found_error", "message": "model: x"}, BadRequest),
        (413, {"type": "request_too_large", "message": "Request exceeds the maximum size"}, ContextOverflow),
        (429, {"type": "rate_limit_error", "message": "slow down"}, ProviderBusy),
        (500, {"type": "api_error", "message": "oops"}, ProviderOverloaded),
        (529, {"type": "overloaded_error", "message": "Overloaded"}, ProviderOverloaded),
    ],
)
def test_a_refusal_is_the_error_it_means(status: int, error: Json, kind: type[ProviderError]) -> None:
    body = json.dumps({"type": "error", "error": error, "request_id": "req_011"}).encode()
    found = claude().refusal(status, {}, body)
    assert type(found) is kind
    assert (found.status, found.request_id) == (status, "req_011")
