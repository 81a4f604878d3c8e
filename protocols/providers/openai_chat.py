"""Chat completions: the wire format of OpenAI and of everyone who copied it.

Pure: requests are written, answers and refusals are read, nothing is sent. What a provider of the format is known to
need comes from `profiles`.

Source: OpenAI API reference, "Create chat completion"; DeepSeek API guide, "Thinking Mode".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ..errors import BadRequest, PresetInvalid, ProviderError
from ..messages import Json, Reply, Turn
from ..presets import ContentMode
from .base import Adapter, Draft, StreamReader, ToolSchema
from .complaint import is_error
from .lenient import compact, items, mapping, parse, text
from .openai_answer import Answer, no_choices, usage_in
from .openai_stream import ChatStream
from .openai_turn import TurnWriter
from .openai_usage import Counts
from .profiles import Profile, profile_for
from .refusal import error_in_answer, refusal
from .request_id import request_id

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

NO_KEY = frozenset({"", "-"})
SHOWN = 200
"""Bytes of an unreadable answer that an error shows."""


@dataclass(frozen=True)
class OpenAIChat(Adapter):
    """The adapter of the default protocol."""

    path = "/chat/completions"

    def __post_init__(self) -> None:
        """Refuse a preset that this format, or the provider behind it, cannot serve.

        Raises:
            PresetInvalid: A field of `extra_body` is not free, or the provider needs its reasoning back.
        """
        for name in self.preset.extra_body:
            if name in OWN_FIELDS:
                raise PresetInvalid(field="extra_body", reason=f"extra_body may not hold {name!r}: {OWN_FIELDS[name]}")
        if self.preset.thinking_config.content_mode is ContentMode.NEVER and self.profile.reasoning_back:
            reason = f"content_mode 'never' cannot work: {self.profile.name} refuses requests without its reasoning."
            raise PresetInvalid(field="thinking_config.content_mode", reason=reason)

    @staticmethod
    def get_adapter_protocol() -> tuple[str, ...]:
        """The names of the default protocol."""
        return ("openai", "__main__")

    @cached_property
    def profile(self) -> Profile:
        """What the provider is known to need."""
        return profile_for(self.preset)

    @cached_property
    def writer(self) -> TurnWriter:
        """Writes the turns."""
        thinking = self.preset.thinking_config
        return TurnWriter(thinking.content_mode, self.profile.reasoning_back or thinking.enabled, self.profile.blank)

    def headers(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Request headers, the key included; a key's variable is looked up in `environ`.

        Raises:
            PresetInvalid: The variable is not set, or the key cannot stand in a header.
        """
        headers = {"content-type": "application/json"}
        key = self.preset.api_key.reveal(environ).strip()
        if not (key.isascii() and key.isprintable()):
            raise PresetInvalid(field="api_key", reason="The api_key holds a character that no key can hold.")
        if key not in NO_KEY:
            headers["authorization"] = f"Bearer {key}"
        return headers | {name.lower(): value for name, value in self.preset.extra_headers.items()}

    def draft(self, turns: tuple[Turn, ...], tools: tuple[ToolSchema, ...], before: Draft | None) -> Draft:
        """Write the request. `before` is an earlier draft of this provider: what is the same is used again."""
        head = b""
        kept: tuple[bytes, ...] = ()
        if before:
            # Comparing tuples looks at identity first, so this costs next to nothing.
            head = before.head if before.tools == tools else b""
            kept = before.fragments if turns[: len(before.turns)] == before.turns else ()
        added = tuple(map(self.writer.write, turns[len(kept) :]))
        tail = f'],"{self.profile.cap}":'.encode()
        return Draft(turns, head or self._head(tools), kept + added, tail, self.profile.hidden_prompt, tools)

    def _head(self, tools: tuple[ToolSchema, ...]) -> bytes:
        config, thinking = self.preset.config, self.preset.thinking_config
        fields: dict[str, Json] = {"model": self.preset.model}
        if config.stream:
            fields |= {"stream": True, "stream_options": {"include_usage": True}}
        if config.temperature is not None:
            fields["temperature"] = config.temperature
        if config.top_p is not None:
            fields["top_p"] = config.top_p
        if thinking.enabled:
            budget = {} if thinking.budget_tokens is None else {"budget_tokens": thinking.budget_tokens}
            fields["thinking"] = {"type": "enabled", **budget}
        if tools:
            fields["tools"] = [plain_tool(tool) for tool in tools]
        fields |= self.preset.extra_body
        return f'{compact(fields)[:-1]},"messages":['.encode("utf-8", "replace")

    def reply(self, headers: Mapping[str, str], body: bytes, draft: Draft) -> Reply:
        """Read a whole answer of status 200.

        Raises:
            ProviderError: The body is not an answer.
        """
        try:
            answer = parse(body)
        except ValueError:
            shown = " ".join(body[:SHOWN].decode("utf-8", "replace").split())
            sentence = f"The provider's answer is no JSON: {shown}"
            raise BadRequest(sentence=sentence, status=200, request_id=request_id(headers), billed=True) from None
        if is_error(answer):
            raise error_in_answer(headers, answer)
        fields = mapping(answer)
        told_id = request_id(headers, answer)
        choice = mapping(next(iter(items(fields.get("choices"))), None))
        if not choice:
            raise no_choices(told_id)
        message, reason = mapping(choice.get("message")), text(choice.get("finish_reason"))
        return Answer(message, reason, Counts.read(usage_in(fields, choice)), told_id).reply(draft)

    def stream(self, headers: Mapping[str, str], draft: Draft) -> StreamReader:
        """A reader for a streamed answer of status 200."""
        return ChatStream(headers, draft)

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
