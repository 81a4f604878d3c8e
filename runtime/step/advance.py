"""The Step loop as a function: `advance(state, event) -> (state, effects)`.

No await, no clock, no randomness, no I/O, no logging. `MOVES` says which phase takes which event, and an answer must be
one that is awaited; anything else raises `InvalidMove`, leaves the state as it was and means a bug.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, assert_never

from ...protocols.checkin import EndStep, Pause, Proceed, Stop, Wait, WindDown
from ...protocols.messages import Json
from ...protocols.notices import NoticeType
from ...protocols.outcome import Ending, Limit
from ..errors import InvalidMove
from .asking import ask, call, try_again, wait_for_leave
from .beginning import begin, wake
from .boundary import enter, leave
from .calls import decided, replied, tool_ended, tool_held
from .compacting import OVERFLOW, compact_overflow, compacted, slide, think_within
from .effects import Cancel, Commit, Moved, Notify, WaitForMail
from .ending import answer, finish, finish_without_model, last_prompt, wind_down
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
    Woken,
)
from .phases import (
    Acting,
    Asking,
    AskStage,
    Compacting,
    Decomposing,
    Idle,
    Leaving,
    Op,
    Paused,
    Phase,
    Slot,
    Summarising,
    Thinking,
    Waiting,
    WindingDown,
    awaited,
)
from .plan import NodeStatus
from .planning import decomposed, end_node, run_directly, summarised, summary_missing, with_status
from .prompts import MAIL_GONE, NO_MAIL, mail_note
from .revival import revive
from .rounds import last_replied
from .stalling import stalled
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

__all__ = ("MOVES", "advance")

Aside: TypeAlias = Decomposing | Summarising | Compacting
"""Phases in which a model is asked for something that the run can do without."""

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


def mail_taken(state: AgentState, _: object, event: MailTaken) -> Moved:
    """What came to a boundary enters the transcript, and the model is asked."""
    if event.refused is not None:
        return finish(state, Ending.STOPPED, state.transcript.last_text, reason=event.refused)
    told = tuple(
        Notify(
            NoticeType.MAIL,
            "consumed",
            f"from {mail.sender}: {mail.body[:200]}",
            {"id": mail.id, "sender": mail.sender},
        )
        for mail in event.mails
    )
    if event.mails:
        state = state.noted(mail_note(event.mails))
    if not state.transcript.of_run:
        return finish(state, Ending.STOPPED, "", reason=NOTHING_TO_DO)
    for note in event.notes:
        state = state.noted(note)
    state, planned = with_status(state)
    if state.transcript.answered:
        state = state.noted(MAIL_GONE)
    taken = tuple(mail.id for mail in event.mails)
    commit = (Commit(taken),) if taken or event.notes or planned else ()
    state, effects = think_within(state)
    return state, (*commit, *told, *planned, *effects)


def mail_seen(state: AgentState, doing: Leaving, event: MailSeen) -> Moved:
    """At the end of a Step: mail opens another one, if there is a round left for it; else the run ends or waits."""
    if doing.summary is not None and state.current.node is not None:
        state, told = end_node(state, NodeStatus.DONE, event.summary or doing.summary)
        state, effects = enter(state)
        return state, (told, Commit(), *effects)
    if event.waits and state.rounds_left > 0:
        return enter(state)
    if doing.answer is not None:
        return answer(state, doing.answer, doing.output)
    if doing.wait is not None:
        state, op = state.with_op()
        told = Notify(NoticeType.STEP, "waiting", f"waits for mail, {doing.wait.seconds:g} s at most")
        return replace(state, doing=Waiting(op, doing.wait)), (told, Commit(), WaitForMail(op, doing.wait))
    if state.current.window.period:  # seen after the round already; whoever comes here without that is stopped too
        return stalled(state, None)
    return enter(state)


def wait_over(state: AgentState, doing: Waiting, _: TimerFired) -> Moved:
    """No mail came in time: the model is told, and the next Step begins."""
    return enter(replace(state, transcript=state.transcript.note(NO_MAIL.format(seconds=doing.wait.seconds))))


def mail_arrived(state: AgentState, doing: Waiting, _: MailArrived) -> Moved:
    """What the agent waited for is there."""
    state, effects = enter(state)
    return state, (Cancel((doing.op,)), *effects)


def directed(state: AgentState, doing: Asking, event: Directed) -> Moved:
    """Do what the Supervisor said."""
    match event.directive:
        case Proceed(grant=grant):
            return call(state, doing, grant)
        case Wait(after=after, reason=reason):
            return wait_for_leave(state, doing, after) or no_leave(state, doing, reason)
        case Pause() if doing.ask.resumed:
            return ask(state, doing)
        case Pause(reason=reason):
            told = Notify(NoticeType.AGENT, "paused", reason)
            return replace(state, doing=Paused(doing, reason)), (told,)
        case _:
            return ended_by(state, doing, event.directive)


def ended_by(state: AgentState, doing: Asking, directive: EndStep | WindDown | Stop) -> Moved:
    """The Supervisor grants no call: end the run, give a last answer, or do without the model what can be done so."""
    match directive:
        case Stop(reason=reason):
            return finish(state, Ending.STOPPED, state.transcript.last_text, reason=reason)
        case _ if isinstance(doing, WindingDown):
            return finish_without_model(state, doing)
        case EndStep(reason=reason):
            return leave(state) if isinstance(doing, Thinking) else without_reply(state, doing, reason)
        case WindDown(limit=limit, reason=reason):
            return wind_down(state, Ending.LIMIT, reason, Limit(limit))
        case _:
            assert_never(directive)


def no_leave(state: AgentState, doing: Asking, reason: str) -> Moved:
    """The wait for leave has been long enough: what holds the tokens will not give them back."""
    if isinstance(doing, WindingDown):
        return finish_without_model(state, doing)
    return wind_down(state, Ending.LIMIT, reason, Limit.TOKENS)


def model_failed(state: AgentState, doing: Thinking, event: ModelFailed) -> Moved:
    """Try again, with a smaller history where that was too long, or end the run as failed."""
    again = compact_overflow(state, event) or try_again(state, doing, event)
    if again is not None:
        return again
    state, effects = finish(state, Ending.FAILED, state.transcript.last_text, reason=event.sentence)
    return state, (failure_notice(event), *effects)


def last_failed(state: AgentState, doing: WindingDown, event: ModelFailed) -> Moved:
    """Try again, or end the run without a model."""
    again = try_again(state, doing, event)
    if again is not None:
        return again
    state, effects = finish_without_model(state, doing)
    return state, (failure_notice(event), *effects)


def side_failed(state: AgentState, doing: Aside, event: ModelFailed) -> Moved:
    """Try again, or go on without what was asked for. A request that was too long itself is not made again."""
    again = None if event.kind == OVERFLOW else try_again(state, doing, event)
    if again is not None:
        return again
    state, effects = without_reply(state, doing, event.sentence)
    return state, (failure_notice(event), *effects)


def without_reply(state: AgentState, doing: Aside, reason: str) -> Moved:
    """Go on without a plan, a node's summary, or a summary of the history."""
    match doing:
        case Decomposing():
            return run_directly(state, f"No plan was made: {reason}")
        case Summarising():
            return summary_missing(state, f"No summary was made: {reason}")
        case Compacting():
            return slide(state, doing)
        case _:
            assert_never(doing)


