"""What an agent asks the Supervisor before each model call, and what it is told."""

from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import TypeAlias

from .amounts import ZERO, Amount
from .errors import ProviderBusy, ProviderError, ProviderOverloaded
from .ids import AgentId, Incarnation, RunId
from .limits import Limits
from .prices import Rates

__all__ = (
    "DEAD",
    "ENDED",
    "NOT_YET",
    "RESTARTING",
    "STOPPED",
    "AgentStatus",
    "AttemptResult",
    "CheckIn",
    "Directive",
    "EndStep",
    "Grant",
    "Pause",
    "Proceed",
    "Settlement",
    "Stop",
    "Wait",
    "WindDown",
)

DEAD = "dead"
RESTARTING = "restarting"
STOPPED = "stopped"
"""Phases that only the Supervisor gives: a life is over, with or without another that is about to begin; it may not go
on."""

ENDED = "its process ended"
"""Why agents of an earlier process are dead, which lived when that ended."""

NOT_YET = "it is not spawned again yet"
"""Why one of those cannot be handed its mail now."""

FAULTS = frozenset({
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.CONFLICT,
    HTTPStatus.TOO_EARLY,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.GATEWAY_TIMEOUT,
})  # fmt: skip
"""Statuses that tell of one request only, unless the provider says when to come again."""


class AttemptResult(StrEnum):
    """How an attempt went, as far as that says something of what the provider can take."""

    UNKNOWN = "unknown"
    """Nobody said, or it was not made after all."""
    OK = "ok"
    BUSY = "busy"
    """Too many requests or tokens for now (429)."""
    OVERLOADED = "overloaded"
    """The provider itself has too much to do (529, 503)."""
    FAILED = "failed"
    """Something else, which says nothing of other calls."""

    @property
    def throttled(self) -> bool:
        """Other calls under the same provider key had better wait too."""
        return self in {AttemptResult.BUSY, AttemptResult.OVERLOADED}

    @classmethod
    def of(cls, error: ProviderError) -> "AttemptResult":
        """How an attempt went that ended with this error."""
        match error:
            case ProviderBusy():
                return cls.BUSY
            case ProviderOverloaded() if error.after is not None or error.status not in FAULTS:
                return cls.OVERLOADED
            case _:
                return cls.FAILED


@dataclass(frozen=True, slots=True)
class CheckIn:
    """Sent once before each attempt of a model call.

    Attributes:
        agent: Who asks.
        incarnation: Its life; an old one is told to stop.
        run: The run the call is for.
        step: Steps of the agent's life so far.
        phase: The agent's phase, as `Phase` spells it.
        attempt: Number of the attempt, rising over the incarnation's life; with agent and incarnation it names the
            reservation. One that was told to wait is asked for again under its number, by which it keeps its turn.
        provider: The provider key whose limits are shared.
        bound: The most tokens the request can be counted as.
        output: The most output tokens wanted.
        floor: The fewest output tokens that are still worth a call.
        last_answer: This is a run's last answer, which may draw on the held-back pool.
        rates: The most that the call's tokens can cost; None: nobody said.
        tools: The most calls of tools that its reply may make; 0: it makes none.
        beside: The most tokens that are billed as output and that the output cap does not bound.
        limit: The run's own limit; None: it has none.
    """

    agent: AgentId
    incarnation: Incarnation
    run: RunId
    step: int
    phase: str
    attempt: int
    provider: str
    bound: int
    output: int
    floor: int = 256
    last_answer: bool = False
    rates: Rates | None = None
    tools: int = 0
    beside: int = 0
    limit: Limits | None = None

    @property
    def reservation(self) -> str:
        """The id under which the tokens are reserved and settled."""
        return f"{self.agent}/{self.incarnation}/{self.attempt}"


