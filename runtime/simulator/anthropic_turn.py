"""One message of a Messages request: its content blocks, read and checked.

Source: Anthropic API reference, "Create a Message"; error texts of the Messages API.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from ...protocols.messages import Json
from .anthropic_words import ANTHROPIC
from .conversation import Call
from .errors import Refused
from .shape import Node

__all__ = ("Block", "Result", "Text", "Thinking", "Turn", "read_text", "read_turn")

USE_ID = re.compile(r"[a-zA-Z0-9_-]+")
EMPTY_TEXT = "text content blocks must be non-empty"
NO_SYSTEM = (
    'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, '
    'not "system" as an input message role.'
)


@dataclass(frozen=True, slots=True)
class Text:
    """A text that is not empty."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning and what signs it; that of a redacted block is unreadable, and its signature is empty."""

    text: str
    signature: str


@dataclass(frozen=True, slots=True)
class Result:
    """The output of the call `call_id`."""

    call_id: str
    output: str


Block: TypeAlias = Text | Thinking | Call | Result


@dataclass(frozen=True, slots=True)
class Turn:
    """One message.

    Attributes:
        role: `user` or `assistant`.
        blocks: Its content, in order.
    """

    role: str
    blocks: tuple[Block, ...]

    @property
    def calls(self) -> tuple[Call, ...]:
        """What it called."""
        return tuple(block for block in self.blocks if isinstance(block, Call))

    @property
    def results(self) -> tuple[Result, ...]:
        """The outputs it brings, wherever they stand."""
        return tuple(block for block in self.blocks if isinstance(block, Result))

    @property
    def text(self) -> str:
        """Its texts, joined."""
        return "".join(block.text for block in self.blocks if isinstance(block, Text))


def read_turn(node: Node) -> Turn:
    """One message, its blocks' fields and types checked.

    Raises:
        Refused: It breaks a rule.
    """
    node.only({"role", "content"})
    role = node.field("role")
    if role.value == "system":
        raise Refused(message=NO_SYSTEM, param=role.path)
    name = role.choice(("user", "assistant"))
    content = node.field("content")
    if type(content.value) is str:
        blocks: tuple[Block, ...] = (Text(content.value),) if content.value else ()
    else:
        blocks = tuple(read_block(item, name) for item in content.items(low=0))
    if not blocks:
        raise ANTHROPIC.invalid(node.path, "all messages must have non-empty content")
    return Turn(name, blocks)


def read_block(node: Node, role: str) -> Block:
    """A content block of a kind that the role may send."""
    readers = READERS[role]
    kind = node.field("type").choice(tuple(readers))
    return readers[kind](node.tagged(kind))


def read_text(node: Node) -> Text:
    """A text block; the simulated models read nothing else but results."""
    node.only({"type", "text", "cache_control", "citations"})
    text = node.field("text").text()
    if not text:
        raise Refused(message=f"{node.path.partition('.')[0]}: {EMPTY_TEXT}", param=node.path)
    return Text(text)


def read_thinking(node: Node) -> Thinking:
    """A thinking block; it has no place for a cache mark."""
    node.only({"type", "thinking", "signature"})
    return Thinking(node.field("thinking").text(), node.field("signature").text())


def read_redacted(node: Node) -> Thinking:
    """Reasoning that the provider keeps to itself."""
    node.only({"type", "data"})
    node.field("data").text()
    return Thinking("", "")


def read_use(node: Node) -> Call:
    """A call."""
    node.only({"type", "id", "name", "input", "cache_control", "caller"})
    arguments = cast("dict[str, Json]", node.field("input").fields())
    return Call(node.field("name").text(), arguments, read_id(node.field("id")))


def read_result(node: Node) -> Result:
    """The output of a call: a text, text blocks, or nothing."""
    node.only({"type", "tool_use_id", "content", "is_error", "cache_control"})
    content, failed = node.get("content"), node.get("is_error")
    if content is None:
        output = ""
    elif type(content.value) is str:
        output = content.value
    else:
        output = "".join(read_part(part) for part in content.items(low=0))
    if failed is not None and failed.flag() and not output:
        raise ANTHROPIC.invalid(node.path, "content cannot be empty if `is_error` is true")
    return Result(read_id(node.field("tool_use_id")), output)


def read_part(node: Node) -> str:
    """A part of an output."""
    return read_text(node.tagged(node.field("type").choice(("text",)))).text


def read_id(node: Node) -> str:
    """The id of a call, of the characters that it may have."""
    identifier = node.text()
    if not USE_ID.fullmatch(identifier):
        raise ANTHROPIC.invalid(node.path, f"String should match pattern '^{USE_ID.pattern}$'")
    return identifier


READERS: Mapping[str, Mapping[str, Callable[[Node], Block]]] = {
    "user": {"text": read_text, "tool_result": read_result},
    "assistant": {
        "text": read_text,
        "thinking": read_thinking,
        "redacted_thinking": read_redacted,
        "tool_use": read_use,
    },
}
"""How the content blocks of each role are read, by their type."""
