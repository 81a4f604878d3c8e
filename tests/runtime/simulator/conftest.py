"""A client of each wire format, no more than a list of messages, so that one test holds for both."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from amrita_fleet.runtime.simulator.wire import AnthropicWire, OpenAIWire

Json = dict[str, Any]


class OpenAIDialogue:
    """A conversation in chat completions."""

    path = "/chat/completions"
    id_header = "x-request-id"

    def __init__(self, model: str, tools: tuple[str, ...] = (), key: str = "") -> None:
        self.wire = OpenAIWire()
        self.model = model
        self.tools = tools
        self.messages: list[Json] = []
        self.headers = {"authorization": f"Bearer {key}"} if key else {}

    def body(self, **fields: object) -> Json:
        tools = [{"type": "function", "function": {"name": name}} for name in self.tools]
        options = {"stream_options": {"include_usage": True}} if fields.get("stream") else {}
        offered = {"tools": tools} if tools else {}
        return {"model": self.model, "messages": self.messages, **offered, **options, **fields}

    def instruct(self, text: str) -> None:
        self.messages.append({"role": "system", "content": text})

    def say(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def give(self, outputs: dict[str, str]) -> None:
        self.messages += [{"role": "tool", "tool_call_id": name, "content": text} for name, text in outputs.items()]

    def hear(self, whole: Json) -> Json:
        """The reply joins the history as the wire gave it, but for arguments that are broken off."""
        message = whole["choices"][0]["message"]
        self.messages.append(message)
        for call in message.get("tool_calls", []):
            if not parsed(call["function"]["arguments"]):
                call["function"]["arguments"] = "{}"
        return self.facts(whole)

    @staticmethod
    def facts(whole: Json) -> Json:
        message = whole["choices"][0]["message"]
        functions = [(call["id"], call["function"]) for call in message.get("tool_calls", [])]
        return {
            "text": message["content"] or "",
            "reasoning": message.get("reasoning_content"),
            "calls": [(name, function["name"], parsed(function["arguments"])) for name, function in functions],
            "finish": whole["choices"][0]["finish_reason"],
            "tokens": spent(whole.get("usage"), "prompt_tokens", "completion_tokens"),
        }

    def assembled(self, stream: str) -> Json:
        """The facts of a stream that ends as it should."""
        *events, done = blocks(stream)
        assert done == ["data: [DONE]"]
        message: Json = {"content": None}
        finish, usage = None, None
        for chunk in (json.loads(event[-1].removeprefix("data: ")) for event in events):
            usage = chunk.get("usage") or usage
            for choice in chunk["choices"]:
                finish = choice["finish_reason"] or finish
                join(message, choice["delta"])
        whole: Json = {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}
        return self.facts(whole)


class AnthropicDialogue:
    """A conversation in Messages."""

    path = "/messages"
    id_header = "request-id"

    def __init__(self, model: str, tools: tuple[str, ...] = (), key: str = "") -> None:
        self.wire = AnthropicWire()
        self.model = model
        self.tools = tools
        self.system = ""
        self.messages: list[Json] = []
        self.headers = {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {})
        self.known: list[str] = []

    def body(self, **fields: object) -> Json:
        # Tools that history mentions have to be declared, if only to be forbidden.
        names = self.tools or tuple(dict.fromkeys(self.known))
        choice: Json = {} if self.tools or not names else {"tool_choice": {"type": "none"}}
        tools = {"tools": [{"name": name, "input_schema": {"type": "object"}} for name in names]} if names else {}
        system = {"system": self.system} if self.system else {}
        return {
            "model": self.model,
            "max_tokens": 4096,
            "messages": self.messages,
            **system,
            **tools,
            **choice,
            **fields,
        }

    def instruct(self, text: str) -> None:
        self.system = text

    def say(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def give(self, outputs: dict[str, str]) -> None:
        results = [{"type": "tool_result", "tool_use_id": name, "content": text} for name, text in outputs.items()]
        self.messages.append({"role": "user", "content": results})

    def hear(self, whole: Json) -> Json:
        """The reply joins the history as the wire gave it, unless it is empty."""
        if whole["content"]:
            self.messages.append({"role": "assistant", "content": whole["content"]})
        facts = self.facts(whole)
        self.known += [name for _, name, _ in facts["calls"]]
        return facts

    @staticmethod
    def facts(whole: Json) -> Json:
        thoughts = [block["thinking"] for block in whole["content"] if block["type"] == "thinking"]
        return {
            "text": "".join(block["text"] for block in whole["content"] if block["type"] == "text"),
            "reasoning": "".join(thoughts) if thoughts else None,
            "calls": [(b["id"], b["name"], b["input"]) for b in whole["content"] if b["type"] == "tool_use"],
            "finish": whole["stop_reason"],
            "tokens": spent(whole.get("usage"), "input_tokens", "output_tokens"),
            "signatures": [block["signature"] for block in whole["content"] if block["type"] == "thinking"],
        }

    def assembled(self, stream: str) -> Json:
        """The facts of a stream that ends as it should."""
        whole: Json = {}
        event: Json = {}
        for name, data in blocks(stream):
            event = json.loads(data.removeprefix("data: "))
            assert name == f"event: {event['type']}"
            match event["type"]:
                case "message_start":
                    whole = event["message"]
                case "content_block_start":
                    assert event["index"] == len(whole["content"])
                    whole["content"].append(event["content_block"] | {"json": ""})
                case "content_block_delta":
                    grow(whole["content"][event["index"]], event["delta"])
                case "message_delta":
                    whole |= event["delta"]
                    whole["usage"] = whole.get("usage", {}) | event.get("usage", {}) or None
                case _:
                    assert event["type"] in {"ping", "content_block_stop", "message_stop"}
        assert event["type"] == "message_stop"
        for block in whole["content"]:
            if block["type"] == "tool_use":
                block["input"] = parsed(block["json"])
        return self.facts(whole)


def blocks(stream: str) -> Iterator[list[str]]:
    """The lines of each server-sent event."""
    for block in stream.replace("\r\n", "\n").strip().split("\n\n"):
        if lines := [line for line in block.split("\n") if not line.startswith(":")]:
            yield lines


def parsed(arguments: str) -> object:
    """Arguments; none when they are broken off."""
    try:
        return json.loads(arguments)
    except ValueError:
        return {}


def spent(usage: Json | None, prompt: str, completion: str) -> tuple[int, int] | None:
    return (usage[prompt], usage[completion]) if usage else None


def join(message: Json, delta: Json) -> None:
    """Take a delta of chat completions in."""
    for name in ("content", "reasoning_content"):
        if delta.get(name) is not None:
            message[name] = (message.get(name) or "") + delta[name]
    for piece in delta.get("tool_calls", []):
        calls = message.setdefault("tool_calls", [])
        if "id" in piece:
            assert piece["index"] == len(calls)
            calls.append({"id": piece["id"], "function": dict(piece["function"])})
        else:
            calls[piece["index"]]["function"]["arguments"] += piece["function"]["arguments"]


def grow(block: Json, delta: Json) -> None:
    """Take a delta of Messages in."""
    match delta["type"]:
        case "signature_delta":
            block["signature"] = delta["signature"]
        case "input_json_delta":
            block["json"] += delta["partial_json"]
        case "thinking_delta":
            block["thinking"] += delta["thinking"]
        case "text_delta":
            block["text"] += delta["text"]
        case other:
            raise AssertionError(other)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", params=[OpenAIDialogue, AnthropicDialogue], ids=["openai", "anthropic"])
def dialogue_of(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Opens a conversation with a model, in each wire format."""
    kind: Callable[..., Any] = request.param
    return kind
