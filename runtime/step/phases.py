"""What an agent is doing: one class for each phase, each holding just what its phase needs.

So what a phase does not need cannot be in it. `op` numbers name what is awaited from outside: an answer that
carries another number is late, and the driver drops it.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import reduce
from typing import ClassVar, NewType, TypeAlias, assert_never

from ...protocols.ids import AgentId, MessageId
from ...protocols.messages import Json, ToolCall
from ...protocols.outcome import Ending, Limit, Outcome

__all__ = (
    "Acting",
    "After",
    "Answer",
    "Aside",
    "Ask",
    "AskStage",
    "Asking",
    "Compacting",
    "Decomposing",
    "Doing",
    "Done",
    "Entering",
    "Idle",
    "Leaving",
    "Mail",
    "NodeDone",
    "Op",
    "Paused",
    "Phase",
    "Purpose",
    "Slot",
    "Summarising",
    "Thinking",
    "WaitFor",
    "Waiting",
    "WindingDown",
    "awaited",
)

Op = NewType("Op", int)
"""Names one thing awaited from outside; never used twice in an agent's life."""


NONE = Op(0)
"""No op: nothing is awaited yet."""


class Phase(StrEnum):
    """What an agent is doing, in one word."""

    IDLE = "idle"
    ENTERING = "entering"
    DECOMPOSING = "decomposing"
    THINKING = "thinking"
    ACTING = "acting"
    SUMMARISING = "summarising"
    LEAVING = "leaving"
    COMPACTING = "compacting"
    WAITING = "waiting"
    WINDING_DOWN = "winding_down"
    PAUSED = "paused"
    DONE = "done"


class Purpose(StrEnum):
    """What a model is asked for. All but `THINK` are requests without tools, written for that purpose."""

    THINK = "think"
    LAST = "last_answer"
    DECOMPOSE = "decompose"
    SUMMARISE = "summarise"
    COMPACT = "compact"


@dataclass(frozen=True, slots=True)
class Mail:
    """A message as it enters the transcript.

    Attributes:
        hops: Answers to answers that it ends.
        question: Its sender waits for an answer.
    """

    id: MessageId
    sender: AgentId
    body: str
    reply_to: str = ""
    hops: int = 0
    question: bool = False


@dataclass(frozen=True, slots=True)
class WaitFor:
    """What the agent waits for: mail of `senders` (empty: anybody's), for at most `seconds`."""

    senders: tuple[AgentId, ...]
    seconds: float

    def joined(self, other: "WaitFor") -> "WaitFor":
        """Wait for either, as long as the longer one: several calls of one reply may ask to wait."""
        anybody = not self.senders or not other.senders
        senders = () if anybody else tuple(dict.fromkeys((*self.senders, *other.senders)))
        return WaitFor(senders, max(self.seconds, other.seconds))


class AskStage(StrEnum):
    """How far a model call is: waiting for leave, for a timer, or for the model."""

    LEAVE = "leave"
    TIMER = "timer"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class Ask:
    """A model call on its way. Each attempt asks for leave anew.

    Attributes:
        failures: Attempts that failed in a row.
        resumed: A pause was ended while leave was awaited, so an answer that says to pause may be older than that.
        waited: Seconds spent so far on waits that the Supervisor asked for, before this attempt.
        queued: It has had to wait for its turn at the provider before this attempt, which counts for nothing else.
        tools: How many calls of tools the reply may make; None: any number.
    """

    op: Op = NONE
    stage: AskStage = AskStage.LEAVE
    failures: int = 0
    resumed: bool = False
    waited: float = 0.0
    queued: bool = False
    tools: int | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """One call of a batch: awaited under `op`, or ended with `output`.

    Attributes:
        op: None: it was ended without being run.
        held: Why a person must allow it first; while that is so, `op` awaits the person's answer.
        quiet: Its output, failed or not, calls for no hint to the model.
        key: The first op it was awaited under, which names the call in every life of the agent.
        safe: Its tool may run again where nobody knows whether it ran.
        approved: A person has allowed it.
        rewritten: The arguments that a person decides about, and that run in place of the model's own; empty: its own.
    """

    call: ToolCall
    signature: str
    op: Op | None
    output: str | None = None
    digest: str = ""
    cancelled: bool = False
    wait: WaitFor | None = None
    held: str = ""
    quiet: bool = False
    key: Op = NONE
    safe: bool = False
    approved: bool = False
    rewritten: str = ""

    @property
    def runs(self) -> ToolCall:
        """The call that runs, and that a person is shown; `call` is the model's own, which its transcript keeps."""
        return replace(self.call, arguments=self.rewritten) if self.rewritten else self.call

    def awaited_under(self, op: Op) -> "Slot":
        """The call when it is begun, for the first time or anew."""
        return replace(self, op=op, key=self.key or op)


