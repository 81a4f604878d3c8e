"""Chat completions: the wire format of OpenAI and of everyone who copied it.

Pure: requests are written, answers and refusals are read, nothing is sent. What a provider of the format is known to
need comes from `profiles`.

Source: OpenAI API reference, "Create chat completion"; DeepSeek API guide, "Thinking Mode".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ..errors import PresetInvalid, ProviderError
from ..messages import Json, Reply, Turn
from ..profiles import Profile
from .answer import parse_answer
from .base import Adapter, Draft, StreamReader, ToolSchema
from .lenient import compact, items, mapping, text
from .openai_answer import Answer, no_choices, usage_in
from .openai_stream import ChatStream
from .openai_turn import TurnWriter
from .openai_usage import Counts
from .refusal import refusal
from .request_headers import request_headers
from .request_id import request_id
from .thinking_fields import thinking_fields

__all__ = ("OpenAIChat",)

OWN_FIELDS: Final = {
    "model": "use ModelPreset.model.",
    "messages": "the conversation is written there.",
    "tools": "give the tools to the agent.",
    "stream": "use ModelConfig.stream.",
    "max_tokens": "use ModelConfig.max_tokens.",
    "max_completion_tokens": "use ModelConfig.max_tokens.",
    "n": "one answer is read, and each one would be billed.",
}
"""Fields of the body that `extra_body` may not set, and what to do instead."""

NEEDS_TOOLS: Final = ("tool_choice", "parallel_tool_calls")
"""Fields that are refused in a request without tools."""


@dataclass(frozen=True)
class OpenAIChat(Adapter):
    """The adapter of the default protocol."""

    path = "/chat/completions"

    def __post_init__(self) -> None:
        """Refuse a preset that this format cannot serve.

        Raises:
            PresetInvalid: A field of `extra_body` is not free.
        """
        for name in self.preset.extra_body:
            if name in OWN_FIELDS:
                raise PresetInvalid(field="extra_body", reason=f"extra_body may not hold {name!r}: {OWN_FIELDS[name]}")

    @staticmethod
    def get_adapter_protocol() -> tuple[str, ...]:
        """The names of the default protocol."""
        return ("openai", "__main__")

    @cached_property
    def profile(self) -> Profile:
        """What the provider is known to need."""
        return self.preset.facts

    @cached_property
    def writer(self) -> TurnWriter:
        """Writes the turns."""
        thinking, profile = self.preset.thinking_config, self.profile
        due = profile.empty_reasoning and (thinking.enabled or profile.thinks)
        return TurnWriter(profile, thinking.content_mode, due)

    def headers(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Request headers, the key included; a key's variable is looked up in `environ`.

        Raises:
            PresetInvalid: The variable is not set, or the key cannot stand in a header.
        """
        return request_headers(self.preset, environ)

    def draft(self, turns: tuple[Turn, ...], tools: tuple[ToolSchema, ...], before: Draft | None) -> Draft:
        """Write the request. `before` is an earlier draft of this provider: what is the same is used again."""
        head = before.head if before and before.tools == tools else self._head(tools)
        kept = before.kept(turns) if before else ()
        added = tuple(self.writer.write(turns, place) for place in range(len(kept), len(turns)))
        tail = f'],"{self.profile.cap}":'.encode()
        return Draft(turns, head, kept + added, tail, self.profile.hidden_prompt, tools)

    def _head(self, tools: tuple[ToolSchema, ...]) -> bytes:
        config = self.preset.config
        fields: dict[str, Json] = {"model": self.preset.model}
        if config.stream:
            fields["stream"] = True
            if self.profile.usage_option:
                fields["stream_options"] = {"include_usage": True}
        if config.temperature is not None:
            fields["temperature"] = config.temperature
        if config.top_p is not None:
            fields["top_p"] = config.top_p
        fields |= thinking_fields(self.profile, self.preset.thinking_config)
        if tools:
            fields["tools"] = [plain_tool(tool) for tool in tools]
        free = {name: value for name, value in self.preset.extra_body.items() if tools or name not in NEEDS_TOOLS}
        fields |= free
        return f'{compact(fields)[:-1]},"messages":['.encode("utf-8", "replace")

    def reply(self, headers: Mapping[str, str], body: bytes, draft: Draft) -> Reply:
        """Read a whole answer of status 200.

        Raises:
            ProviderError: The body is not an answer.
        """
        fields = parse_answer(headers, body)
        told_id = request_id(headers, fields)
        choice = mapping(next(iter(items(fields.get("choices"))), None))
        if not choice:
            raise no_choices(told_id)
        message, reason = mapping(choice.get("message")), text(choice.get("finish_reason"))
        return Answer(message, reason, Counts.read(usage_in(fields, choice)), told_id).reply(draft, self.profile.name)

    def stream(self, headers: Mapping[str, str], draft: Draft) -> StreamReader:
        """A reader for a streamed answer of status 200."""
        return ChatStream(headers, draft, self.profile.name)

    def refusal(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        """The error that a status other than 200 means."""
        return refusal(status, headers, body)


def plain_tool(tool: ToolSchema) -> Json:
    """One tool as the format wants it."""
    function: dict[str, Json] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    return {"type": "function", "function": function}