@dataclass(frozen=True, slots=True)
class Settlement:
    """What one attempt came to; idempotent by `reservation`.

    Attributes:
        reservation: The id the grant carried.
        tokens: Prompt and completion together; None: unknown, which counts as all that was reserved.
        estimated: `tokens` is an estimate, not the provider's count.
        result: How it went.
        after: Seconds the provider asked to wait, where it had too much to do and said so.
        nanodollars: What it cost, in billionths of a US dollar; 0 where nobody says what the model costs.
        model_calls: 1 if it was made and may have been billed.
        tool_calls: Calls of tools that its reply made and that were let through.
    """

    agent: AgentId
    incarnation: Incarnation
    reservation: str
    tokens: int | None
    estimated: bool = False
    result: AttemptResult = AttemptResult.UNKNOWN
    after: float | None = None
    nanodollars: int = 0
    model_calls: int = 1
    tool_calls: int = 0

    @property
    def spent(self) -> Amount | None:
        """What it came to; None: unknown."""
        if self.tokens is None:
            return None
        return Amount(self.tokens, self.nanodollars, self.model_calls, self.tool_calls)


@dataclass(frozen=True, slots=True)
class Grant:
    """Leave for one attempt: at most `output` tokens of output, not before `after` seconds from now.

    Its reply may make so many calls of `tools`; None: any number.
    """

    reservation: str
    output: int
    after: float = 0.0
    tools: int | None = None


@dataclass(frozen=True, slots=True)
class Proceed:
    """Make the call."""

    grant: Grant


@dataclass(frozen=True, slots=True)
class EndStep:
    """Leave the Step without this call."""

    reason: str


@dataclass(frozen=True, slots=True)
class WindDown:
    """Give a last answer with tools off; `limit` names the limit."""

    limit: str
    reason: str


@dataclass(frozen=True, slots=True)
class Pause:
    """Stay where you are until resumed."""

    reason: str


@dataclass(frozen=True, slots=True)
class Stop:
    """End the run now. To a life that is `fenced`: do nothing more, for the run is the next life's."""

    reason: str
    fenced: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """Ask again in `after` seconds: tokens are held by calls in flight, or the Supervisor is away.

    One that is `queued` waits for its turn at the provider. That always comes, so such a wait has no end of its own.
    """

    after: float
    reason: str
    queued: bool = False


Directive: TypeAlias = Proceed | EndStep | WindDown | Pause | Stop | Wait


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """One row of the fleet's table.

    Attributes:
        phase: As `Phase` spells it, or `dead`, `restarting`, `stopped`: a plain text.
        since: Unix seconds when the phase began.
        waiting: Messages in the mailbox.
        sent: Messages sent and accepted.
        consumed: Messages consumed.
        tokens: Tokens spent.
        limit: The agent's own token limit; None: none.
        limits: All that is limited of it; None: nothing.
        spent: All that it has spent.
        note: Why it is as it is, in words.
        runs: Runs that were accepted and have not ended, in order: the one under way, then those that wait.
        tools: The tools in which it is now; those that wait for a person are none of them.
        kind: What another agent has spawned it as; empty: a person spawned it.
        node: The address of the machine that its process is on; empty: nobody says, or it is this one.
        stopped: Why it may do nothing more, in whichever life, dead or not; empty: it may. The Supervisor alone knows.
    """

    agent: AgentId
    incarnation: Incarnation
    phase: str
    since: float
    run: RunId | None = None
    step: int = 0
    round: int = 0
    waiting: int = 0
    sent: int = 0
    consumed: int = 0
    tokens: int = 0
    limit: int | None = None
    parent: AgentId | None = None
    pid: int = 0
    note: str = ""

    runs: tuple[RunId, ...] = ()
    limits: Limits | None = None
    spent: Amount = ZERO
    tools: tuple[str, ...] = ()
    kind: str = ""
    stopped: str = ""
    node: str = ""

    @property
    def absence(self) -> str:
        """Why it has no process now, in words."""
        if self.stopped:
            return self.stopped
        if self.phase != DEAD:
            return "it has no process now"
        return NOT_YET if self.awaits_spawn else f"it died: {self.note.rstrip('.')}"

    @property
    def awaits_spawn(self) -> bool:
        """Whether it lived in an earlier process and is not spawned again yet: what is for it waits at its senders."""
        return self.phase == DEAD and self.note == ENDED
