"""A turn as chat completions want it.

What is written depends on the turn alone, never on its neighbours: that is why a fragment can be used again in every
later request. The turn itself is never changed; what must be left out or mended is so in the copy that is sent.
"""

from dataclasses import dataclass

from ..messages import Json, Message, Role, ToolCall, ToolResult, Turn
from ..presets import ContentMode
from .lenient import compact, is_object

__all__ = ("REASONING_SOURCES", "TurnWriter")

REASONING_SOURCES = ("reasoning", "content")
"""Fields under which some providers send their reasoning; kept in a message's `extra`, they go back as they came."""

REASONING_EXTRA = frozenset({*REASONING_SOURCES, "reasoning_details"})


@dataclass(frozen=True, slots=True)
class TurnWriter:
    """Writes turns for one preset.

    Attributes:
        mode: Which reasoning goes back.
        reasoning_due: Assistant messages without reasoning say so with an empty `reasoning_content`.
        blank: The content of a message that has only calls.
    """

    mode: ContentMode = ContentMode.OPTIONAL
    reasoning_due: bool = False
    blank: str | None = None

    def write(self, turn: Turn) -> bytes:
        """The JSON text of one turn."""
        # A lone surrogate, from a tool's output perhaps, has no UTF-8 form.
        return compact(self._plain(turn)).encode("utf-8", "replace")

    def _plain(self, turn: Turn) -> dict[str, Json]:
        if isinstance(turn, ToolResult):
            return {"role": "tool", "tool_call_id": turn.call_id, "content": turn.content}
        if turn.role is not Role.ASSISTANT:
            return {"role": turn.role.value, "content": turn.content, **turn.extra}
        return self._assistant(turn)

    def _assistant(self, message: Message) -> dict[str, Json]:
        fields: dict[str, Json] = {
            "role": Role.ASSISTANT.value,
            "content": message.content or (self.blank if message.calls else ""),
        }
        if message.calls:
            fields["tool_calls"] = [plain_call(call) for call in message.calls]
        return fields | self._reasoning(message)

    def _reasoning(self, message: Message) -> dict[str, Json]:
        """What the provider sent beside text and calls, as far as the mode lets it go back."""
        if self.mode is ContentMode.OPTIONAL or (self.mode is ContentMode.BY_TOOL and message.calls):
            fields = dict(message.extra)
            if message.reasoning_content is not None and fields.keys().isdisjoint(REASONING_SOURCES):
                fields["reasoning_content"] = message.reasoning_content
            if message.reasoning_signature is not None:
                fields["reasoning_signature"] = message.reasoning_signature
        else:
            fields = {name: value for name, value in message.extra.items() if name not in REASONING_EXTRA}
        if self.reasoning_due and "reasoning" not in fields:
            fields.setdefault("reasoning_content", "")
        return fields


def plain_call(call: ToolCall) -> Json:
    """One call. Arguments that are no JSON object would make the provider refuse this and every later request."""
    arguments = call.arguments if is_object(call.arguments) else "{}"
    function: dict[str, Json] = {"name": call.name, "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function, **call.extra}
