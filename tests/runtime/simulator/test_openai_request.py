"""The shape of a chat-completions request, judged as OpenAI judges it."""

from typing import Any

import pytest

from amrita_fleet.runtime.simulator.conversation import Call, Said
from amrita_fleet.runtime.simulator.errors import Refused
from amrita_fleet.runtime.simulator.openai_request import read_request
from amrita_fleet.runtime.simulator.openai_words import OPENAI
from amrita_fleet.runtime.simulator.shape import read_json

pytestmark = pytest.mark.slow

Json = dict[str, Any]
USER: Json = {"role": "user", "content": "Hello."}
NOTHING: list[Json] = []
NO_FIELDS: Json = {}
TOOL: Json = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


def body(**fields: object) -> Json:
    return {"model": "m", "messages": [USER], **fields}


def calling(call: Json) -> Json:
    return body(messages=[USER, {"role": "assistant", "tool_calls": [call]}])


def call(**fields: object) -> Json:
    return {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}, **fields}


def tool(**function: object) -> Json:
    return body(tools=[{"type": "function", "function": {"name": "look", **function}}])


REFUSALS = [
    pytest.param([], None, "invalid_type", id="no object"),
    pytest.param({"messages": [USER]}, "model", "missing_required_parameter", id="no model"),
    pytest.param({"model": "m"}, "messages", "missing_required_parameter", id="no messages"),
    pytest.param(body(messages=[]), "messages", "empty_array", id="empty messages"),
    pytest.param(body(messages="hello"), "messages", "invalid_type", id="messages as text"),
    pytest.param(body(colour="red"), "colour", "unknown_parameter", id="unknown field"),
    pytest.param(body(messages=[{"content": "x"}]), "messages[0].role", "missing_required_parameter", id="no role"),
    pytest.param(body(messages=[{**USER, "role": "boss"}]), "messages[0].role", "invalid_value", id="unknown role"),
    pytest.param(body(messages=[{**USER, "mood": 1}]), "messages[0].mood", "unknown_parameter", id="message field"),
    pytest.param(body(messages=[{"role": "user"}]), "messages[0].content", None, id="no content"),
    pytest.param(
        body(messages=[{"role": "assistant", "content": None}]), "messages[0].content", None, id="null content"
    ),
    pytest.param(body(messages=[{**USER, "content": 5}]), "messages[0].content", "invalid_type", id="content a number"),
    pytest.param(
        body(messages=[{**USER, "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]),
        "messages[0].content[0].type",
        None,
        id="image",
    ),
    pytest.param(
        body(messages=[USER, {"role": "assistant", "content": "x", "tool_calls": NOTHING}]),
        "messages[1].tool_calls",
        "empty_array",
        id="empty calls",
    ),
    pytest.param(
        body(messages=[USER, {"role": "tool", "content": "x"}]),
        "messages[1].tool_call_id",
        "missing_required_parameter",
        id="output without id",
    ),
    pytest.param(calling(call(id="")), "messages[1].tool_calls[0].id", "empty_string", id="empty call id"),
    pytest.param(
        calling(call(id="x" * 41)), "messages[1].tool_calls[0].id", "string_above_max_length", id="long call id"
    ),
    pytest.param(
        body(messages=[{"role": "user", "content": [{"type": "text", "text": ""}]}]),
        "messages[0].content[0].text",
        "empty_string",
        id="empty text part",
    ),
    pytest.param(
        body(model="m-thinking", tools=[TOOL], tool_choice="required"), "tool_choice", None, id="forced while thinking"
    ),
    pytest.param(calling(call(index=0)), "messages[1].tool_calls[0].index", "unknown_parameter", id="call field"),
    pytest.param(calling(call(type="f")), "messages[1].tool_calls[0].type", "invalid_value", id="call type"),
    pytest.param(
        body(messages=[USER, {"role": "assistant", "tool_calls": [call(), call()]}]),
        "messages[1].tool_calls[1].id",
        None,
        id="same id twice in one answer",
    ),
    *(
        pytest.param(
            calling(call(function={"name": "look", "arguments": arguments})),
            "messages[1].tool_calls[0].function.arguments",
            code,
            id=f"arguments {arguments!r}",
        )
        for arguments, code in [
            ("", "invalid_value"),
            ("[1]", "invalid_value"),
            ('{"a": ', "invalid_value"),
            (NO_FIELDS, "invalid_type"),
        ]
    ),
    pytest.param(body(tools=[]), "tools", "empty_array", id="empty tools"),
    pytest.param(tool(name="look at"), "tools[0].function.name", "invalid_value", id="tool name"),
    pytest.param(tool(colour=1), "tools[0].function.colour", "unknown_parameter", id="tool field"),
    pytest.param(tool(parameters={}), "tools[0].function.parameters", "invalid_function_parameters", id="schema"),
    pytest.param(body(tool_choice="none"), "tool_choice", None, id="choice without tools"),
    pytest.param(body(parallel_tool_calls=True), "parallel_tool_calls", None, id="parallel without tools"),
    pytest.param(body(tools=[TOOL], tool_choice="maybe"), "tool_choice", "invalid_value", id="unknown choice"),
    pytest.param(
        body(tools=[TOOL], tool_choice={"type": "function", "function": {"name": "other"}}),
        "tool_choice",
        None,
        id="forced tool that is not offered",
    ),
    pytest.param(body(stream_options={}), "stream_options", None, id="stream options without stream"),
    pytest.param(body(stream="yes"), "stream", "invalid_type", id="stream as text"),
    pytest.param(body(max_tokens=0), "max_tokens", "integer_below_min_value", id="cap of nothing"),
    pytest.param(body(max_tokens=True), "max_tokens", "invalid_type", id="cap a boolean"),
    pytest.param(
        body(max_tokens=1, max_completion_tokens=1), "max_tokens", "invalid_parameter_combination", id="two caps"
    ),
    pytest.param(body(temperature=3), "temperature", "decimal_out_of_range", id="too hot"),
    pytest.param(body(n=2), "n", "unsupported_value", id="two choices"),
]


@pytest.mark.parametrize(("asked", "param", "code"), REFUSALS)
def test_a_request_that_breaks_a_rule_is_refused_with_the_path(
    asked: object, param: str | None, code: str | None
) -> None:
    with pytest.raises(Refused) as caught:
        read_request(asked)
    assert (caught.value.status, caught.value.kind) == (400, "invalid_request_error")
    assert (caught.value.param, caught.value.code) == (param, code)
    assert caught.value.message


def test_a_refusal_speaks_as_openai_does() -> None:
    with pytest.raises(Refused, match=r"^Missing required parameter: 'messages\[0\]\.role'\.$"):
        read_request(body(messages=[{"content": "x"}]))
    with pytest.raises(Refused, match=r"^Unknown parameter: 'colour'\.$"):
        read_request(body(colour="red"))
    with pytest.raises(
        Refused, match=r"^Invalid type for 'messages\[0\]\.content': expected a string, but got an integer"
    ):
        read_request(body(messages=[{"role": "user", "content": 5}]))


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff"], ids=["empty", "cut", "not UTF-8"])
def test_a_body_that_is_no_json_is_refused(raw: bytes) -> None:
    with pytest.raises(Refused, match="could not parse the JSON body"):
        read_json(raw, OPENAI)


def test_a_sound_request_is_read_whole() -> None:
    messages: list[Json] = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo."}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [call(function={"name": "look", "arguments": '{"n": 1}'})],
        },
        {"role": "tool", "tool_call_id": "a", "content": "seen"},
    ]
    request = read_request(
        body(messages=messages, tools=[TOOL], stream=True, stream_options={"include_usage": True}, max_tokens=9)
    )
    assert request.conversation.messages == (
        Said("system", "Be brief."),
        Said("user", "Hello."),
        Said("assistant", "", (Call("look", {"n": 1}, "a"),)),
        Said("tool", "seen", call_id="a"),
    )
    assert request.conversation.tools == ("look",)
    assert (request.stream, request.include_usage, request.cap, request.thinking) == (True, True, 9, False)


@pytest.mark.parametrize(
    ("choice", "offered"),
    [
        pytest.param("auto", ("look",), id="auto"),
        pytest.param("none", (), id="none"),
        pytest.param({"type": "function", "function": {"name": "look"}}, ("look",), id="forced"),
    ],
)
def test_tool_choice_decides_what_may_be_called(choice: object, offered: tuple[str, ...]) -> None:
    assert read_request(body(tools=[TOOL], tool_choice=choice)).conversation.tools == offered


def test_a_thinking_model_wants_its_reasoning_back_unless_thinking_is_off() -> None:
    messages = [USER, {"role": "assistant", "content": "Hi."}, USER]
    with pytest.raises(Refused, match="reasoning_content in the thinking mode must be passed back"):
        read_request(body(model="m-thinking", messages=messages))
    assert read_request(body(model="m", messages=messages)).thinking is False
    off = read_request(body(model="m-thinking", messages=messages, thinking={"type": "disabled"}))
    assert off.thinking is False
