"""The content blocks of a Messages answer, read into a `Reply`; for whole answers and streamed ones."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..errors import BadRequest
from ..messages import Json, Message, Reply, Role
from .answer import finish, read_calls, size
from .anthropic_turn import BLOCKS, plain_blocks
from .anthropic_usage import Counts
from .base import Draft
from .lenient import sound, sound_fields, text

__all__ = ("Answer", "Block", "no_content")

Block = dict[str, Json]
STOP_DETAILS = "stop_details"
"""Where a message's `extra` keeps why its provider refused; it never goes back."""

SAID_BY_CALLS = frozenset({"id", "name", "input"})


def no_content(request_id: str) -> BadRequest:
    """The error of an answer that holds no message at all."""
    return BadRequest(sentence="The provider's answer has no content.", request_id=request_id, billed=True)


@dataclass(frozen=True, slots=True)
class Answer:
    """What was received of an answer, before it is judged.

    Attributes:
        blocks: Its content; the input of a call may be JSON text, as streams bring it.
        reason: Why the model stopped; empty when it was not said.
        details: What the provider adds to the reason.
        counts: The tokens it counted.
        request_id: The id it gave; empty when it gave none.
    """

    blocks: tuple[Block, ...]
    reason: str
    details: Mapping[str, Json]
    counts: Counts
    request_id: str

    def reply(self, draft: Draft, profile: str) -> Reply:
        """The reply; `profile` is who answered."""
        message = self._message(len(draft.turns), profile)
        usage = self.counts.usage(draft, size(message))
        return Reply(message, usage, finish(self.reason, message.calls), self.request_id)

    def _message(self, turn: int, profile: str) -> Message:
        calls = read_calls([as_call(block) for block in self.blocks if is_call(block)], turn)
        signatures = self._all("thinking", "signature")
        message = Message(
            Role.ASSISTANT,
            sound("".join(self._all("text", "text"))),
            calls=calls,
            reasoning_content=sound("".join(self._all("thinking", "thinking"))) if signatures else None,
            reasoning_signature=signatures[-1] if signatures else None,
            profile=profile,
        )
        kept: list[Json] = [stored(block) for block in self.blocks]
        told: list[Json] = [stored(block) for block in plain_blocks(message, [call.id for call in calls])]
        extra: dict[str, Json] = {STOP_DETAILS: dict(self.details)} if self.details else {}
        if kept and kept != told:
            extra[BLOCKS] = kept
        return replace(message, extra=sound_fields(extra))

    def _all(self, kind: str, name: str) -> list[str]:
        return [text(block.get(name)) for block in self.blocks if block.get("type") == kind]


def is_call(block: Block) -> bool:
    """Whether a block calls a tool of ours."""
    return block.get("type") == "tool_use"


def as_call(block: Block) -> Json:
    """A call in the shape that chat completions give it."""
    function: Json = {"name": block.get("name"), "arguments": block.get("input")}
    return {"id": block.get("id"), "function": function}


def stored(block: Block) -> Block:
    """A block as a message keeps it: of a call only what the call itself does not say."""
    told = SAID_BY_CALLS if is_call(block) else ()
    return {name: value for name, value in block.items() if value is not None and name not in told}