def failure_notice(event: ModelFailed) -> Notify:
    """A model call failed for good."""
    return Notify(NoticeType.MODEL, "failed", event.sentence, {"error": event.kind})


def last_answered(state: AgentState, doing: WindingDown, event: Replied) -> Moved:
    """The last answer came; an empty one is replaced by what there is."""
    state, told, text = last_replied(state, doing, event)
    ended = finish(state, doing.ending, text, reason=doing.reason, limit=doing.limit) if text.strip() else None
    state, effects = ended or finish_without_model(state, doing)
    return state, (told, *effects)


def extended(state: AgentState, doing: WindingDown, event: Extended) -> Moved:
    """Some more rounds were given: the run goes on as if it had not reached the limit. Other limits cannot be moved."""
    data: dict[str, Json] = {"rounds": event.rounds, "limit": doing.limit.value if doing.limit else ""}
    if doing.limit is not Limit.ROUNDS:
        told = Notify(NoticeType.RUN, "not_extended", "only the limit of rounds can be extended", data, warning=True)
        state, effects = ask(state, doing)
        return state, (told, *effects)
    told = Notify(NoticeType.RUN, "extended", f"{event.rounds} more rounds", data)
    run = replace(state.current, extra=state.current.extra + event.rounds)
    state = replace(state, run=run, transcript=state.transcript.without_last_note(last_prompt(doing)))
    state, effects = enter(state)
    return state, (told, Commit(), *effects)


def ask_again(state: AgentState, doing: Asking, _: TimerFired) -> Moved:
    """The pause before an attempt is over."""
    return ask(state, doing)


def stay(state: AgentState, _: object, __: object) -> Moved:
    """Nothing to do."""
    return state, ()


def finished(state: AgentState, _: object, __: Finished) -> Moved:
    """The outcome is out."""
    return replace(state, doing=Idle(), run=None), ()


NOTHING_TO_DO = "the mail that woke the agent is gone"

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

ASIDE: Mapping[type[Event], Move] = {
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
    Phase.DECOMPOSING: {**ASIDE, Replied: decomposed},
    Phase.THINKING: {**ASIDE, Replied: lambda state, _, event: replied(state, event), ModelFailed: model_failed},
    Phase.ACTING: {**ANYWHERE, ToolEnded: tool_ended, ToolHeld: tool_held, Decided: decided},
    Phase.SUMMARISING: {**ASIDE, Replied: summarised},
    Phase.LEAVING: {**ANYWHERE, MailSeen: mail_seen},
    Phase.COMPACTING: {**ASIDE, Replied: compacted},
    Phase.WAITING: {**ANYWHERE, MailArrived: mail_arrived, TimerFired: wait_over},
    Phase.WINDING_DOWN: {
        **ASIDE,
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
