"""Everything the core knows of an agent, as one frozen value. What it is doing is in `phases`."""

from dataclasses import dataclass, field, replace

from ...protocols.ids import AgentId, RunId
from ...protocols.limits import Limits
from .budget import TokenBudget
from .compaction import Measured
from .correspondence import Chain, Question, hops_after
from .phases import Acting, Doing, Idle, Op, Phase, awaited
from .plan import Plan
from .rules import Rules
from .stall import Window
from .transcript import Transcript

__all__ = ("AgentState", "Run")


FIRST = Op(1)


@dataclass(frozen=True, slots=True)
class Run:
    """One task, or one waking by mail.

    Attributes:
        task: What was asked for; empty when mail woke the agent.
        rounds: Model calls answered so far, those for plan, summaries and compaction left out.
        extra: Rounds that were added to its limit on the way.
        tokens: Prompt and completion tokens of all its model calls so far.
        steps: Steps begun so far.
        step_rounds: Rounds of this Step.
        budget: Prompt tokens of this Step against its limit.
        window: The last tool calls.
        plan: The plan, where the task has one.
        status: The plan's status as it was last written into the transcript.
        instruction: What the model was told to do then.
        hint: What it was last told about a call that it repeats.
        tool_error_hints: Batches of this Step in which a call failed.
        nudged: The model was told once that its reply was empty.
        corrections: How often the model was told that its typed answer has a flaw.
        overflowed: The history was made smaller because a provider found it too long, and no reply came since.
        deadline: The timer that ends the run, where it has one that has not run out.
        timeout: Seconds the run may take; None: any number.
        late: Its time is over: a last answer is all it may still do, and that once.
        preset: Which of the agent's presets is asked, from 0.
        questions: What it was asked by mail and has not answered; its end answers them.
        limit: The most it may spend; None: only the limits above count.
    """

    id: RunId
    task: str = ""
    rounds: int = 0
    extra: int = 0
    tokens: int = 0
    steps: int = 0
    step_rounds: int = 0
    budget: TokenBudget = field(default_factory=TokenBudget)
    window: Window = field(default_factory=Window)
    plan: Plan | None = None
    status: str = ""
    instruction: str = ""
    hint: str = ""
    tool_error_hints: int = 0
    nudged: bool = False
    corrections: int = 0
    overflowed: bool = False
    deadline: Op | None = None
    timeout: float | None = None
    late: bool = False
    preset: int = 0
    questions: tuple[Question, ...] = ()
    limit: Limits | None = None

    @property
    def node(self) -> str | None:
        """The plan's node that is worked on; None without a plan, and once all nodes are over."""
        return None if self.plan is None else self.plan.current


@dataclass(frozen=True, slots=True)
class AgentState:
    """Everything the core knows of an agent.

    Attributes:
        step: Steps of the agent's life so far.
        next_op: The next free `op`.
        run: The run, in every phase but IDLE.
        pause: Why the agent shall pause at the next boundary; None: it shall not.
        measured: What a provider last counted of the transcript; None: nothing since it was last made smaller.
        chains: The newest messages it has read that answer others.
    """

    agent: AgentId
    rules: Rules
    transcript: Transcript
    doing: Doing = field(default_factory=Idle)
    run: Run | None = None
    step: int = 0
    next_op: Op = FIRST
    pause: str | None = None
    measured: Measured | None = None
    chains: tuple[Chain, ...] = ()

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

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools whose calls are under way, in call order; those that wait for a person are none of them."""
        slots = self.doing.slots if isinstance(self.doing, Acting) else ()
        return tuple(slot.call.name for slot in slots if slot.op is not None and slot.output is None and not slot.held)

    @property
    def rounds_left(self) -> int:
        """Rounds the run may still have; never more calls of tools than that."""
        return self.rules.rounds + self.current.extra - self.current.rounds

    def with_op(self) -> tuple["AgentState", Op]:
        """Take the next free op."""
        return replace(self, next_op=Op(self.next_op + 1)), self.next_op

    def noted(self, text: str) -> "AgentState":
        """The agent with a note at the end of its transcript."""
        return replace(self, transcript=self.transcript.note(text))

    def hops_after(self, reply_to: str) -> int:
        """The hops of a message that it sends in answer to `reply_to`; of one that answers none, 0."""
        return hops_after(self.chains, reply_to)

    def awaits(self, op: Op) -> bool:
        """Whether an answer under this op is still wanted."""
        return op in self.open_ops

    @property
    def open_ops(self) -> tuple[Op, ...]:
        """All that is awaited from outside."""
        deadline = (self.run.deadline,) if self.run and self.run.deadline is not None else ()
        return (*awaited(self.doing), *deadline)
