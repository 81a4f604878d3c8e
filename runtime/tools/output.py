"""What a tool call comes to."""

from collections.abc import Callable
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Self, Union, get_args, get_origin

from ...protocols.ids import AgentId, Incarnation, MessageId, RunId
from ..given import check_kind
from ..ports import Channel

__all__ = ("ToolContext", "ToolOutput", "WaitAsked", "wants_context")


@dataclass(frozen=True, slots=True)
class WaitAsked:
    """The model asked to wait for mail: the Step ends and the agent waits.

    Attributes:
        senders: Only mail of these wakes it; empty: any.
        seconds: The longest it waits.
    """

    senders: tuple[AgentId, ...] = ()
    seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The text the model reads. A failure's text begins `ERROR: `."""

    content: str
    failed: bool = False
    wait: WaitAsked | None = None

    @classmethod
    def failure(cls, sentence: str) -> Self:
        """The output of a call that failed, with `ERROR: ` before the sentence."""
        return cls(f"ERROR: {sentence}", failed=True)


def unheard(_: str) -> None:
    """Nobody watches the call."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may know and use; a parameter annotated with it is filled in and hidden from the model.

    Attributes:
        incarnation: The agent's life in which the call runs.
        call: Names the call within its agent's lives: the same when a `safe` tool runs again after a crash.
        heartbeat: Takes the signs of life that `progress` gives.
    """

    agent: AgentId
    incarnation: Incarnation
    run: RunId
    step: int
    call: int
    channel: Channel
    heartbeat: Callable[[str], None] = unheard

    def progress(self, text: str = "goes on") -> None:
        """Say that a long call goes on, and how far it is; from any thread, as often as one likes.

        A call that is silent for longer than the watch allows (`Deadlines.tool`) is taken for one that never ends.

        Raises:
            ArgumentInvalid: It is no text.
        """
        check_kind("text", text, str)
        self.heartbeat(text)

    def message_to(self, recipient: AgentId) -> MessageId:
        """The id of the one message this call sends to `recipient`; sent again after a crash, it is the same one."""
        return MessageId(f"{self.run}.{self.call}.{recipient}")


def wants_context(hint: object) -> bool:
    """Whether a parameter annotated so is filled in: with `ToolContext`, or with that or None."""
    inner = get_args(hint) if get_origin(hint) in {Annotated, Union, UnionType} else ()
    return hint is ToolContext or any(each is ToolContext for each in inner)
