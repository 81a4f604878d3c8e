"""What comes from outside a run: pauses, stops, and the end of its time. Each of them holds in a next life too."""

from dataclasses import replace

from ...protocols.notices import NoticeType
from ...protocols.outcome import Ending, Limit
from .asking import ask
from .boundary import enter
from .effects import Cancel, Commit, Moved, Notify, StartDeadline
from .ending import finish, finish_without_model, interrupt, wind_down
from .events import DeadlinePassed, PauseAsked, Resumed, Stopped
from .phases import Ask, Asking, AskStage, Paused, WindingDown
from .state import AgentState

__all__ = (
    "ask_pause",
    "forget_pause",
    "resume",
    "resume_asking",
    "stop",
    "time_over",
    "time_over_already_ending",
    "time_over_paused",
)


TIME_OVER = "the run's time is over"


def resume(state: AgentState, doing: Paused, _: Resumed) -> Moved:
    """Take up what was paused."""
    state = replace(state, pause=None)
    told = Notify(NoticeType.AGENT, "resumed", "goes on")
    state, effects = enter(state) if doing.was is None else ask(state, doing.was)
    return state, (told, Commit(), *effects)


def ask_pause(state: AgentState, _: object, event: PauseAsked) -> Moved:
    """Remember to pause at the next boundary."""
    return replace(state, pause=event.reason), (Commit(),)


def resume_asking(state: AgentState, doing: Asking, _: Resumed) -> Moved:
    """The pause is over, and an answer that is on its way may not know it yet."""
    return replace(state, pause=None, doing=replace(doing, ask=replace(doing.ask, resumed=True))), (Commit(),)


def forget_pause(state: AgentState, _: object, __: Resumed) -> Moved:
    """The pause that was asked for is no longer wanted."""
    return replace(state, pause=None), (Commit(),)


def stop(state: AgentState, _: object, event: Stopped) -> Moved:
    """End the run now: what runs is cancelled, the open batch is closed."""
    state, cancelled = interrupt(state)
    state, effects = finish(state, Ending.STOPPED, state.transcript.last_text, reason=event.reason)
    return state, (*cancelled, *effects)


def time_over(state: AgentState, _: object, __: DeadlinePassed) -> Moved:
    """The run's time is over: what runs is cancelled, and a last answer follows, which has little time itself."""
    state, cancelled = interrupt(without_deadline(state))
    state, timer = late(state)
    state, effects = wind_down(state, Ending.LIMIT, TIME_OVER, Limit.TIME)
    return state, (*cancelled, *timer, *effects)


def time_over_already_ending(state: AgentState, doing: WindingDown, _: DeadlinePassed) -> Moved:
    """The time is over while the run gives its last answer: a call that was made may end, nothing more is begun."""
    if doing.ask.stage is AskStage.MODEL and not state.current.late:
        return late(without_deadline(state))
    state, effects = finish_without_model(without_deadline(state), doing)
    return state, (Cancel((doing.ask.op,)), *effects)


def late(state: AgentState) -> Moved:
    """The run is past its time; a last answer has so many seconds more."""
    run, seconds = state.current, state.rules.last_seconds
    state, op = state.with_op()
    run = replace(run, late=True, deadline=op, timeout=(run.timeout or 0.0) + seconds)
    return replace(state, run=run), (StartDeadline(op, seconds),)


def time_over_paused(state: AgentState, doing: Paused, _: DeadlinePassed) -> Moved:
    """The run's time is over while nothing may be begun: it ends without a last answer of the model."""
    ending = (
        doing.was if isinstance(doing.was, WindingDown) else WindingDown(Ask(), Ending.LIMIT, TIME_OVER, Limit.TIME)
    )
    return finish_without_model(without_deadline(state), ending)


def without_deadline(state: AgentState) -> AgentState:
    """The agent with a run whose timer has run out."""
    return replace(state, run=replace(state.current, deadline=None))
