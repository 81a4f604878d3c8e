"""What is said to a model and what it answers, in no provider's shape."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

__all__ = ("Finish", "Json", "Message", "Reply", "Role", "ToolCall", "ToolResult", "Turn", "Usage", "is_failure")

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""A JSON value."""

Extra: TypeAlias = Mapping[str, Json]


class Role(StrEnum):
    """Who speaks. A tool's output is a `ToolResult`, not a `Message`."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class Finish(StrEnum):
    """Why the model stopped."""

    STOP = "stop"
    CALLS = "tool_calls"
    LENGTH = "length"
    FILTER = "content_filter"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call a model asks for.

    Attributes:
        id: The provider's id, as received; unique at most within its message.
        name: The tool's name.
        arguments: JSON text, as received; it need not be valid.
        extra: Provider fields that must go back with the call, verbatim.
    """

    id: str
    name: str
    arguments: str
    extra: Extra = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The output of one call, as the model reads it. A failure's text begins `ERROR: `."""

    call_id: str
    name: str
    content: str


def is_failure(text: str) -> bool:
    """Whether a call's output says that it failed. By convention, which tools follow too, it then begins `ERROR`."""
    return text.startswith("ERROR")


@dataclass(frozen=True, slots=True)
class Message:
    """One system, user or assistant message.

    `reasoning_content`, `reasoning_signature` and `extra` are what a provider sent beside the text; they go back
    verbatim to the profile they came from and are never edited.

    Attributes:
        profile: The provider family it came from (`profiles.Profile.name`); empty for what no provider said.
    """

    role: Role
    content: str
    calls: tuple[ToolCall, ...] = ()
    reasoning_content: str | None = None
    reasoning_signature: str | None = None
    extra: Extra = field(default_factory=dict[str, Json])
    profile: str = ""


Turn: TypeAlias = Message | ToolResult
"""One element of a transcript."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call.

    Attributes:
        prompt: Input tokens, cache reads included.
        completion: Output tokens, reasoning included.
        cached: The part of `prompt` that was read from a cache.
        reasoning: The part of `completion` that was reasoning.
        written: The part of `prompt` that was written to a cache, where the provider tells it apart.
        estimated: The provider gave no count; these are our estimate.
        raw: The provider's own numbers, under its own names.
    """

    prompt: int
    completion: int
    cached: int = 0
    reasoning: int = 0
    estimated: bool = False
    raw: Extra = field(default_factory=dict[str, Json], compare=False)
    written: int = 0

    @property
    def total(self) -> int:
        """Prompt and completion together."""
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class Reply:
    """One whole answer of a model.

    Attributes:
        request_id: The provider's where it gave one, else ours.
        model: The model that was asked, as its preset names it; empty: nobody said.
        seconds: How long it took to answer; 0: nobody measured.
    """

    message: Message
    usage: Usage
    finish: Finish
    request_id: str
    model: str = ""
    seconds: float = 0.0
