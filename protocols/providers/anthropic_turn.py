"""A turn as the Messages API wants it.

User messages that follow each other, results of a batch among them, become one message, results first as they come
first. Therefore a fragment ends inside that message, even inside its last block, and what comes after closes it: the
next fragment, or the tail of the request. So the mark of the prompt cache, which stands on the last block, moves on
from request to request without changing a byte that was sent before.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ..messages import Json, Message, Role, ToolCall, ToolResult, Turn, is_failure
from ..profiles import Profile
from ..thinking import ContentMode
from .lenient import compact, items, mapping, parse, text
from .tool_ids import at_home, result_id, sent_id

__all__ = ("BLOCKS", "BlockWriter", "leading", "plain_blocks")

BLOCKS: Final = "blocks"
"""Where a message's `extra` keeps its blocks, when text, thinking and calls alone do not tell them exactly."""

THOUGHTS: Final = frozenset({"thinking", "redacted_thinking"})
OPENING: Final = b'{"role":"user","content":['
CLOSING: Final = b"}]}"
"""What ends a user message and its last block."""

MARKED: Final = b',"cache_control":{"type":"ephemeral"}' + CLOSING

Blocks = list[dict[str, Json]]


@dataclass(frozen=True, slots=True)
class BlockWriter:
    """Writes turns for one provider.

    Attributes:
        profile: What it is known to need.
        mode: Which thinking goes back.
        cache: Mark the end of what was said for the prompt cache.
    """

    profile: Profile
    mode: ContentMode = ContentMode.OPTIONAL
    cache: bool = False

    def write(self, turns: tuple[Turn, ...], place: int) -> bytes:
        """The JSON text of the turn at `place`; empty for one that is left out, since no message may be empty."""
        blocks = self.blocks(turns, place)
        if not blocks:
            return b""
        before = self.speaker(turns, place)
        # A lone surrogate, from a tool's output perhaps, has no UTF-8 form.
        if role(turns[place]) is Role.ASSISTANT:
            message = compact({"role": "assistant", "content": blocks}).encode("utf-8", "replace")
            return {Role.USER: CLOSING + b",", Role.ASSISTANT: b",", None: b""}[before] + message
        block = compact(blocks[0]).encode("utf-8", "replace").removesuffix(b"}")
        return {Role.USER: b"},", Role.ASSISTANT: b"," + OPENING, None: OPENING}[before] + block

    def close(self, turns: tuple[Turn, ...]) -> bytes:
        """What ends the last message."""
        if self.speaker(turns, len(turns)) is not Role.USER:
            return b""
        return MARKED if self.cache else CLOSING

    def blocks(self, turns: tuple[Turn, ...], place: int) -> Blocks:
        """The content blocks of one turn; the first instructions have none, since they stand elsewhere."""
        turn = turns[place]
        if isinstance(turn, ToolResult):
            return [result_block(turn, result_id(turns, place, self.profile))]
        if turn.role is Role.ASSISTANT:
            return self._said(turn, place)
        if not turn.content.strip() or place < leading(turns):
            return []
        return [{"type": "text", "text": turn.content}]

    def speaker(self, turns: tuple[Turn, ...], place: int) -> Role | None:
        """Who spoke last before `place`: the user or the assistant; None for nobody."""
        for earlier in reversed(range(place)):
            if isinstance(turns[earlier], ToolResult) or self.blocks(turns, earlier):
                return role(turns[earlier])
        return None

    def unthought(self, turns: tuple[Turn, ...]) -> bool:
        """Whether the last answer calls tools without having thought: then no thinking can be asked for."""
        for place in reversed(range(len(turns))):
            if role(turns[place]) is Role.ASSISTANT and (blocks := self.blocks(turns, place)):
                calling = any(block.get("type") == "tool_use" for block in blocks)
                return calling and blocks[0].get("type") not in THOUGHTS
        return False

    def _said(self, turn: Turn, place: int) -> Blocks:
        assert isinstance(turn, Message)  # noqa: S101  results are written elsewhere
        home = at_home(turn, self.profile)
        thoughtful = home and (self.mode is ContentMode.OPTIONAL or (self.mode is ContentMode.BY_TOOL and turn.calls))
        ids = [sent_id(call.id, place, self.profile, home=home) for call in turn.calls]
        kept = stored_blocks(turn, ids) if home and BLOCKS in turn.extra else plain_blocks(turn, ids)
        blocks = [block for block in kept if is_sendable(block, thoughtful=bool(thoughtful))]
        while blocks and blocks[-1].get("type") in THOUGHTS:
            blocks.pop()  # a message may not end in thinking; this one was cut there
        return blocks


def role(turn: Turn) -> Role:
    """Whose message a turn is part of; instructions given later are the user's."""
    return Role.ASSISTANT if isinstance(turn, Message) and turn.role is Role.ASSISTANT else Role.USER


def leading(turns: tuple[Turn, ...]) -> int:
    """How many instructions stand before everything else."""
    count = 0
    while count < len(turns) and is_system(turns[count]):
        count += 1
    return count


def is_system(turn: Turn) -> bool:
    """Whether a turn is an instruction."""
    return isinstance(turn, Message) and turn.role is Role.SYSTEM


def result_block(result: ToolResult, sent: str) -> dict[str, Json]:
    """The output of one call."""
    block: dict[str, Json] = {"type": "tool_result", "tool_use_id": sent}
    if result.content:
        block["content"] = result.content
    if is_failure(result.content):
        block["is_error"] = True
    return block


def plain_blocks(message: Message, ids: list[str]) -> Blocks:
    """The blocks that a message's text, thinking and calls make by themselves."""
    blocks: Blocks = []
    if message.reasoning_content is not None and message.reasoning_signature is not None:
        thinking: dict[str, Json] = {"type": "thinking", "thinking": message.reasoning_content}
        blocks.append(thinking | {"signature": message.reasoning_signature})
    if message.content:
        blocks.append({"type": "text", "text": message.content})
    calls = zip(message.calls, ids, strict=True)
    return blocks + [{"type": "tool_use", **call_fields(call, sent)} for call, sent in calls]


def stored_blocks(message: Message, ids: list[str]) -> Blocks:
    """The blocks as they came, calls filled in from the message's own."""
    calls: Iterator[tuple[ToolCall, str]] = zip(message.calls, ids, strict=True)
    blocks = [mapping(block) for block in items(message.extra.get(BLOCKS))]
    return [block | call_fields(*next(calls)) if block.get("type") == "tool_use" else block for block in blocks]


def call_fields(call: ToolCall, sent: str) -> dict[str, Json]:
    """What tells a call. Arguments that are no JSON object would make every later request be refused."""
    try:
        arguments = mapping(parse(call.arguments))
    except ValueError:
        arguments = {}
    return {"id": sent, "name": call.name, "input": arguments}


def is_sendable(block: dict[str, Json], *, thoughtful: bool) -> bool:
    """Whether a block may go back: no blank text, and thinking only where it is wanted."""
    match block.get("type"):
        case "text":
            return bool(text(block.get("text")).strip())
        case "thinking" | "redacted_thinking":
            return thoughtful
        case _:
            return True
