"""Validators that this project did not write: the request types of the providers' packages, and Mistral's own check."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from typing import Any, Final, cast

from pydantic import TypeAdapter

from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.providers.lenient import items, mapping, text

from .bodies import Body

__all__ = ("check_conversation", "check_types")

EXTENSIONS: Final = {
    # How providers are asked to think, each in its own way; see protocols/providers/thinking_fields.py.
    "thinking": "DeepSeek, Kimi, Z.ai, Claude behind gateways",
    "enable_thinking": "Qwen at DashScope",
    "thinking_budget": "Qwen at DashScope",
    "chat_template_kwargs": "vLLM, SGLang, llama.cpp",
    "include_reasoning": "Groq",
    "reasoning": "OpenRouter, Together",
}
"""Fields of a chat completion's body that OpenAI does not know, and who does."""

OLDER: Final = {
    "temperature": "models of the version 2023-06-01, which is the one that is asked for",
    "top_p": "models of the version 2023-06-01, which is the one that is asked for",
}
"""Fields of a Messages body that the newest package has left out, and who knows them."""

MESSAGE_EXTENSIONS: Final = {
    "reasoning_content": "DeepSeek, Kimi, Qwen, vLLM and many more",
    "reasoning": "Groq, OpenRouter, Together, Ollama",
    "reasoning_details": "OpenRouter",
    "reasoning_signature": "gateways to Claude",
    "thought_signature": "Gemini",
    "extra_content": "Gemini",
    "annotations": "OpenAI sends it and takes it back, though its request types do not know it",
    "channel": "Groq, of gpt-oss",
}
"""Fields of an assistant's message that came from the provider they go back to."""

CALL_EXTENSIONS: Final = {"extra_content": "Gemini"}
"""Fields of a call that came from the provider they go back to."""


def check_types(body: Body) -> None:
    """Hold a body against the request types of the provider's package; fields that they do not know are forbidden.

    Raises:
        ValueError: A field has a wrong type.
        AssertionError: There is a field that nobody knows.
    """
    told = body.plain()
    given = without_extensions(told) if body.protocol == "openai" else without(told, OLDER)
    known = plain(request_type(body.protocol, streamed=bool(told.get("stream"))).validate_python(given, strict=True))
    unknown = sorted(set(lost(given, known)))
    assert not unknown, f"the request types do not know {', '.join(unknown)}"
    assert known == given


@cache
def request_type(protocol: str, *, streamed: bool) -> TypeAdapter[Any]:
    """The type of a request; importing it takes a second or more."""
    if protocol == "openai":
        from openai.types.chat import completion_create_params as openai

        chat = openai.CompletionCreateParamsStreaming if streamed else openai.CompletionCreateParamsNonStreaming
        return TypeAdapter(chat)
    from anthropic.types import message_create_params as anthropic

    talk = anthropic.MessageCreateParamsStreaming if streamed else anthropic.MessageCreateParamsNonStreaming
    return TypeAdapter(talk)


def plain(value: object) -> Json:
    """What was validated; some types validate their items only when these are asked for."""
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in cast("Mapping[str, object]", value).items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [plain(part) for part in cast("Iterable[object]", value)]
    return cast("Json", value)


def lost(given: Json, known: Json, where: str = "") -> Iterator[str]:
    """Where a field stood that validation left out."""
    if isinstance(given, Mapping):
        for name, part in given.items():
            if name in mapping(known):
                yield from lost(part, mapping(known)[name], f"{where}.{name}")
            else:
                yield f"{where}.{name}".removeprefix(".")
    for part, other in zip(items(given), items(known), strict=False):
        yield from lost(part, other, f"{where}[]")


def without_extensions(body: Mapping[str, Json]) -> dict[str, Json]:
    """A chat completion's body as OpenAI knows it."""
    messages = [message_without_extensions(mapping(message)) for message in items(body.get("messages"))]
    return {**without(body, EXTENSIONS), "messages": [*messages]}


def message_without_extensions(message: Mapping[str, Json]) -> dict[str, Json]:
    """A message as OpenAI knows it."""
    if message.get("role") != "assistant":
        return dict(message)
    known = without(message, MESSAGE_EXTENSIONS)
    if isinstance(known.get("content"), list):  # Mistral's thoughts stand among the parts of the content
        known["content"] = [part for part in items(known["content"]) if mapping(part).get("type") != "thinking"]
    if "tool_calls" in known:
        known["tool_calls"] = [without(mapping(call), CALL_EXTENSIONS) for call in items(known["tool_calls"])]
    return known


def without(fields: Mapping[str, Json], names: Iterable[str]) -> dict[str, Json]:
    """The fields but those of these names."""
    left_out = frozenset(names)
    return {name: value for name, value in fields.items() if name not in left_out}


def check_conversation(body: Body) -> None:
    """Have the messages and tools of a chat completion checked as Mistral checks a request: order, pairing, schemas.

    It wants ids of nine characters, knows no thoughts and no developers, so it is given a copy without these.

    Raises:
        MistralCommonException: The conversation is none.
    """
    from mistral_common.protocol.instruct.request import ChatCompletionRequest
    from mistral_common.protocol.instruct.validator import MistralRequestValidatorV11, ValidationMode

    told = without_extensions(body.plain())
    request: ChatCompletionRequest[Any] = ChatCompletionRequest.model_validate(
        {
            "model": told["model"],
            "messages": [as_mistral(mapping(message)) for message in items(told["messages"])],
            "tools": told.get("tools"),
        }
    )
    MistralRequestValidatorV11(mode=ValidationMode.serving).validate_request(request)


def as_mistral(message: Mapping[str, Json]) -> dict[str, Json]:
    """A message with Mistral's role and ids, and none of its text lost."""
    fields = without(message, ("refusal",))
    if fields["role"] == "developer":
        fields["role"] = "system"
    if "tool_call_id" in fields:
        fields["tool_call_id"] = nine(fields["tool_call_id"])
    if "tool_calls" in fields:
        calls = map(mapping, items(fields["tool_calls"]))
        fields["tool_calls"] = [{**call, "id": nine(call["id"])} for call in calls]
    return fields


def nine(call_id: Json) -> str:
    """Another id of nine characters, the same for the same one."""
    return sha256(text(call_id).encode()).hexdigest()[:9]
