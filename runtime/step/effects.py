"""What an agent wants done. Effects are imperatives; those with an `op` are answered by an event with that `op`.

They are performed in order; `Commit` is over before the next begins.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ...protocols.checkin import Grant
from ...protocols.ids import MessageId
from ...protocols.messages import Json, ToolCall
from ...protocols.notices import Notice, NoticeType
from ...protocols.outcome import Outcome
from .phases import Asking, Op, Purpose, WaitFor
from .state import AgentState

__all__ = (
    "AskApproval",
    "AskLeave",
    "CallModel",
    "Cancel",
    "Commit",
    "Effect",
    "Finish",
    "LookForMail",
    "Moved",
    "Notify",
    "RunTool",
    "StartDeadline",
    "StartTimer",
    "TakeMail",
    "WaitForMail",
    "told_once_written",
)


@dataclass(frozen=True, slots=True)
class TakeMail:
    """Read mail, at most `size` bytes, and leave it where it is. Answer: `MailTaken`."""

    op: Op
    size: int


@dataclass(frozen=True, slots=True)
class LookForMail:
    """Say whether mail waits. Answer: `MailSeen`. `summary`: what the plan's node came to, where the Step ends one."""

    op: Op
    summary: str = ""


@dataclass(frozen=True, slots=True)
class WaitForMail:
    """Ask whether the wait may begin, and tell when mail comes (`MailArrived`), or that it is over without.

    That is `TimerFired` when its time has run out, `WaitEnded` when nobody would ever end it.
    """

    op: Op
    wait: WaitFor


@dataclass(frozen=True, slots=True)
class AskLeave:
    """Write the request, check in, hand back the directive. Answer: `Directed`; or `Extended`, where it is the `first`.

    Attributes:
        doing: What a model is asked for.
        output: Output tokens wanted.
        first: It begins a last answer because of a limit, which a hook may extend.
    """

    op: Op
    doing: Asking
    output: int
    first: bool = False

    @property
    def purpose(self) -> Purpose:
        """What a model is asked for, in one word."""
        return self.doing.purpose


@dataclass(frozen=True, slots=True)
class CallModel:
    """Make one attempt under the grant. Answer: `Replied` or `ModelFailed`."""

    op: Op
    grant: Grant
    purpose: Purpose


@dataclass(frozen=True, slots=True)
class RunTool:
    """Run one call. Answer: `ToolEnded`, or `ToolHeld` when a person must allow it first; one `approved` runs as it is.

    Attributes:
        key: Names the call; the same when it is run again in the agent's next life.
    """

    op: Op
    call: ToolCall
    key: Op
    approved: bool = False


@dataclass(frozen=True, slots=True)
class AskApproval:
    """Have a person decide whether a call may run, just as it is here. Answer: `Decided`."""

    op: Op
    call: ToolCall
    reason: str


@dataclass(frozen=True, slots=True)
class StartTimer:
    """Answer: `TimerFired`, after `seconds`."""

    op: Op
    seconds: float


@dataclass(frozen=True, slots=True)
class StartDeadline:
    """Answer: `DeadlinePassed`, after `seconds`."""

    op: Op
    seconds: float


@dataclass(frozen=True, slots=True)
class Cancel:
    """End what these ops started; nothing is awaited from them any more."""

    ops: tuple[Op, ...]


@dataclass(frozen=True, slots=True)
class Commit:
    """Record all that happened up to here; then take the `consumed` messages out of the mailbox."""

    consumed: tuple[MessageId, ...] = ()


@dataclass(frozen=True, slots=True)
class Notify:
    """Tell the watchers; a `warning` stands in the log too."""

    type: NoticeType
    extra_type: str
    text: str
    data: Mapping[str, Json] = field(default_factory=dict[str, Json])
    warning: bool = False

    def notice(self, state: AgentState, at: float) -> Notice:
        """What they see, of an agent in this state, at Unix seconds `at`."""
        run = state.run.id if state.run else None
        return Notice(self.type, self.extra_type, state.agent, self.text, run, state.step, self.data, at=at)


@dataclass(frozen=True, slots=True)
class Finish:
    """Hand out the outcome. Answer: `Finished`."""

    op: Op
    outcome: Outcome


Effect: TypeAlias = (
    TakeMail
    | LookForMail
    | WaitForMail
    | AskLeave
    | CallModel
    | RunTool
    | AskApproval
    | StartTimer
    | StartDeadline
    | Cancel
    | Commit
    | Notify
    | Finish
)

Moved: TypeAlias = tuple[AgentState, tuple[Effect, ...]]
"""What a move gives: the new state, and what is to be done, in order."""


def told_once_written(effects: tuple[Effect, ...]) -> tuple[Effect, ...]:
    """The effects of one move, with all that is told before its first commit told right after it.

    What was told and not written would happen again in the agent's next life, in another way perhaps.
    """
    first = next((place for place, effect in enumerate(effects) if isinstance(effect, Commit)), 0)
    before = effects[:first]
    told = tuple(effect for effect in before if isinstance(effect, Notify))
    return (
        *(effect for effect in before if not isinstance(effect, Notify)),
        *effects[first : first + 1],
        *told,
        *effects[first + 1 :],
    )
