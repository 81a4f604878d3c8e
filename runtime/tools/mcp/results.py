"""What an MCP tool gave back, as the text a model reads."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from ....protocols.messages import Json
from ....protocols.plural import plural
from ..output import ToolOutput
from ..room import Room
from ..text import as_text

if TYPE_CHECKING:
    from mcp.types import CallToolResult, ContentBlock, EmbeddedResource

__all__ = ("output_of",)

NOTHING = "(no output)"

SHOWN = 128 * 1024
"""Bytes of structured content that an agent may want to show."""

READ = 1024 * 1024
"""Characters of a text that is looked at for whether it says what the structured content says."""


def output_of(result: "CallToolResult") -> ToolOutput:
    """The texts of a result, one after the other, then its structured content where no text says the same.

    What is no text is left out, which a line in its place says. Of large ones it takes a while: not for a loop.

    Raises:
        ValueError: The structured content is nested too deeply.
    """
    texts = [told(block) for block in result.content]
    structured = cast("Json", result.structured_content)
    if structured is not None:
        spelled = [(as_text(one, Room(SHOWN)), one) for one in (structured, *wrapped(structured))]
        if not any(text == spelling or parsed(text) == one for text in texts for spelling, one in spelled):
            texts.append(spelled[0][0])
    text = "\n".join(texts) or NOTHING
    return ToolOutput.failure(text) if result.is_error else ToolOutput(text)


def told(block: "ContentBlock") -> str:
    """A block's text, or what was left out."""
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            return left_out(block.type, block.mime_type, plural(decoded(block.data), "byte"))
        case "resource":
            return embedded(block)
        case "resource_link":
            return left_out("link to a resource", block.name, block.mime_type or "", str(block.uri))


def embedded(block: "EmbeddedResource") -> str:
    """A resource's text; one of bytes is left out."""
    from mcp.types import TextResourceContents

    resource = block.resource
    if isinstance(resource, TextResourceContents):
        return resource.text
    return left_out("resource", str(resource.uri), resource.mime_type or "", plural(decoded(resource.blob), "byte"))


def left_out(what: str, *facts: str) -> str:
    """The line in the place of what is no text."""
    return f"[left out: {what}, {', '.join(filter(None, facts))}]"


def decoded(base64: str) -> int:
    """Bytes that base64 text stands for."""
    return len(base64) * 3 // 4 - base64[-2:].count("=")


def wrapped(structured: Json) -> Iterable[Json]:
    """What an object with the one field `result` holds: so SDKs make an object of a value that is none."""
    return structured.values() if isinstance(structured, dict) and structured.keys() == {"result"} else ()


def parsed(text: str) -> object:
    """The data that a text is the JSON of; the text itself when it is none, or a very long one."""
    if len(text) > READ:
        return text
    try:
        return cast("object", json.loads(text))
    except (ValueError, RecursionError):
        return text
