"""A turn as chat completions want it.

What is written depends on the turn and on those before it, never on a later one: that is why a fragment can be used
again in every later request. The turn itself is never changed; what must be left out or mended is so in the copy that
is sent.
"""

from dataclasses import dataclass

from ..messages import Json, Message, Role, ToolCall, ToolResult, Turn
from ..profiles import Profile
from ..thinking import ContentMode
from .lenient import compact, is_object
from .tool_ids import at_home, result_id, sent_id

__all__ = ("REASONING_SOURCES", "TurnWriter")

REASONING_SOURCES = ("reasoning", "content")
"""Fields under which some providers send their reasoning; kept in a message's `extra`, they go back as they came."""

REASONING_EXTRA = frozenset({*REASONING_SOURCES, "reasoning_details"})


@dataclass(frozen=True, slots=True)
class TurnWriter:
    """Writes turns for one provider.

    Attributes:
        profile: What it is known to need.
        mode: Which reasoning goes back.
        reasoning_due: Assistant messages without reasoning say so with an empty field.
    """

    profile: Profile
    mode: ContentMode = ContentMode.OPTIONAL
    reasoning_due: bool = False

    def write(self, turns: tuple[Turn, ...], place: int) -> bytes:
        """The JSON text of the turn at `place`, with the comma before it."""
        # A lone surrogate, from a tool's output perhaps, has no UTF-8 form.
        written = compact(self._plain(turns, place)).encode("utf-8", "replace")
        return b"," + written if place else written

    def _plain(self, turns: tuple[Turn, ...], place: int) -> dict[str, Json]:
        turn = turns[place]
        if isinstance(turn, ToolResult):
            return {
                "role": "tool",
                "tool_call_id": result_id(turns, place, self.profile),
                "content": turn.content,
            }
        if turn.role is Role.ASSISTANT:
            return self._assistant(turn, place)
        role = self.profile.system_role if turn.role is Role.SYSTEM else turn.role.value
        return {"role": role, "content": turn.content, **turn.extra}

    def _assistant(self, message: Message, place: int) -> dict[str, Json]:
        fields: dict[str, Json] = {
            "role": Role.ASSISTANT.value,
            "content": message.content or (self.profile.blank if message.calls else ""),
        }
        home = at_home(message, self.profile)
        if message.calls:
            ids = (sent_id(call.id, place, self.profile, home=home) for call in message.calls)
            fields["tool_calls"] = [
                plain_call(call, sent, home=home) for call, sent in zip(message.calls, ids, strict=True)
            ]
        fields |= self._beside(message) if home else {}
        if self.reasoning_due and "reasoning" not in fields:
            fields.setdefault(self.profile.reasoning_field, "")
        return fields

    def _beside(self, message: Message) -> dict[str, Json]:
        """What this provider itself sent beside text and calls, as far as the mode lets it go back."""
        if self.mode is ContentMode.NEVER or (self.mode is ContentMode.BY_TOOL and not message.calls):
            return {name: value for name, value in message.extra.items() if name not in REASONING_EXTRA}
        fields = dict(message.extra)
        if not self.profile.reasoning_field:
            return fields
        if message.reasoning_content is not None and fields.keys().isdisjoint(REASONING_SOURCES):
            fields[self.profile.reasoning_field] = message.reasoning_content
        if message.reasoning_signature is not None:
            fields["reasoning_signature"] = message.reasoning_signature
        return fields


def plain_call(call: ToolCall, sent: str, *, home: bool) -> Json:
    """One call. Arguments that are no JSON object would make the provider refuse this and every later request."""
    arguments = call.arguments if is_object(call.arguments) else "{}"
    function: dict[str, Json] = {"name": call.name, "arguments": arguments}
    return {"id": sent, "type": "function", "function": function, **(call.extra if home else {})}
