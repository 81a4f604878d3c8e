"""The Step loop as a function: `advance(state, event) -> (state, effects)`.

No await, no clock, no randomness, no I/O, no logging. `MOVES` says which phase takes which event; anything else raises
`InvalidMove`, leaves the state as it was and means a bug.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, assert_never

from ...protocols.checkin import EndStep, Pause, Proceed, Stop, Wait, WindDown
from ...protocols.notices import NoticeType
from ...protocols.outcome import Ending, Limit
from ..errors import InvalidMove
from .asking import ask, call, retry, wait_then_ask
from .boundary import enter, leave
from .effects import Commit, Effect, Notify, StartDeadline, WaitForMail
from .ending import finish, finish_without_model, interrupt, wind_down
from .events import (
    Asked,
    DeadlinePassed,
    Directed,
    Event,
    Finished,
    MailArrived,
    MailSeen,
    MailTaken,
    ModelFailed,
    PauseAsked,
    Replied,
    Resumed,
    Stopped,
    TimerFired,
    ToolEnded,
    Woken,
)
from .prompts import NO_MAIL, mail_note
from .rounds import last_replied, replied, think, tool_ended
from .state import AgentState, Idle, Leaving, Paused, Phase, Run, Thinking, Waiting, WindingDown
from .transcript import Transcript

__all__ = ("MOVES", "advance")

Moved: TypeAlias = tuple[AgentState, tuple[Effect, ...]]
Move: TypeAlias = Callable[[AgentState, Any, Any], Moved]
"""A move is given the state, what the phase holds, and the event."""


def advance(state: AgentState, event: Event) -> Moved:
    """Apply one event.

    Raises:
        InvalidMove: The phase does not take this event; the state is unchanged.
    """
    move = MOVES[state.phase].get(type(event))
    if move is None:
        raise InvalidMove(phase=state.phase, event=type(event).__name__)
    return move(state, state.doing, event)


def begin(state: AgentState, _: Idle, event: Asked) -> Moved:
    """A task came: it enters the transcript, and the first Step begins."""
    transcript = Transcript.begin(state.rules.instructions) if state.rules.memory == "run" else state.transcript
    state = replace(state, transcript=transcript.note(event.task), run=Run(event.run))
    effects: tuple[Effect, ...] = (Notify(NoticeType.RUN, "started", event.task[:200]),)
    if event.timeout is not None:
        state, op = state.with_op()
        state = replace(state, run=replace(state.current, deadline=op))
        effects = (*effects, StartDeadline(op, event.timeout))
    state, entering = enter(state)
    return state, (*effects, Commit(), *entering)


def wake(state: AgentState, _: Idle, event: Woken) -> Moved:
    """Mail came to an idle agent: a run without a task begins; the mail is its task."""
    transcript = Transcript.begin(state.rules.instructions) if state.rules.memory == "run" else state.transcript
    state, entering = enter(replace(state, transcript=transcript, run=Run(event.run)))
    return state, (Notify(NoticeType.RUN, "started", "woken by mail"), *entering)


def mail_taken(state: AgentState, _: object, event: MailTaken) -> Moved:
    """Mail enters the transcript as one note, and the model is asked."""
    if not event.mails:
        return think(state)
    ids = tuple(mail.id for mail in event.mails)
    told = tuple(
        Notify(
            NoticeType.MAIL,
            "consumed",
            f"from {mail.sender}: {mail.body[:200]}",
            {"id": mail.id, "sender": mail.sender},
        )
        for mail in event.mails
    )
    state = replace(state, transcript=state.transcript.note(mail_note(event.mails)))
    state, effects = think(state)
    return state, (Commit(ids), *told, *effects)


def mail_seen(state: AgentState, doing: Leaving, event: MailSeen) -> Moved:
    """At the end of a Step: mail opens another one; else the run ends, waits, or goes on."""
    if event.waits:
        return enter(state)
    if doing.answer is not None:
        return finish(state, Ending.ANSWERED, doing.answer)
    if doing.wait is not None:
        state, op = state.with_op()
        told = Notify(NoticeType.STEP, "waiting", f"waits for mail, {doing.wait.seconds:g} s at most")
        return replace(state, doing=Waiting(op, doing.wait)), (told, WaitForMail(op, doing.wait))
    return enter(state)


def wait_over(state: AgentState, doing: Waiting, _: TimerFired) -> Moved:
    """No mail came in time: the model is told, and the next Step begins."""
    return enter(replace(state, transcript=state.transcript.note(NO_MAIL.format(seconds=doing.wait.seconds))))


def mail_arrived(state: AgentState, _: Waiting, __: MailArrived) -> Moved:
    """What the agent waited for is there."""
    return enter(state)


def directed(state: AgentState, doing: Thinking | WindingDown, event: Directed) -> Moved:
    """Do what the Supervisor said."""
    match event.directive:
        case Proceed(grant=grant):
            return call(state, doing, grant)
        case Wait(after=after):
            return wait_then_ask(state, doing, after)
        case Pause(reason=reason):
            told = Notify(NoticeType.AGENT, "paused", reason)
            return replace(state, doing=Paused(doing, reason)), (told,)
        case _:
            return ended_by(state, doing, event.directive)


def ended_by(state: AgentState, doing: Thinking | WindingDown, directive: EndStep | WindDown | Stop) -> Moved:
    """The Supervisor grants no call: end the run, give a last answer, or, in a last answer, do without a model."""
    match directive:
        case Stop(reason=reason):
            return finish(state, Ending.STOPPED, state.transcript.last_text, reason=reason)
        case _ if isinstance(doing, WindingDown):
            return finish_without_model(state, doing)
        case EndStep():
            return leave(state)
        case WindDown(limit=limit, reason=reason):
            return wind_down(state, Ending.LIMIT, reason, Limit(limit))
        case _:
            assert_never(directive)


def model_failed(state: AgentState, doing: Thinking, event: ModelFailed) -> Moved:
    """Try again, or end the run as failed."""
    again = retry(state, doing, event)
    if again is not None:
        return again
    state, effects = finish(state, Ending.FAILED, state.transcript.last_text, reason=event.sentence)
    return state, (failure_notice(event), *effects)


def last_failed(state: AgentState, doing: WindingDown, event: ModelFailed) -> Moved:
    """Try again, or end the run without a model."""
    again = retry(state, doing, event)
    if again is not None:
        return again
    state, effects = finish_without_model(state, doing)
    return state, (failure_notice(event), *effects)


def failure_notice(event: ModelFailed) -> Notify:
    """A model call failed for good."""
    return Notify(NoticeType.MODEL, "failed", event.sentence, {"error": event.kind})


def last_answered(state: AgentState, doing: WindingDown, event: Replied) -> Moved:
    """The last answer came; an empty one is replaced by what there is."""
    state, told, text = last_replied(state, event)
    ended = finish(state, doing.ending, text, reason=doing.reason, limit=doing.limit) if text.strip() else None
    state, effects = ended or finish_without_model(state, doing)
    return state, (told, *effects)


def ask_again(state: AgentState, doing: Thinking | WindingDown, _: TimerFired) -> Moved:
    """The pause before an attempt is over."""
    return ask(state, doing)


def resume(state: AgentState, doing: Paused, _: Resumed) -> Moved:
    """Take up what was paused."""
    state = replace(state, pause=None)
    told = Notify(NoticeType.AGENT, "resumed", "goes on")
    state, effects = enter(state) if doing.was is None else ask(state, doing.was)
    return state, (told, *effects)


def ask_pause(state: AgentState, _: object, event: PauseAsked) -> Moved:
    """Remember to pause at the next boundary."""
    return replace(state, pause=event.reason), ()


def forget_pause(state: AgentState, _: object, __: Resumed) -> Moved:
    """The pause that was asked for is no longer wanted."""
    return replace(state, pause=None), ()


def stop(state: AgentState, _: object, event: Stopped) -> Moved:
    """End the run now: what runs is cancelled, the open batch is closed."""
    state, cancelled = interrupt(state)
    state, effects = finish(state, Ending.STOPPED, state.transcript.last_text, reason=event.reason)
    return state, (*cancelled, *effects)


def time_over(state: AgentState, _: object, __: DeadlinePassed) -> Moved:
    """The run's time is over: what runs is cancelled, and a last answer follows."""
    state, cancelled = interrupt(state)
    state = replace(state, run=replace(state.current, deadline=None))
    state, effects = wind_down(state, Ending.LIMIT, "the run's time is over", Limit.TIME)
    return state, (*cancelled, *effects)


