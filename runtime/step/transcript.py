"""The messages sent to a model, as a value that cannot hold an invalid history.

Providers refuse a history in which a call lacks its output, an output lacks its call, or anything stands between the
two. So a reply with calls opens a batch; only the outputs of all its calls, in call order, close it; and notes are
taken only while no batch is open. Pairing is by place within the batch, never by id across the conversation, because
providers use ids again.
"""

from dataclasses import dataclass, replace
from typing import Self

from ...protocols.messages import Message, Role, ToolCall, ToolResult, Turn
from ..errors import HistoryInvalid

__all__ = ("Transcript",)


@dataclass(frozen=True, slots=True)
class Transcript:
    """A history that every provider accepts, or one whose last reply awaits its outputs.

    Attributes:
        turns: What was said, oldest first.
        open: The calls of the last reply while their outputs are awaited.
        since: How many of the turns are older than the current run.
    """

    turns: tuple[Turn, ...] = ()
    open: tuple[ToolCall, ...] = ()
    since: int = 0

    @classmethod
    def begin(cls, instructions: str) -> Self:
        """A new history with the agent's instructions as its system message, if there are any."""
        turns = (Message(Role.SYSTEM, instructions),) if instructions else ()
        return cls(turns, since=len(turns))

    def next_run(self) -> "Transcript":
        """The same history, all of it older than the run that begins now."""
        return replace(self, since=len(self.turns))

    def note(self, text: str) -> "Transcript":
        """Append a user message: a task, mail, a hint.

        Raises:
            HistoryInvalid: A batch is open.
        """
        self._refuse_open("a note")
        return replace(self, turns=(*self.turns, Message(Role.USER, text)))

    def reply(self, message: Message) -> "Transcript":
        """Append a model's whole reply; its calls open a batch.

        Raises:
            HistoryInvalid: A batch is open, or the message is not the model's.
        """
        self._refuse_open("a reply")
        if message.role is not Role.ASSISTANT:
            raise HistoryInvalid(reason=f"a reply cannot be a {message.role} message")
        return replace(self, turns=(*self.turns, message), open=message.calls)

    def close(self, outputs: tuple[str, ...]) -> "Transcript":
        """Close the open batch with one output for each of its calls, in call order.

        Raises:
            HistoryInvalid: No batch is open, or the number of outputs is not the number of calls.
        """
        if not self.open or len(outputs) != len(self.open):
            raise HistoryInvalid(reason=f"{len(outputs)} outputs came for {len(self.open)} open calls")
        results = (
            ToolResult(call_id=call.id, name=call.name, content=content)
            for call, content in zip(self.open, outputs, strict=True)
        )
        return replace(self, turns=(*self.turns, *results), open=())

    def without_last_note(self, text: str) -> "Transcript":
        """The history without its last turn, if that is the note `text`; for notes that do not stay."""
        last = self.turns[-1] if self.turns else None
        if isinstance(last, Message) and last.role is Role.USER and last.content == text:
            return replace(self, turns=self.turns[:-1])
        return self

    @property
    def of_run(self) -> tuple[Turn, ...]:
        """What was said in the current run."""
        return self.turns[self.since :]

    @property
    def last_text(self) -> str:
        """The newest text of the model in the current run; empty when it has said nothing yet."""
        for turn in reversed(self.of_run):
            if isinstance(turn, Message) and turn.role is Role.ASSISTANT and turn.content.strip():
                return turn.content
        return ""

    def _refuse_open(self, what: str) -> None:
        if self.open:
            names = ", ".join(call.name for call in self.open)
            raise HistoryInvalid(reason=f"{what} cannot stand between the calls of {names} and their outputs")
