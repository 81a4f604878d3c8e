"""The Messages API: the wire format of Anthropic.

Pure: requests are written, answers and refusals are read, nothing is sent.

Source: Anthropic API reference, "Create a Message", "Streaming Messages"; guides "Extended thinking", "Prompt caching".
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ..errors import PresetInvalid, ProviderError
from ..messages import Json, Message, Reply, Turn
from ..profiles import Profile
from .answer import parse_answer
from .anthropic_answer import Answer, no_content
from .anthropic_stream import MessageStream
from .anthropic_turn import BlockWriter, leading
from .anthropic_usage import Counts
from .base import Adapter, Draft, StreamReader, ToolSchema
from .lenient import compact, items, mapping, text
from .refusal import refusal
from .request_headers import request_headers
from .request_id import request_id

__all__ = ("Anthropic",)

VERSION: Final = "2023-06-01"
LEAST_BUDGET: Final = 1024
"""Tokens; a smaller thinking budget is refused."""

MARK: Final[dict[str, Json]] = {"cache_control": {"type": "ephemeral"}}
BUDGETED: Final = re.compile(r"claude-(3|(opus|sonnet|haiku)-4(?![-.][6-9]))")
"""Claude models that think within a budget; later ones decide for themselves and refuse one."""

OWN_FIELDS: Final = {
    "model": "use ModelPreset.model.",
    "messages": "the conversation is written there.",
    "system": "give the agent instructions.",
    "tools": "give the tools to the agent.",
    "stream": "use ModelConfig.stream.",
    "max_tokens": "use ModelConfig.max_tokens.",
    "thinking": "use thinking_config=ThinkingConfig(...).",
}
"""Fields of the body that `extra_body` may not set, and what to do instead."""


@dataclass(frozen=True, slots=True)
class MessagesDraft(Draft):
    """A request whose thinking has to stay below its output cap.

    Attributes:
        thinks: Thinking was asked for, within a budget.
        budget: Tokens of thinking; 0 for none in this request.
    """

    thinks: bool = False
    budget: int = 0

    def body(self, output: int) -> bytes:
        """The whole body, which lets the model answer with at most `output` tokens, thinking included."""
        budget = min(self.budget, output - 1)
        thinking = b""
        if budget >= LEAST_BUDGET:
            thinking = b'"thinking":{"type":"enabled","budget_tokens":%d},' % budget
        elif self.thinks:
            thinking = b'"thinking":{"type":"disabled"},'
        said = b"".join(self.fragments)
        return b'%b%b%b%b"max_tokens":%d}' % (self.head, said, self.tail, thinking, output)


@dataclass(frozen=True)
class Anthropic(Adapter):
    """The adapter of Anthropic's protocol."""

    path = "/messages"

    def __post_init__(self) -> None:
        """Refuse a preset that this format cannot serve.

        Raises:
            PresetInvalid: A field of `extra_body` is not free, or thinking leaves another field no choice.
        """
        for name in self.preset.extra_body:
            if name in OWN_FIELDS:
                raise PresetInvalid(field="extra_body", reason=f"extra_body may not hold {name!r}: {OWN_FIELDS[name]}")
        if self.budget and not LEAST_BUDGET <= self.budget < self.preset.config.max_tokens:
            reason = f"Thinking needs a budget of {LEAST_BUDGET} tokens or more, below max_tokens."
            raise PresetInvalid(field="thinking_config.budget_tokens", reason=reason)
        if self.preset.thinking_config.enabled and self.preset.config.temperature not in {None, 1}:
            raise PresetInvalid(field="temperature", reason="While it thinks, the temperature can only be 1.")

    @staticmethod
    def get_adapter_protocol() -> tuple[str, ...]:
        """The names of Anthropic's protocol."""
        return ("anthropic", "claude")

    @cached_property
    def profile(self) -> Profile:
        """What the provider is known to need."""
        return self.preset.facts

    @cached_property
    def adaptive(self) -> bool:
        """The model decides for itself how much it thinks."""
        model = self.preset.model.lower()
        return "claude" in model and not BUDGETED.search(model)

    @cached_property
    def budget(self) -> int:
        """Tokens of thinking to ask for: those of the preset, else half of the cap; 0 for none."""
        thinking = self.preset.thinking_config
        if not thinking.enabled or self.adaptive:
            return 0
        return thinking.budget_tokens or max(LEAST_BUDGET, self.preset.config.max_tokens // 2)

    @cached_property
    def writer(self) -> BlockWriter:
        """Writes the turns."""
        return BlockWriter(self.profile, self.preset.thinking_config.content_mode, self.preset.config.prompt_cache)

    def headers(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Request headers, the key included; a key's variable is looked up in `environ`.

        Raises:
            PresetInvalid: The variable is not set, or the key cannot stand in a header.
        """
        return {"anthropic-version": VERSION} | request_headers(self.preset, environ)

    def draft(self, turns: tuple[Turn, ...], tools: tuple[ToolSchema, ...], before: Draft | None) -> Draft:
        """Write the request. `before` is an earlier draft of this provider: what is the same is used again."""
        kept = before.kept(turns) if before else ()
        # Without tools the head names those that were called, and that may have changed.
        same = before and tools and before.tools == tools and kept and leading(before.turns) == leading(turns)
        head = before.head if before and same else self._head(turns, tools)
        added = tuple(self.writer.write(turns, place) for place in range(len(kept), len(turns)))
        return MessagesDraft(
            turns,
            head,
            kept + added,
            self.writer.close(turns) + b"],",
            self.profile.hidden_prompt,
            tools,
            thinks=bool(self.budget),
            budget=0 if self.budget and self.writer.unthought(turns) else self.budget,
        )

    def _head(self, turns: tuple[Turn, ...], tools: tuple[ToolSchema, ...]) -> bytes:
        config = self.preset.config
        fields: dict[str, Json] = {"model": self.preset.model}
        if config.stream:
            fields["stream"] = True
        if config.temperature is not None:
            fields["temperature"] = config.temperature
        if config.top_p is not None:
            fields["top_p"] = config.top_p
        if self.adaptive and self.preset.thinking_config.enabled:
            fields["thinking"] = {"type": "adaptive"}
        fields |= self._tool_fields(turns, tools)
        if told := instructions(turns):
            fields["system"] = self._marked([{"type": "text", "text": each} for each in told])
        return f'{compact(fields)[:-1]},"messages":['.encode("utf-8", "replace")

    def _tool_fields(self, turns: tuple[Turn, ...], tools: tuple[ToolSchema, ...]) -> dict[str, Json]:
        """The tools, and the free fields; tools that were called but are offered no more are named all the same."""
        free = dict(self.preset.extra_body)
        if tools:
            return {"tools": self._marked([plain_tool(tool) for tool in tools]), **free}
        free.pop("tool_choice", None)
        called = {call.name: None for turn in turns if isinstance(turn, Message) for call in turn.calls}
        if not called:
            return free
        known: list[Json] = [{"name": name, "input_schema": {"type": "object"}} for name in called]
        return {"tools": known, **free, "tool_choice": {"type": "none"}}

    def _marked(self, parts: list[dict[str, Json]]) -> list[Json]:
        """The parts, the last one marked for the prompt cache if there is to be one."""
        if self.preset.config.prompt_cache:
            return [*parts[:-1], parts[-1] | MARK]
        return [*parts]

    def reply(self, headers: Mapping[str, str], body: bytes, draft: Draft) -> Reply:
        """Read a whole answer of status 200.

        Raises:
            ProviderError: The body is not an answer.
        """
        fields = parse_answer(headers, body)
        told_id = request_id(headers, fields)
        if not isinstance(fields.get("content"), list):
            raise no_content(told_id)
        answer = Answer(
            blocks=tuple(mapping(block) for block in items(fields["content"])),
            reason=text(fields.get("stop_reason")),
            details=mapping(fields.get("stop_details")),
            counts=Counts.read(fields.get("usage")),
            request_id=told_id,
        )
        return answer.reply(draft, self.profile.name)

    def stream(self, headers: Mapping[str, str], draft: Draft) -> StreamReader:
        """A reader for a streamed answer of status 200."""
        return MessageStream(headers, draft, self.profile.name)

    def refusal(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        """The error that a status other than 200 means."""
        return refusal(status, headers, body)


def instructions(turns: tuple[Turn, ...]) -> list[str]:
    """The texts of the instructions that stand before everything else."""
    return [turn.content for turn in turns[: leading(turns)] if turn.content.strip()]


def plain_tool(tool: ToolSchema) -> dict[str, Json]:
    """One tool as the format wants it."""
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
