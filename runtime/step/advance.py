"""The Step loop as a function: `advance(state, event) -> (state, effects)`.

No await, no clock, no randomness, no I/O, no logging. `MOVES` says which phase takes which event, and an answer must be
one that is awaited; anything else raises `InvalidMove`, leaves the state as it was and means a bug.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from ..errors import InvalidMove
from .beginning import begin, wake
from .calls import decided, tool_ended, tool_held
from .compacting import compacted
from .directing import ask_again, directed
from .effects import Moved
from .entering import mail_taken
from .events import (
    Asked,
    DeadlinePassed,
    Decided,
    Directed,
    Event,
    Extended,
    Finished,
    MailArrived,
    MailSeen,
    MailTaken,
    ModelFailed,
    PauseAsked,
    Replied,
    Resumed,
    Revived,
    Stopped,
    TimerFired,
    ToolEnded,
    ToolHeld,
    WaitEnded,
    Woken,
)
from .failing import last_failed, model_failed, side_failed
from .leaving import mail_arrived, mail_seen, wait_ended, wait_over
from .phases import (
    Acting,
    Asking,
    AskStage,
    Idle,
    Op,
    Phase,
    Slot,
    awaited,
)
from .planning import decomposed, summarised
from .revival import revive
from .rounds import replied
from .state import AgentState
from .steering import (
    ask_pause,
    forget_pause,
    resume,
    resume_asking,
    stop,
    time_over,
    time_over_already_ending,
    time_over_paused,
)
from .winding_down import extended, last_answered

__all__ = ("MOVES", "advance")

Move: TypeAlias = Callable[[AgentState, Any, Any], Moved]
"""A move is given the state, what the phase holds, and the event."""


def advance(state: AgentState, event: Event) -> Moved:
    """Apply one event.

    Raises:
        InvalidMove: The phase does not take this event, or nobody awaits this answer; the state is unchanged.
    """
    move = MOVES[state.phase].get(type(event))
    if move is None or not awaited_answer(state, event):
        raise InvalidMove(phase=state.phase, event=type(event).__name__)
    return move(state, state.doing, event)


def awaited_answer(state: AgentState, event: Event) -> bool:
    """Whether the event answers what was asked last under its `op`; events without one answer nothing."""
    op: Op | None = getattr(event, "op", None)
    if op is None:
        return True
    if isinstance(event, DeadlinePassed):
        return op == state.current.deadline
    if isinstance(state.doing, Asking) and state.doing.ask.stage is not STAGES[type(event)]:
        return False
    if isinstance(state.doing, Acting):
        return any(waits_for(slot, event, op) for slot in state.doing.slots)
    return op in awaited(state.doing)


def waits_for(slot: Slot, event: Event, op: Op) -> bool:
    """Whether a call waits for this: a held one for a person's answer alone, any other for its end."""
    return slot.op == op and slot.output is None and bool(slot.held) is isinstance(event, Decided)


def stay(state: AgentState, _: object, __: object) -> Moved:
    """Nothing to do."""
    return state, ()


def finished(state: AgentState, _: object, __: Finished) -> Moved:
    """The outcome is out."""
    return replace(state, doing=Idle(), run=None), ()


STAGES: Mapping[type[Event], AskStage] = {
    Directed: AskStage.LEAVE,
    Extended: AskStage.LEAVE,
    TimerFired: AskStage.TIMER,
    Replied: AskStage.MODEL,
    ModelFailed: AskStage.MODEL,
}

ANYWHERE: Mapping[type[Event], Move] = {
    Stopped: stop,
    DeadlinePassed: time_over,
    PauseAsked: ask_pause,
    Resumed: forget_pause,
    Revived: revive,
}

ASKED: Mapping[type[Event], Move] = {
    **ANYWHERE,
    Resumed: resume_asking,
    Directed: directed,
    ModelFailed: side_failed,
    TimerFired: ask_again,
}

MOVES: Mapping[Phase, Mapping[type[Event], Move]] = {
    Phase.IDLE: {
        Asked: begin,
        Woken: wake,
        PauseAsked: ask_pause,
        Resumed: forget_pause,
        Stopped: stay,
        Revived: revive,
    },
    Phase.ENTERING: {**ANYWHERE, MailTaken: mail_taken},
    Phase.DECOMPOSING: {**ASKED, Replied: decomposed},
    Phase.THINKING: {**ASKED, Replied: replied, ModelFailed: model_failed},
    Phase.ACTING: {**ANYWHERE, ToolEnded: tool_ended, ToolHeld: tool_held, Decided: decided},
    Phase.SUMMARISING: {**ASKED, Replied: summarised},
    Phase.LEAVING: {**ANYWHERE, MailSeen: mail_seen},
    Phase.COMPACTING: {**ASKED, Replied: compacted},
    Phase.WAITING: {**ANYWHERE, MailArrived: mail_arrived, TimerFired: wait_over, WaitEnded: wait_ended},
    Phase.WINDING_DOWN: {
        **ASKED,
        DeadlinePassed: time_over_already_ending,
        Replied: last_answered,
        ModelFailed: last_failed,
        Extended: extended,
    },
    Phase.PAUSED: {**ANYWHERE, DeadlinePassed: time_over_paused, Resumed: resume},
    Phase.DONE: {
        Finished: finished,
        Stopped: stay,
        PauseAsked: ask_pause,
        Resumed: forget_pause,
        Revived: revive,
    },
}
