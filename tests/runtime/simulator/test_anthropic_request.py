"""A Messages request, judged as Anthropic judges it."""

from typing import Any

import pytest

from amrita_fleet.runtime.simulator import seal
from amrita_fleet.runtime.simulator.anthropic_request import read_request
from amrita_fleet.runtime.simulator.conversation import Call, Said
from amrita_fleet.runtime.simulator.errors import Refused

pytestmark = pytest.mark.slow

Json = dict[str, Any]
MARK: Json = {"type": "ephemeral"}
TOOL: Json = {"name": "look", "input_schema": {"type": "object", "properties": {}}}
ENABLED: Json = {"type": "enabled", "budget_tokens": 1024}


def body(*messages: Json, **fields: object) -> Json:
    return {"model": "m", "max_tokens": 2048, "messages": list(messages) or [user("Hello.")], **fields}


def user(*content: object) -> Json:
    return {"role": "user", "content": content[0] if isinstance(content[0], str) else list(content)}


def assistant(*content: object) -> Json:
    return {**user(*content), "role": "assistant"}


def text(words: str, **fields: object) -> Json:
    return {"type": "text", "text": words, **fields}


def use(name: str = "a", **fields: object) -> Json:
    return {"type": "tool_use", "id": name, "name": "look", "input": {}, **fields}


def result(name: str = "a", **fields: object) -> Json:
    return {"type": "tool_result", "tool_use_id": name, "content": "seen", **fields}


def thought(words: str = "I look.", signature: str | None = None) -> Json:
    return {"type": "thinking", "thinking": words, "signature": signature or seal.signature(words)}


def loop(*messages: Json, **fields: object) -> Json:
    return body(user("Go."), *messages, tools=[TOOL], **fields)


SHAPES = [
    pytest.param({"model": "m", "messages": [user("x")]}, "max_tokens: Field required", id="no cap"),
    pytest.param({"max_tokens": 1, "messages": [user("x")]}, "model: Field required", id="no model"),
    pytest.param(body(max_tokens=0), "max_tokens: Input should be greater than or equal to 1", id="cap of nothing"),
    pytest.param(body(max_tokens="9"), "max_tokens: Input should be a valid integer", id="cap as text"),
    pytest.param(body(messages=[]), "messages: at least one message is required", id="no messages"),
    pytest.param(body(colour=1), "colour: Extra inputs are not permitted", id="unknown field"),
    pytest.param(
        body({"role": "tool", "content": "x"}), "messages.0.role: Input should be 'user' or 'assistant'", id="role"
    ),
    pytest.param(body({"role": "system", "content": "x"}), 'messages: Unexpected role "system".', id="system message"),
    pytest.param(body(user("")), "messages.0: all messages must have non-empty content", id="empty message"),
    pytest.param(body(user(text(""))), "messages: text content blocks must be non-empty", id="empty text block"),
    pytest.param(body(system=""), "system: text content blocks must be non-empty", id="empty instructions"),
    pytest.param(
        body(system=[text("")]), "system: text content blocks must be non-empty", id="empty instruction block"
    ),
    pytest.param(
        body(user({"type": "image"})),
        "messages.0.content.0.type: Input should be 'text' or 'tool_result'",
        id="image",
    ),
    pytest.param(
        loop(assistant(use("a:0")), user(result("a:0"))),
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        id="bad call id",
    ),
    pytest.param(
        loop(assistant(use(input="{}")), user(result())),
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
        id="input as text",
    ),
    pytest.param(
        loop(assistant(use()), user(result(content="", is_error=True))),
        "messages.2.content.0.tool_result: content cannot be empty",
        id="empty error",
    ),
    pytest.param(body(temperature=1.5), "temperature: range: 0..1", id="too hot"),
    pytest.param(body(tools=[{**TOOL, "name": "look at"}]), "tools.0.custom.name: String should match", id="tool name"),
    pytest.param(body(tools=[{"name": "look"}]), "tools.0.custom.input_schema: Field required", id="no schema"),
    pytest.param(body(tools=[TOOL, TOOL]), "tools: Tool names must be unique.", id="same tool twice"),
    pytest.param(body(tool_choice={"type": "auto"}), "tool_choice: may only be specified", id="choice without tools"),
    pytest.param(
        body(tools=[TOOL], tool_choice={"type": "tool", "name": "other"}),
        "tool_choice.tool.name: Tool 'other' not found",
        id="forced tool that is not offered",
    ),
    pytest.param(
        body(user("x"), assistant(use()), user(result())),
        "Requests which include `tool_use` or `tool_result` blocks must define tools.",
        id="calls without tools",
    ),
    pytest.param(
        body(user(*[text("x", cache_control=MARK)] * 5)),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        id="five cache marks",
    ),
    pytest.param(
        body(user(text("x", cache_control={"type": "eternal"}))),
        "messages.0.content.0.cache_control.type: Input should be 'ephemeral'",
        id="unknown cache mark",
    ),
    pytest.param(
        body(thinking={"type": "enabled", "budget_tokens": 1000}),
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        id="small thinking budget",
    ),
    pytest.param(
        body(max_tokens=1024, thinking=ENABLED),
        "`max_tokens` must be greater than `thinking.budget_tokens`.",
        id="cap below thinking budget",
    ),
    pytest.param(
        body(thinking=ENABLED, temperature=0.5), "`temperature` may only be set to 1", id="temperature while thinking"
    ),
    pytest.param(
        body(thinking=ENABLED, tools=[TOOL], tool_choice={"type": "any"}),
        "Thinking may not be enabled when tool_choice forces tool use.",
        id="forced while thinking",
    ),
]