@dataclass(frozen=True, slots=True)
class Idle:
    """No run."""

    phase: ClassVar[Phase] = Phase.IDLE


@dataclass(frozen=True, slots=True)
class Entering:
    """At the beginning of a Step: the mail that fits is awaited."""

    op: Op
    phase: ClassVar[Phase] = Phase.ENTERING


@dataclass(frozen=True, slots=True)
class Decomposing:
    """The model is asked whether the task is simple or a plan; `flaw` says why its last plan was none."""

    ask: Ask
    flaw: str = ""
    phase: ClassVar[Phase] = Phase.DECOMPOSING
    purpose: ClassVar[Purpose] = Purpose.DECOMPOSE


@dataclass(frozen=True, slots=True)
class Thinking:
    """The model is asked."""

    ask: Ask
    phase: ClassVar[Phase] = Phase.THINKING
    purpose: ClassVar[Purpose] = Purpose.THINK


@dataclass(frozen=True, slots=True)
class Acting:
    """The calls of a reply run."""

    slots: tuple[Slot, ...]
    phase: ClassVar[Phase] = Phase.ACTING

    @property
    def wait(self) -> WaitFor | None:
        """What the calls asked to wait for, whatever order they ended in."""
        waits = [slot.wait for slot in self.slots if slot.wait is not None]
        return reduce(WaitFor.joined, waits) if waits else None

    @property
    def over(self) -> bool:
        """Every call has its output."""
        return all(slot.output is not None for slot in self.slots)


@dataclass(frozen=True, slots=True)
class Summarising:
    """The model is asked what a plan's node came to; `answer` is what it said at the node's end."""

    ask: Ask
    answer: str
    phase: ClassVar[Phase] = Phase.SUMMARISING
    purpose: ClassVar[Purpose] = Purpose.SUMMARISE


@dataclass(frozen=True, slots=True)
class Answer:
    """The run ends with this.

    Attributes:
        output: The validated value of a typed answer.
        flaw: What the person who asked must know of the answer; empty: nothing.
    """

    text: str
    output: Json = None
    flaw: str = ""


@dataclass(frozen=True, slots=True)
class NodeDone:
    """The plan's current node is done, and came to this."""

    summary: str


After: TypeAlias = Answer | NodeDone | WaitFor | None
"""What is to follow a Step; None: the next one."""


@dataclass(frozen=True, slots=True)
class Leaving:
    """At the end of a Step: a look at the mailbox is awaited; `then` follows, unless mail wants another Step first."""

    op: Op
    then: After = None
    phase: ClassVar[Phase] = Phase.LEAVING


@dataclass(frozen=True, slots=True)
class Compacting:
    """The model is asked to summarise what is to go from the history, because `why`; a strategy keeps `keep` rounds."""

    ask: Ask
    why: str
    keep: int | None = None
    phase: ClassVar[Phase] = Phase.COMPACTING
    purpose: ClassVar[Purpose] = Purpose.COMPACT


@dataclass(frozen=True, slots=True)
class Waiting:
    """Mail is awaited, until the timer `op` fires."""

    op: Op
    wait: WaitFor
    phase: ClassVar[Phase] = Phase.WAITING


@dataclass(frozen=True, slots=True)
class WindingDown:
    """A last answer is asked for, tools off; then the run ends as `ending` says."""

    ask: Ask
    ending: Ending
    reason: str
    limit: Limit | None = None
    phase: ClassVar[Phase] = Phase.WINDING_DOWN
    purpose: ClassVar[Purpose] = Purpose.LAST


Asking: TypeAlias = Decomposing | Thinking | Summarising | Compacting | WindingDown
"""The phases in which a model is asked."""


Aside: TypeAlias = Decomposing | Summarising | Compacting
"""Those in which it is asked for something that the run can do without."""


@dataclass(frozen=True, slots=True)
class Paused:
    """Nothing is begun until resumed; then `was` is taken up again, or, where it is None, the next Step begins."""

    was: Asking | None
    reason: str
    phase: ClassVar[Phase] = Phase.PAUSED


@dataclass(frozen=True, slots=True)
class Done:
    """The run has ended and its outcome is on its way out."""

    op: Op
    outcome: Outcome
    phase: ClassVar[Phase] = Phase.DONE


Doing: TypeAlias = Idle | Entering | Asking | Acting | Leaving | Waiting | Paused | Done


def awaited(doing: Doing) -> tuple[Op, ...]:
    """What a phase itself awaits."""
    match doing:
        case Entering(op=op) | Leaving(op=op) | Waiting(op=op) | Done(op=op):
            return (op,)
        case Decomposing() | Thinking() | Summarising() | Compacting() | WindingDown():
            return (doing.ask.op,)
        case Acting(slots=slots):
            return tuple(slot.op for slot in slots if slot.op is not None and slot.output is None)
        case Idle() | Paused():
            return ()
        case _ as unknown:
            assert_never(unknown)
