"""What an agent is doing, as one frozen value.

`AgentState.doing` is one of the classes below, each holding just what its phase needs, so a state that no phase
describes cannot be built. `op` numbers name what is awaited from outside: an answer that carries another number is
late, and the driver drops it.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import reduce
from typing import ClassVar, NewType, TypeAlias, assert_never

from ...protocols.ids import AgentId, MessageId, RunId
from ...protocols.messages import ToolCall
from ...protocols.outcome import Ending, Limit, Outcome
from .budget import TokenBudget
from .rules import Rules
from .stall import Window
from .transcript import Transcript

__all__ = (
    "Acting",
    "AgentState",
    "Ask",
    "AskStage",
    "Doing",
    "Done",
    "Entering",
    "Idle",
    "Leaving",
    "Mail",
    "Op",
    "Paused",
    "Phase",
    "Rules",
    "Run",
    "Slot",
    "Thinking",
    "WaitFor",
    "Waiting",
    "WindingDown",
)

Op = NewType("Op", int)
"""Names one thing awaited from outside; never used twice in an agent's life."""


class Phase(StrEnum):
    """What an agent is doing, in one word."""

    IDLE = "idle"
    ENTERING = "entering"
    THINKING = "thinking"
    ACTING = "acting"
    LEAVING = "leaving"
    WAITING = "waiting"
    WINDING_DOWN = "winding_down"
    PAUSED = "paused"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Mail:
    """A message as it enters the transcript."""

    id: MessageId
    sender: AgentId
    body: str
    reply_to: str = ""


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
    """

    op: Op = Op(0)
    stage: AskStage = AskStage.LEAVE
    failures: int = 0
    resumed: bool = False
    waited: float = 0.0


@dataclass(frozen=True, slots=True)
class Slot:
    """One call of a batch: awaited under `op`, or ended with `output`."""

    call: ToolCall
    signature: str
    op: Op | None
    output: str | None = None
    digest: str = ""
    cancelled: bool = False
    wait: WaitFor | None = None


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
class Thinking:
    """The model is asked."""

    ask: Ask
    phase: ClassVar[Phase] = Phase.THINKING


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


@dataclass(frozen=True, slots=True)
class Leaving:
    """At the end of a Step: a look at the mailbox is awaited, then `answer` ends the run or `wait` begins."""

    op: Op
    answer: str | None = None
    wait: WaitFor | None = None
    phase: ClassVar[Phase] = Phase.LEAVING


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


@dataclass(frozen=True, slots=True)
class Paused:
    """Nothing is begun until resumed; then `was` is taken up again, or, where it is None, the next Step begins."""

    was: Thinking | WindingDown | None
    reason: str
    phase: ClassVar[Phase] = Phase.PAUSED


@dataclass(frozen=True, slots=True)
class Done:
    """The run has ended and its outcome is on its way out."""

    op: Op
    outcome: Outcome
    phase: ClassVar[Phase] = Phase.DONE


Doing: TypeAlias = Idle | Entering | Thinking | Acting | Leaving | Waiting | WindingDown | Paused | Done


@dataclass(frozen=True, slots=True)
class Run:
    """One task, or one waking by mail.

    Attributes:
        rounds: Model calls answered so far.
        tokens: Prompt and completion tokens so far.
        steps: Steps begun so far.
        step_rounds: Rounds of this Step.
        budget: Prompt tokens of this Step against its limit.
        window: The last tool calls.
        nudged: The model was told once that its reply was empty.
        deadline: The timer that ends the run, where it has one.
        preset: Which of the agent's presets is asked, from 0.
    """

    id: RunId
    rounds: int = 0
    tokens: int = 0
    steps: int = 0
    step_rounds: int = 0
    budget: TokenBudget = field(default_factory=TokenBudget)
    window: Window = field(default_factory=Window)
    nudged: bool = False
    deadline: Op | None = None
    preset: int = 0


@dataclass(frozen=True, slots=True)
class AgentState:
    """Everything the core knows of an agent.

    Attributes:
        step: Steps of the agent's life so far.
        next_op: The next free `op`.
        run: The run, in every phase but IDLE.
        pause: Why the agent shall pause at the next boundary; None: it shall not.
    """

    agent: AgentId
    rules: Rules
    transcript: Transcript
    doing: Doing = field(default_factory=Idle)
    run: Run | None = None
    step: int = 0
    next_op: Op = Op(1)
    pause: str | None = None

    @classmethod
    def begin(cls, agent: AgentId, rules: Rules) -> "AgentState":
        """An agent that has not lived yet."""
        return cls(agent, rules, Transcript.begin(rules.instructions))

    @property
    def phase(self) -> Phase:
        """What the agent is doing, in one word."""
        return self.doing.phase

    @property
    def current(self) -> Run:
        """The run; only where the phase says that there is one."""
        assert self.run is not None, self.phase  # noqa: S101  every phase but IDLE has a run
        return self.run

    def with_op(self) -> tuple["AgentState", Op]:
        """Take the next free op."""
        return replace(self, next_op=Op(self.next_op + 1)), self.next_op

    def awaits(self, op: Op) -> bool:
        """Whether an answer under this op is still wanted."""
        return op in self.open_ops

    @property
    def open_ops(self) -> tuple[Op, ...]:
        """All that is awaited from outside."""
        deadline = (self.run.deadline,) if self.run and self.run.deadline is not None else ()
        return (*awaited(self.doing), *deadline)


def awaited(doing: Doing) -> tuple[Op, ...]:
    """What a phase itself awaits."""
    match doing:
        case Entering(op=op) | Leaving(op=op) | Waiting(op=op) | Done(op=op):
            return (op,)
        case Thinking(ask=ask) | WindingDown(ask=ask):
            return (ask.op,)
        case Acting(slots=slots):
            return tuple(slot.op for slot in slots if slot.op is not None and slot.output is None)
        case Idle() | Paused():
            return ()
        case _ as unknown:
            assert_never(unknown)
