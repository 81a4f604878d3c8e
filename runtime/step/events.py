"""What happens to an agent. Events are past participles; `op` names what they answer."""

from dataclasses import dataclass
from typing import TypeAlias

from ...protocols.checkin import Directive
from ...protocols.ids import AgentId, RunId
from ...protocols.limits import Limits
from ...protocols.messages import Json, Reply
from ...protocols.waits import Endless
from .phases import Mail, Op, WaitFor

__all__ = (
    "Asked",
    "CallFacts",
    "DeadlinePassed",
    "Decided",
    "Directed",
    "Event",
    "Extended",
    "Finished",
    "MailArrived",
    "MailSeen",
    "MailTaken",
    "ModelFailed",
    "PauseAsked",
    "Replied",
    "Resumed",
    "Revived",
    "Stopped",
    "TimerFired",
    "ToolEnded",
    "ToolHeld",
    "WaitEnded",
    "Woken",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody gave the agent a task.

    Attributes:
        timeout: Seconds the run may take; None: any number.
        said: What they added before it began.
        limit: The most it may spend; None: only the limits above count.
    """

    run: RunId
    task: str
    timeout: float | None = None
    said: tuple[str, ...] = ()
    limit: Limits | None = None


@dataclass(frozen=True, slots=True)
class Woken:
    """Mail came to an idle agent; `timeout` as in `Asked`."""

    run: RunId
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class MailTaken:
    """The mail that fits was read; it leaves the mailbox with the commit that follows.

    Attributes:
        notes: What hooks add to the Step's beginning.
        refused: Why a hook ends the run here; None: it does not.
    """

    op: Op
    mails: tuple[Mail, ...]
    notes: tuple[str, ...] = ()
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class MailSeen:
    """The mailbox was looked at; `waits` says whether there is mail, `summary` what a hook puts for the node's own."""

    op: Op
    waits: bool
    summary: str | None = None


@dataclass(frozen=True, slots=True)
class MailArrived:
    """Mail that the agent waits for has come."""


@dataclass(frozen=True, slots=True)
class WaitEnded:
    """The Supervisor ends a wait for mail that nobody would end; the fields are those of `WaitRefusal`."""

    op: Op
    cause: Endless
    why: str
    agents: tuple[AgentId, ...] = ()


@dataclass(frozen=True, slots=True)
class Directed:
    """The Supervisor answered a check-in."""

    op: Op
    directive: Directive


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What the core must know of a call: the digest of name and arguments, and the marks of its tool."""

    signature: str
    polling: bool = False
    safe: bool = False


@dataclass(frozen=True, slots=True)
class Replied:
    """The model answered.

    Attributes:
        facts: One entry for each call.
        flaw: What is wrong with an answer that must be of the agent's output type; empty: nothing.
        output: The validated value of such an answer.
    """

    op: Op
    reply: Reply
    facts: tuple[CallFacts, ...] = ()
    flaw: str = ""
    output: Json = None


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """A model call failed.

    Attributes:
        kind: Name of the error's class.
        sentence: The error's sentence, request id included.
        retryable: The same call may succeed later.
        after: Seconds the provider asked to wait.
        jitter: A random number in [0, 1), which spreads new attempts.
        throttled: The provider has too much to do, so the Supervisor says when the next attempt may be made.
    """

    op: Op
    kind: str
    sentence: str
    retryable: bool
    after: float | None = None
    jitter: float = 0.0
    throttled: bool = False


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A call ended; `digest` is that of its output. `mail_waits` counts for the event that closes the batch.

    `wrote`: to whom it sent messages.
    """

    op: Op
    output: str
    digest: str
    failed: bool = False
    wait: WaitFor | None = None
    mail_waits: bool = False
    wrote: tuple[AgentId, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolHeld:
    """A call did not run: a person must allow it first, because `reason`; then it runs with just these `arguments`."""

    op: Op
    reason: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Decided:
    """A person said whether a held call may run, and why not."""

    op: Op
    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Extended:
    """A hook gives a run that reached its limit of rounds some more, in place of the last answer."""

    op: Op
    rounds: int


@dataclass(frozen=True, slots=True)
class TimerFired:
    """A timer ran out."""

    op: Op


@dataclass(frozen=True, slots=True)
class DeadlinePassed:
    """The run's time is over."""

    op: Op


@dataclass(frozen=True, slots=True)
class PauseAsked:
    """Somebody wants the agent to pause at the next boundary."""

    reason: str


@dataclass(frozen=True, slots=True)
class Resumed:
    """The pause is over."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The run must end now."""

    reason: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The outcome is out."""

    op: Op


@dataclass(frozen=True, slots=True)
class Revived:
    """The agent lives again, in another process: whatever was awaited will not come.

    Attributes:
        ran: Seconds since its run began; 0: not known.
        waited: Seconds since it began to wait for mail; 0: not known.
    """

    ran: float = 0.0
    waited: float = 0.0


Event: TypeAlias = (
    Asked
    | Woken
    | MailTaken
    | MailSeen
    | MailArrived
    | WaitEnded
    | Directed
    | Replied
    | ModelFailed
    | ToolEnded
    | ToolHeld
    | Decided
    | Extended
    | TimerFired
    | DeadlinePassed
    | PauseAsked
    | Resumed
    | Stopped
    | Finished
    | Revived
)
