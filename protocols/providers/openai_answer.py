"""The message of a chat completion, read into a `Reply`; for whole answers and, once folded, for streamed ones."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import BadRequest, StreamBroken
from ..messages import Json, Message, Reply, Role
from .answer import finish, read_calls, size
from .base import Draft
from .lenient import items, mapping, sound, sound_fields, text
from .openai_turn import REASONING_SOURCES
from .openai_usage import Counts

__all__ = ("Answer", "no_choices", "read_content", "usage_in")

OWN_FIELDS = frozenset(
    {"role", "content", "tool_calls", "reasoning_content", "reasoning_signature", *REASONING_SOURCES}
)
BROKEN = frozenset({"error", "abort", "insufficient_system_resource"})


def no_choices(request_id: str) -> BadRequest:
    """The error of an answer that holds no message at all."""
    return BadRequest(sentence="The provider's answer has no choices.", request_id=request_id, billed=True)


def usage_in(fields: Mapping[str, Json], choice: Mapping[str, Json]) -> Json:
    """The usage object, which some providers put into the choice or under a name of their own; None without one."""
    return fields.get("usage") or choice.get("usage") or mapping(fields.get("x_groq")).get("usage")


@dataclass(frozen=True, slots=True)
class Answer:
    """What was received of an answer, before it is judged.

    Attributes:
        fields: The message as the provider sent it.
        reason: The finish reason it gave; empty when it gave none.
        counts: The tokens it counted.
        request_id: The id it gave; empty when it gave none.
    """

    fields: Mapping[str, Json]
    reason: str
    counts: Counts
    request_id: str

    def reply(self, draft: Draft, profile: str) -> Reply:
        """The reply; `profile` is who answered.

        Raises:
            StreamBroken: The finish reason says that the provider gave up.
        """
        if self.reason in BROKEN:
            sentence = f"The provider gave up its answer: finish_reason {self.reason}."
            raise StreamBroken(sentence=sentence, request_id=self.request_id)
        message = self._message(len(draft.turns), profile)
        usage = self.counts.usage(draft, size(message))
        return Reply(message, usage, finish(self.reason, message.calls), self.request_id)

    def _message(self, turn: int, profile: str) -> Message:
        fields = self.fields
        content, thinking = read_content(fields.get("content"))
        content = content or text(fields.get("refusal"))
        reasoning, source = read_reasoning(fields, thinking)
        signature = fields.get("reasoning_signature")
        extra: dict[str, Json] = {
            name: value for name, value in fields.items() if name not in OWN_FIELDS and value is not None
        }
        if source:
            extra[source] = fields[source]
        return Message(
            Role.ASSISTANT,
            sound(content),
            calls=read_calls(items(fields.get("tool_calls")), turn),
            reasoning_content=None if reasoning is None else sound(reasoning),
            reasoning_signature=signature if isinstance(signature, str) else None,
            extra=sound_fields(extra),
            profile=profile,
        )


def read_content(content: Json) -> tuple[str, str]:
    """Text and reasoning of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content, ""
    parts = [mapping(part) for part in items(content)]
    said = "".join(text(part.get("text")) for part in parts if part.get("type") != "thinking")
    thought = "".join(read_content(part.get("thinking"))[0] for part in parts)
    return said, thought


def read_reasoning(fields: Mapping[str, Json], thinking: str) -> tuple[str | None, str]:
    """The reasoning, and the field under which it must go back where that is not `reasoning_content`."""
    if told := text(fields.get("reasoning_content")):
        return told, ""
    if told := text(fields.get("reasoning")):
        return told, "reasoning"
    if thinking:
        return thinking, "content"
    empty = fields.get("reasoning_content")
    return (empty if isinstance(empty, str) else None), ""
