"""A streamed Messages answer."""

from collections.abc import Mapping
from typing import Final

from ..messages import Json, Reply
from .anthropic_answer import Answer, Block, no_content
from .anthropic_usage import Counts
from .base import Delta, Draft
from .lenient import items, mapping, text
from .request_id import request_id
from .stream import AnswerStream

__all__ = ("MessageStream",)

GROWING: Final = {"text_delta": "text", "thinking_delta": "thinking"}
KINDS: Final = {"text_delta": "text", "input_json_delta": "tool_use"}
"""The kind of a block whose beginning never came; of all others it is `thinking`."""


class MessageStream(AnswerStream):
    """Reads one streamed Messages answer."""

    def __init__(self, headers: Mapping[str, str], draft: Draft, profile: str) -> None:
        """Begin; `headers` have names in lower case, `profile` is who answers."""
        super().__init__(headers, draft)
        self._profile = profile
        self._blocks: dict[Json, Block] = {}
        self._inputs: dict[Json, str] = {}
        self._details: Mapping[str, Json] = {}
        self._counts = Counts()

    def _reply(self) -> Reply:
        if not self._spoken:
            raise no_content(self._request_id)
        blocks = tuple(self._whole(index, block) for index, block in self._blocks.items())
        answer = Answer(blocks, self._reason, self._details, self._counts, self._request_id)
        return answer.reply(self._draft, self._profile)

    def _whole(self, index: Json, block: Block) -> Block:
        told = self._inputs.get(index, "")
        return block | {"input": told} if told.strip() else block

    def _take_event(self, event: Mapping[str, Json]) -> tuple[Delta, ...]:
        match event.get("type"):
            case "message_start":
                self._begin(mapping(event.get("message")))
            case "content_block_start":
                return self._begin_block(event.get("index"), mapping(event.get("content_block")))
            case "content_block_delta":
                return self._grow(event.get("index"), mapping(event.get("delta")))
            case "message_delta":
                self._end(event)
            case "message_stop":
                self._done = True
            case _:
                pass  # a ping, the end of a block, or what a later version of the format adds
        return ()

    def _begin(self, message: Mapping[str, Json]) -> None:
        """A message begins; one that begins in the midst of another is that answer over again, told from its start."""
        self._spoken = True
        self._blocks.clear()
        self._inputs.clear()
        self._counts = self._counts.merge(Counts.read(message.get("usage")))
        self._request_id = request_id(self._headers, dict(message)) or self._request_id

    def _begin_block(self, index: Json, block: Block) -> tuple[Delta, ...]:
        self._spoken = True
        self._blocks[index] = block
        return shown(text(block.get("text")), text(block.get("thinking")))

    def _grow(self, index: Json, delta: Mapping[str, Json]) -> tuple[Delta, ...]:
        kind = text(delta.get("type"))
        if index not in self._blocks:
            self._begin_block(index, {"type": KINDS.get(kind, "thinking")})
        block = self._blocks[index]
        match kind:
            case "text_delta" | "thinking_delta":
                name = GROWING[kind]
                block[name] = text(block.get(name)) + text(delta.get(name))
                return shown(text(delta.get("text")), text(delta.get("thinking")))
            case "signature_delta":
                block["signature"] = delta.get("signature")
            case "input_json_delta":
                self._inputs[index] = self._inputs.get(index, "") + text(delta.get("partial_json"))
            case "citations_delta":
                block["citations"] = [*items(block.get("citations")), delta.get("citation")]
            case _:
                pass  # of a later version of the format
        return ()

    def _end(self, event: Mapping[str, Json]) -> None:
        delta = mapping(event.get("delta"))
        self._reason = text(delta.get("stop_reason")) or self._reason
        self._details = mapping(delta.get("stop_details"))
        self._counts = self._counts.merge(Counts.read(event.get("usage")))


def shown(said: str, thought: str) -> tuple[Delta, ...]:
    """What of an event can be shown."""
    return tuple(each for each in (Delta(thought, reasoning=True), Delta(said)) if each.text)
