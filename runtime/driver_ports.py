"""What a driver acts through."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from ..protocols.ids import MessageId, RunId
from ..protocols.messages import Json
from ..protocols.notices import Notice
from ..protocols.outcome import Outcome
from ..protocols.providers.base import Watcher
from ..protocols.waits import WaitRefusal, WaitRequest
from .agent_channel import AgentChannel
from .agent_spans import AgentSpans
from .caller import Caller
from .hook_chain import HookChain
from .inbox import Inbox
from .points import Points
from .ports import Clock
from .recorder import Recorder
from .tools.registry import Toolbox
from .workbench import Workbench

__all__ = ("AnswerReader", "Ports")


class AnswerReader(Protocol):
    """Reads a typed answer."""

    def read(self, text: str) -> tuple[Json, str]:
        """The validated value as plain data and no flaw; or no value, and what the model must correct."""
        ...


@dataclass(frozen=True)
class Ports:
    """What a driver acts through.

    Attributes:
        workbench: Runs tool calls.
        hooks: What the user's own code has to say at Steps and limits.
        wait: Asks the Supervisor whether a wait for mail may begin.
        points: Where the agent may stand still.
        random: A number in [0, 1).
        notify: Takes each notice, in order.
        consume: Takes messages out of the mailbox, for the run and the Step that read them.
        finish: Takes each outcome, at least once.
        settled: Called when the agent has become idle, or may have mail to be woken by.
        output: Reads an answer that must be of a type; None: any text will do.
        recorder: Writes down what happens before what follows from it is done; None: nobody does.
        reply: Begins a reply, for as long as one attempt lasts, and gives what takes its pieces while it is streamed.
        spans: Tells of what happens as spans; None: nobody traces.
        fleet: The fleet's name, for the log.
    """

    caller: Caller
    toolbox: Toolbox
    workbench: Workbench
    hooks: HookChain
    points: Points
    inbox: Inbox
    channel: AgentChannel
    wait: Callable[[WaitRequest], Awaitable[WaitRefusal | None]]
    clock: Clock
    random: Callable[[], float]
    notify: Callable[[Notice], None]
    consume: Callable[[tuple[MessageId, ...], RunId, int], None]
    finish: Callable[[Outcome], None]
    settled: Callable[[], None]
    output: AnswerReader | None = None
    recorder: Recorder | None = None
    reply: Callable[[], AbstractContextManager[Watcher | None]] = nullcontext
    spans: AgentSpans | None = None
    fleet: str = ""
