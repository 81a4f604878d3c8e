"""What tests say to adapters, and what providers say in tests, without a socket."""

import json
from typing import Any

from amrita_fleet.protocols.messages import Json, Message, Reply, Role, ToolCall, ToolResult, Turn
from amrita_fleet.protocols.presets import ModelPreset
from amrita_fleet.protocols.providers.anthropic import Anthropic
from amrita_fleet.protocols.providers.base import Adapter, Draft, ToolSchema
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat

__all__ = (
    "LOOK",
    "USER",
    "answer_of",
    "asked",
    "call",
    "chat",
    "claude",
    "draft_of",
    "hear",
    "messages_of",
    "read",
    "sse",
)

LOOK = ToolSchema("look", "Looks.", {"type": "object", "properties": {}})
USER = Message(Role.USER, "Go.")


def chat(profile: str = "unknown", **fields: Any) -> OpenAIChat:  # noqa: ANN401
    return OpenAIChat(ModelPreset(model="m", base_url="http://127.0.0.1/v1", profile=profile, **fields))


def claude(**fields: Any) -> Anthropic:  # noqa: ANN401
    given: dict[str, Any] = {"model": "claude-sonnet-4-5", "protocol": "anthropic", **fields}
    return Anthropic(ModelPreset(**given))


def asked(adapter: Adapter, *turns: Turn, output: int = 4000, tools: tuple[ToolSchema, ...] = (LOOK,)) -> Any:  # noqa: ANN401
    """The request body, parsed."""
    return json.loads(adapter.draft(turns, tools, None).body(output))


def messages_of(adapter: Adapter, *turns: Turn) -> list[Any]:
    return asked(adapter, *turns)["messages"]  # type: ignore[no-any-return]


def draft_of(adapter: Adapter) -> Draft:
    return adapter.draft((USER,), (LOOK,), None)


def read(adapter: Adapter, body: Json, **headers: str) -> Reply:
    """A whole answer."""
    return adapter.reply(headers, json.dumps(body).encode(), draft_of(adapter))


def hear(adapter: Adapter, raw: str | bytes, **headers: str) -> Reply:
    """A streamed answer, at once."""
    reader = adapter.stream(headers, draft_of(adapter))
    reader.feed(raw.encode() if isinstance(raw, str) else raw)
    return reader.close()


def sse(*events: object) -> str:
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events)


def answer_of(message: Json, reason: Json = "stop", usage: Json = None) -> Json:
    """A chat completion."""
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage}


def call(identifier: str = "c1", name: str = "look", arguments: str = "{}") -> tuple[ToolCall, ToolResult]:
    """A call and its result."""
    return ToolCall(identifier, name, arguments), ToolResult(identifier, name, "seen")
