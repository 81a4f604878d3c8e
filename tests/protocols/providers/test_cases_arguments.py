"""Arguments of calls: faults that users of other programs reported, by their number in the collection."""

import json

import pytest

from amrita_fleet.protocols.messages import Finish, Json, ToolResult
from amrita_fleet.protocols.providers.base import ToolSchema

from .wire_talk import USER, answer_of, asked, chat, claude, hear, messages_of, read, sse

pytestmark = pytest.mark.slow

ABSENT = object()


def function(arguments: object) -> Json:
    fields: dict[str, Json] = {"name": "health"}
    if arguments is not ABSENT:
        fields["arguments"] = arguments  # type: ignore[assignment]
    return {"index": 0, "id": "c1", "type": "function", "function": fields}


def streamed(*pieces: Json, reason: Json = "tool_calls") -> str:
    deltas = [{"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]} for piece in pieces]
    return sse(*deltas, {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})


@pytest.mark.parametrize("arguments", ["", " ", None, "null", ABSENT], ids=["empty", "blank", "none", "null", "absent"])
def test_23_no_arguments_in_any_form_are_an_empty_object_streamed_or_not(arguments: object) -> None:
    whole = read(chat(), answer_of({"content": None, "tool_calls": [function(arguments)]}, "tool_calls"))
    pieces = hear(chat(), streamed(function(arguments)))
    for reply in (whole, pieces):
        assert [(each.name, each.arguments) for each in reply.message.calls] == [("health", "{}")]
        assert reply.finish is Finish.CALLS


def test_24_an_empty_text_never_goes_back() -> None:
    message = hear(chat(), streamed(function(""))).message
    sent = messages_of(chat(), USER, message, ToolResult("c1", "health", "ok"))
    assert sent[1]["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.parametrize(
    ("arguments", "read_as"),
    [
        ('"foo"', '"foo"'),
        ("[1,2]", "[1,2]"),
        ("5", "5"),
        ({"q": "x"}, '{"q":"x"}'),
        ('{"q":"x"}{"q":"y"}', '{"q":"x"}{"q":"y"}'),
    ],
)
def test_25_arguments_that_are_no_object_spoil_their_own_call_only(arguments: Json, read_as: str) -> None:
    other: Json = {"id": "c2", "type": "function", "function": {"name": "look", "arguments": '{"a":1}'}}
    reply = read(chat(), answer_of({"content": None, "tool_calls": [function(arguments), other]}))
    assert [each.arguments for each in reply.message.calls] == [read_as, '{"a":1}']
    assert reply.finish is Finish.CALLS
    sent = messages_of(chat(), USER, reply.message)[1]["tool_calls"]
    assert all(isinstance(json.loads(each["function"]["arguments"]), dict) for each in sent)


CUT = '{"path":"a.txt","body":"line one\\nline tw'


@pytest.mark.parametrize(("arguments", "reason"), [(CUT, "tool_calls"), (CUT, "stop"), ('{"path":"a.txt"}', "length")])
def test_27_a_call_that_was_cut_is_not_to_be_run_whatever_the_reason_says(arguments: str, reason: str) -> None:
    whole = read(chat(), answer_of({"content": None, "tool_calls": [function(arguments)]}, reason))
    assert whole.finish is Finish.LENGTH
    assert hear(chat(), streamed(function(arguments), reason=reason)).finish is Finish.LENGTH


def test_27_nor_is_one_on_anthropics_wire() -> None:
    use: Json = {"type": "tool_use", "id": "t", "name": "look", "input": {"path": "a.txt"}}
    assert read(claude(), {"content": [use], "stop_reason": "max_tokens"}).finish is Finish.LENGTH


def test_76_no_tool_is_said_to_be_strict_since_defaults_are_optional() -> None:
    parameters: dict[str, Json] = {
        "type": "object",
        "properties": {"q": {"type": "string"}, "limit": {"type": "integer"}},
    }
    tools = (ToolSchema("search", "Searches.", {**parameters, "required": ["q"]}),)
    for adapter in (chat(), claude()):
        assert "strict" not in json.dumps(asked(adapter, USER, tools=tools))
