"""What only an agent's process knows of it, for a person who looks: what was said, what waits, what is being said."""

from dataclasses import dataclass
from typing import NamedTuple

from .ids import AgentId, MessageId

__all__ = ("NOTHING", "Called", "Heard", "Insight", "Letter", "Said", "Spoken")


@dataclass(frozen=True, slots=True)
class Called:
    """A call that a model asked for; `arguments` is its JSON text, as far as it is shown."""

    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Said:
    """One element of a transcript.

    Attributes:
        role: `system`, `user`, `assistant`, or `tool` for the output of a call.
        text: What was said, as far as it is shown.
        reasoning: What the model thought before, as far as it is shown; empty: nothing, or it is not told.
        calls: What it asked for.
        tool: Whose output it is.
        cut: Characters of text, reasoning and arguments that are left out.
    """

    role: str
    text: str
    reasoning: str = ""
    calls: tuple[Called, ...] = ()
    tool: str = ""
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Letter:
    """A message that waits in a mailbox.

    Attributes:
        kind: `peer`, `question` or `note`.
        body: Its text, as far as it is shown.
        created: Unix seconds when it was written.
        cut: Characters of it that are left out.
    """

    id: MessageId
    sender: AgentId
    kind: str
    body: str
    created: float
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Insight:
    """An agent as it is at one moment.

    Attributes:
        agent: Its name.
        step: Steps of its life so far.
        earlier: Elements of the transcript that are left out before those given.
        transcript: The newest ones, oldest first.
        waiting: Messages in the mailbox.
        mailbox: The oldest of them, oldest first.
    """

    agent: AgentId
    step: int
    earlier: int = 0
    transcript: tuple[Said, ...] = ()
    waiting: int = 0
    mailbox: tuple[Letter, ...] = ()


class Heard(NamedTuple):
    """How far somebody has heard an agent: so many pieces of one reply, and whether it is known to be over."""

    reply: str
    pieces: int
    over: bool


NOTHING = Heard("", 0, over=True)
"""Who has heard nothing yet."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What came of a reply beyond what somebody has heard. It may never become part of the transcript.

    Attributes:
        heard: How far one has heard it with this.
        begins: It is the reply's beginning.
        text: The pieces of its text, together.
        reasoning: The pieces of its reasoning, together.
    """

    heard: Heard
    begins: bool = False
    text: str = ""
    reasoning: str = ""
