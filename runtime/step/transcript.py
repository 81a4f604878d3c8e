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
from .recap import Recap
from .sizes import FRAME, size_of, weight

__all__ = ("Transcript",)


@dataclass(frozen=True, slots=True)
class Transcript:
    """A history that every provider accepts, or one whose last reply awaits its outputs.

    Attributes:
        turns: What was said, oldest first.
        open: The calls of the last reply while their outputs are awaited.
        runs: At which turn each run began of which something is left, oldest first; before the first run, where it
            will begin.
        size: Bytes of all turns, as `sizes.weight` counts them.
        recap: What the first user message was made of, if it stands for turns that were folded away.
        settled: Its bytes when turns in it were last replaced; 0: they never were.
    """

    turns: tuple[Turn, ...] = ()
    open: tuple[ToolCall, ...] = ()
    runs: tuple[int, ...] = (0,)
    size: int = 0
    recap: Recap | None = None
    settled: int = 0

    @classmethod
    def begin(cls, instructions: str) -> Self:
        """A new history with the agent's instructions as its system message, if there are any."""
        turns = (Message(Role.SYSTEM, instructions),) if instructions else ()
        return cls(turns, runs=(len(turns),), size=sum(map(weight, turns)))

    def next_run(self) -> "Transcript":
        """The same history, all of it older than the run that begins now."""
        began = len(self.turns)
        return self if self.since == began else replace(self, runs=(*self.runs, began))

    def replaced(self, turns: tuple[Turn, ...], runs: tuple[int, ...], recap: Recap | None) -> "Transcript":
        """A history of other turns; the fields are as in the attributes.

        Raises:
            HistoryInvalid: A batch is open, providers would refuse the turns, or a run begins nowhere or in a batch.
        """
        self._refuse_open("a change")
        refuse_unpaired(turns)
        places = {place for place, turn in enumerate(turns) if not isinstance(turn, ToolResult)} | {len(turns)}
        if not runs or sorted(places.intersection(runs)) != list(runs):
            raise HistoryInvalid(reason=f"runs cannot begin at {runs}")
        size = sum(map(weight, turns))
        return Transcript(turns, runs=runs, size=size, recap=recap, settled=size)

    def note(self, text: str) -> "Transcript":
        """Append a user message: a task, mail, a hint.

        Raises:
            HistoryInvalid: A batch is open.
        """
        self._refuse_open("a note")
        size = self.size + FRAME + size_of(text)
        return replace(self, turns=(*self.turns, Message(Role.USER, text)), size=size)

    def reply(self, message: Message) -> "Transcript":
        """Append a model's whole reply; its calls open a batch.

        Raises:
            HistoryInvalid: A batch is open, or the message is not the model's.
        """
        self._refuse_open("a reply")
        if message.role is not Role.ASSISTANT:
            raise HistoryInvalid(reason=f"a reply cannot be a {message.role} message")
        return replace(self, turns=(*self.turns, message), open=message.calls, size=self.size + weight(message))

    def close(self, outputs: tuple[str, ...]) -> "Transcript":
        """Close the open batch with one output for each of its calls, in call order.

        Raises:
            HistoryInvalid: No batch is open, or the number of outputs is not the number of calls.
        """
        if not self.open or len(outputs) != len(self.open):
            raise HistoryInvalid(reason=f"{len(outputs)} outputs came for {len(self.open)} open calls")
        results = [
            ToolResult(call_id=call.id, name=call.name, content=content)
            for call, content in zip(self.open, outputs, strict=True)
        ]
        return replace(self, turns=(*self.turns, *results), open=(), size=self.size + sum(map(weight, results)))

    def without_last_note(self, text: str) -> "Transcript":
        """The history without its last turn, if that is the note `text`; for notes that do not stay."""
        last = self.turns[-1] if self.turns else None
        if isinstance(last, Message) and last.role is Role.USER and last.content == text:
            return replace(self, turns=self.turns[:-1], size=self.size - weight(last))
        return self

    @property
    def since(self) -> int:
        """How many of the turns are older than the current run."""
        return self.runs[-1]

    @property
    def of_run(self) -> tuple[Turn, ...]:
        """What was said in the current run."""
        return self.turns[self.since :]

    @property
    def answered(self) -> bool:
        """The model spoke last, in words: nothing stands after that which could be sent to it."""
        last = self.turns[-1] if self.turns else None
        return isinstance(last, Message) and last.role is Role.ASSISTANT and not last.calls

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


def refuse_unpaired(turns: tuple[Turn, ...]) -> None:
    """See that every provider would take the turns.

    Raises:
        HistoryInvalid: It says which turn stands where it cannot.
    """
    due: tuple[ToolCall, ...] = ()
    for place, turn in enumerate(turns):
        if isinstance(turn, ToolResult):
            if not due or (due[0].id, due[0].name) != (turn.call_id, turn.name):
                raise HistoryInvalid(reason=f"turn {place} is an output of {turn.name}, which no call awaits there")
            due = due[1:]
            continue
        if due:
            raise HistoryInvalid(reason=f"turn {place} stands where the output of {due[0].name} belongs")
        if (turn.role is Role.SYSTEM and place) or (turn.calls and turn.role is not Role.ASSISTANT):
            raise HistoryInvalid(reason=f"turn {place} cannot be a {turn.role} message")
        due = turn.calls
    if due:
        raise HistoryInvalid(reason=f"the output of {due[0].name} is missing at the end")
