"""What a model is asked and what it says, in no wire format.

The simulator judges the adapters in `protocols/providers`, so it shares no code with them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ...protocols.messages import Json

__all__ = ("Answer", "Call", "Conversation", "Done", "Request", "Said")


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call; `id` stays empty until the call goes over the wire."""

    name: str
    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    id: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a request.

    Attributes:
        role: `system`, `user`, `assistant` or `tool`.
        content: Its text; that of several parts is joined.
        calls: What an assistant message called.
        call_id: The call that a tool message answers.
        reasoning: The reasoning that came back; None when the field is missing.
    """

    role: str
    content: str
    calls: tuple[Call, ...] = ()
    call_id: str = ""
    reasoning: str | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """A call and its output."""

    call: Call
    output: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model says: a text, calls, or both. An empty `reasoning` is filled in for a thinking model."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A request as the model reads it: every call has its output directly after it.

    Attributes:
        model: The model's name.
        messages: What was said, oldest first.
        tools: Names of the tools that may be called now; empty when the request forbids calls.
    """

    model: str
    messages: tuple[Said, ...]
    tools: tuple[str, ...] = ()

    @property
    def system(self) -> str:
        """All system messages, a blank line between two."""
        return "\n\n".join(said.content for said in self.messages if said.role == "system")

    @property
    def last(self) -> Said:
        """The newest message."""
        return self.messages[-1]

    @property
    def rounds(self) -> int:
        """How many times the model has spoken since the newest user message."""
        roles = [said.role for said in self.messages]
        since = roles[::-1].index("user") if "user" in roles else len(roles)
        return roles[len(roles) - since :].count("assistant")

    def newest(self, role: str) -> str:
        """The text of the newest message of `role`; empty when there is none."""
        return next((said.content for said in reversed(self.messages) if said.role == role), "")

    def events(self) -> Iterator[Said | Done]:
        """User messages and finished calls, oldest first; the calls of one message in call order."""
        for place, said in enumerate(self.messages):
            if said.role == "user":
                yield said
            outputs = {after.call_id: after.content for after in self.messages[place + 1 : place + 1 + len(said.calls)]}
            yield from (Done(call, outputs[call.id]) for call in said.calls)


@dataclass(frozen=True, slots=True)
class Request:
    """A valid request.

    Attributes:
        conversation: What the model reads.
        thinking: The model reasons before it answers.
        stream: The answer is wanted as server-sent events.
        include_usage: The stream ends with a chunk that holds the usage.
        cap: The most output tokens; None: no limit.
    """

    conversation: Conversation
    thinking: bool = False
    stream: bool = False
    include_usage: bool = False
    cap: int | None = None
