"""The Step loop as a function: `advance(state, event) -> (state, effects)`.

No await, no clock, no randomness, no I/O, no logging. `MOVES` says which phase takes which event, and an answer must be
one that is awaited; anything else raises `InvalidMove`, leaves the state as it was and means a bug.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, assert_never

from ...protocols.checkin import EndStep, Pause, Proceed, Stop, Wait, WindDown
from ...protocols.ids import RunId
from ...protocols.notices import NoticeType
from ...protocols.outcome import Ending, Limit
from ..errors import InvalidMove
from .asking import ask, call, retry, wait_then_ask
from .boundary import enter, leave
from .effects import Cancel, Commit, Effect, Notify, StartDeadline, WaitForMail
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
from .stall import Window
from .state import (
    AgentState,
    Ask,
    AskStage,
    Idle,
    Leaving,
    Op,
    Paused,
    Phase,
    Run,
    Thinking,
    Waiting,
    WindingDown,
    awaited,
)
from .transcript import Transcript

__all__ = ("MOVES", "advance")

Moved: TypeAlias = tuple[AgentState, tuple[Effect, ...]]
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
    if isinstance(state.doing, Thinking | WindingDown) and state.doing.ask.stage is not STAGES[type(event)]:
        return False
    return op in awaited(state.doing)


def new_run(state: AgentState, run: RunId) -> AgentState:
    """The agent with a run that begins now, and with its memory as far as it has one."""
    transcript = Transcript.begin(state.rules.instructions) if state.rules.memory == "run" else state.transcript
    return replace(state, transcript=transcript.next_run(), run=Run(run, window=Window(state.rules.repeats)))


def begin(state: AgentState, _: Idle, event: Asked) -> Moved:
    """A task came: it enters the transcript, and the first Step begins."""
    state = new_run(state, event.run)
    state = replace(state, transcript=state.transcript.note(event.task))
    return started(state, event.task[:200], event.timeout)


def wake(state: AgentState, _: Idle, event: Woken) -> Moved:
    """Mail came to an idle agent: a run without a task begins; the mail is its task."""
    return started(new_run(state, event.run), "woken by mail", event.timeout)


def started(state: AgentState, text: str, timeout: float | None) -> Moved:
    """Set the run's timer, if it has one, and begin the first Step."""
    effects: tuple[Effect, ...] = (Notify(NoticeType.RUN, "started", text),)
    if timeout is not None:
        state, op = state.with_op()
        state = replace(state, run=replace(state.current, deadline=op))
        effects = (*effects, StartDeadline(op, timeout))
    state, entering = enter(state)
    return state, (*effects, Commit(), *entering)


def mail_taken(state: AgentState, _: object, event: MailTaken) -> Moved:
    """Mail enters the transcript as one note, and the model is asked."""
    if not event.mails:
        return think(state) if state.transcript.of_run else finish(state, Ending.STOPPED, "", reason=NOTHING_TO_DO)
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
    """At the end of a Step: mail opens another one, if there is a round left for it; else the run ends or waits."""
    if event.waits and state.current.rounds < state.rules.rounds:
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


def mail_arrived(state: AgentState, doing: Waiting, _: MailArrived) -> Moved:
    """What the agent waited for is there."""
    state, effects = enter(state)
    return state, (Cancel((doing.op,)), *effects)


def directed(state: AgentState, doing: Thinking | WindingDown, event: Directed) -> Moved:
    """Do what the Supervisor said."""
    match event.directive:
        case Proceed(grant=grant):
            return call(state, doing, grant)
        case Wait(after=after):
            return wait_then_ask(state, doing, after)
        case Pause() if doing.ask.resumed:
            return ask(state, doing)
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


def resume_asking(state: AgentState, doing: Thinking | WindingDown, _: Resumed) -> Moved:
    """The pause is over, and an answer that is on its way may not know it yet."""
    return replace(state, pause=None, doing=replace(doing, ask=replace(doing.ask, resumed=True))), ()


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
    state, cancelled = interrupt(without_deadline(state))
    state, effects = wind_down(state, Ending.LIMIT, TIME_OVER, Limit.TIME)
    return state, (*cancelled, *effects)


def time_over_already_ending(state: AgentState, _: object, __: DeadlinePassed) -> Moved:
    """The run is giving its last answer: let it."""
    return without_deadline(state), ()


def time_over_paused(state: AgentState, doing: Paused, _: DeadlinePassed) -> Moved:
    """The run's time is over while nothing may be begun: it ends without a last answer of the model."""
    ending = (
        doing.was if isinstance(doing.was, WindingDown) else WindingDown(Ask(), Ending.LIMIT, TIME_OVER, Limit.TIME)
    )
    return finish_without_model(without_deadline(state), ending)


def without_deadline(state: AgentState) -> AgentState:
    """The agent with a run whose timer has run out."""
    return replace(state, run=replace(state.current, deadline=None))


def stay(state: AgentState, _: object, __: object) -> Moved:
    """Nothing to do."""
    return state, ()


def finished(state: AgentState, _: object, __: Finished) -> Moved:
    """The outcome is out."""
    return replace(state, doing=Idle(), run=None), ()


NOTHING_TO_DO = "the mail that woke the agent is gone"
TIME_OVER = "the run's time is over"

STAGES: Mapping[type[Event], AskStage] = {
    Directed: AskStage.LEAVE,
    TimerFired: AskStage.TIMER,
    Replied: AskStage.MODEL,
    ModelFailed: AskStage.MODEL,
}

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
        Resumed: resume_asking,
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
        Resumed: resume_asking,
        Directed: directed,
        Replied: last_answered,
        ModelFailed: last_failed,
        TimerFired: ask_again,
    },
    Phase.PAUSED: {**ANYWHERE, DeadlinePassed: time_over_paused, Resumed: resume},
    Phase.DONE: {Finished: finished, Stopped: stay, PauseAsked: ask_pause, Resumed: forget_pause},
}