def time_over_already_ending(state: AgentState, _: object, __: DeadlinePassed) -> Moved:
    """The run is giving its last answer: let it."""
    return replace(state, run=replace(state.current, deadline=None)), ()


def stay(state: AgentState, _: object, __: object) -> Moved:
    """Nothing to do."""
    return state, ()


def finished(state: AgentState, _: object, __: Finished) -> Moved:
    """The outcome is out."""
    return replace(state, doing=Idle(), run=None), ()


ANYWHERE: Mapping[type[Event], Move] = {
    Stopped: stop,
    DeadlinePassed: time_over,
    PauseAsked: ask_pause,
    Resumed: forget_pause,
}

MOVES: Mapping[Phase, Mapping[type[Event], Move]] = {
    Phase.IDLE: {Asked: begin, Woken: wake, PauseAsked: ask_pause, Resumed: forget_pause, Stopped: stay},
    Phase.ENTERING: {**ANYWHERE, MailTaken: mail_taken},
    Phase.THINKING: {
        **ANYWHERE,
        Directed: directed,
        Replied: lambda state, _, event: replied(state, event),
        ModelFailed: model_failed,
        TimerFired: ask_again,
    },
    Phase.ACTING: {**ANYWHERE, ToolEnded: tool_ended},
    Phase.LEAVING: {**ANYWHERE, MailSeen: mail_seen},
    Phase.WAITING: {**ANYWHERE, MailArrived: mail_arrived, TimerFired: wait_over},
    Phase.WINDING_DOWN: {
        **ANYWHERE,
        DeadlinePassed: time_over_already_ending,
        Directed: directed,
        Replied: last_answered,
        ModelFailed: last_failed,
        TimerFired: ask_again,
    },
    Phase.PAUSED: {**ANYWHERE, Resumed: resume},
    Phase.DONE: {Finished: finished, Stopped: stay, PauseAsked: ask_pause, Resumed: forget_pause},
}