ORDERS = [
    pytest.param(body(assistant("x"), user("y")), "messages: first message must use", id="assistant first"),
    pytest.param(
        body(user("x"), assistant("y")), "This model does not support assistant message prefill", id="prefill"
    ),
    pytest.param(
        loop(user(result())),
        "messages.1.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a.",
        id="orphan",
    ),
    pytest.param(
        loop(assistant(use()), user("x")),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a.",
        id="no result",
    ),
    pytest.param(
        loop(assistant(use())),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a.",
        id="no result at the end",
    ),
    pytest.param(
        loop(assistant(use("a"), use("b")), user(result("a")), user(result("b"))),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: b.",
        id="results in two messages",
    ),
    pytest.param(
        loop(assistant(use()), user(text("Note."), result())),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a.",
        id="text before the result",
    ),
    pytest.param(
        loop(assistant(use()), user(result(), result())),
        "messages.2.content.1: each tool_use must have a single result.",
        id="two results of one call",
    ),
    pytest.param(
        loop(assistant(use()), user(result()), assistant(use()), user(result())),
        "messages: `tool_use` ids must be unique",
        id="id used again",
    ),
]

THOUGHTS = [
    pytest.param(
        loop(assistant(use()), user(result()), thinking=ENABLED),
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
        id="thinking left out",
    ),
    pytest.param(
        loop(assistant(text("I look."), use()), user(result()), thinking=ENABLED),
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`.",
        id="text first",
    ),
    pytest.param(
        loop(assistant(thought(), use()), user(result()), assistant(use("b")), user(result("b")), model="m-thinking"),
        "messages.3.content.0.type: Expected `thinking`",
        id="left out in a later round",
    ),
    pytest.param(
        loop(assistant(thought(signature="forged"), use()), user(result())),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        id="signature changed",
    ),
    pytest.param(
        loop(assistant(thought("Other.", seal.signature("I look.")), use()), user(result())),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        id="words changed",
    ),
    pytest.param(
        loop(
            assistant(thought("Other."), use(seal.call_id("I look.", 1, 0))),
            user(result(seal.call_id("I look.", 1, 0))),
        ),
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant",
        id="thinking of another answer",
    ),
]


@pytest.mark.parametrize(("asked", "message"), [*SHAPES, *ORDERS, *THOUGHTS])
def test_a_request_that_breaks_a_rule_is_refused_in_anthropics_words(asked: object, message: str) -> None:
    with pytest.raises(Refused) as caught:
        read_request(asked)
    assert (caught.value.status, caught.value.kind) == (400, "invalid_request_error")
    assert str(caught.value).startswith(message)


def test_a_sound_request_is_read_whole() -> None:
    request = read_request(
        body(
            user(text("Hel", cache_control=MARK), text("lo.")),
            user("And again."),
            assistant(thought(), text("I look."), use("a", input={"n": 1}), use("b")),
            user(result("b", content=[text("seen"), text(" b")]), result("a"), text("A note.")),
            system=[text("Be brief.", cache_control={**MARK, "ttl": "1h"})],
            tools=[TOOL],
            stream=True,
            thinking=ENABLED,
        )
    )
    assert request.conversation.messages == (
        Said("system", "Be brief."),
        Said("user", "Hello."),
        Said("user", "And again."),
        Said("assistant", "I look.", (Call("look", {"n": 1}, "a"), Call("look", {}, "b")), reasoning="I look."),
        Said("tool", "seen b", call_id="b"),
        Said("tool", "seen", call_id="a"),
        Said("user", "A note."),
    )
    assert (request.conversation.tools, request.stream, request.thinking, request.cap) == (("look",), True, True, 2048)


@pytest.mark.parametrize(
    ("choice", "offered"),
    [
        pytest.param({"type": "auto"}, ("look",), id="auto"),
        pytest.param({"type": "none"}, (), id="none"),
        pytest.param({"type": "tool", "name": "look"}, ("look",), id="forced"),
    ],
)
def test_tool_choice_decides_what_may_be_called(choice: Json, offered: tuple[str, ...]) -> None:
    assert read_request(body(tools=[TOOL], tool_choice=choice)).conversation.tools == offered


@pytest.mark.parametrize(
    ("model", "thinking", "thinks"),
    [
        pytest.param("m", None, False, id="plain model"),
        pytest.param("m", ENABLED, True, id="asked to"),
        pytest.param("m", {"type": "adaptive"}, True, id="left to decide"),
        pytest.param("m-thinking", None, True, id="thinking model"),
        pytest.param("m-thinking", {"type": "disabled"}, False, id="forbidden"),
    ],
)
def test_who_thinks(model: str, thinking: Json | None, *, thinks: bool) -> None:
    assert read_request(body(model=model, thinking=thinking)).thinking is thinks


def test_thinking_of_an_earlier_question_may_go() -> None:
    asked = loop(assistant(use()), user(result()), assistant("Seen."), user("And?"), thinking=ENABLED)
    assert read_request(asked).thinking


def test_redacted_thinking_is_thinking() -> None:
    redacted = {"type": "redacted_thinking", "data": "xyz"}
    assert read_request(loop(assistant(redacted, use()), user(result()), thinking=ENABLED)).thinking
