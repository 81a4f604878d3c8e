"""What comes from outside a run: pauses, stops, and the end of its time. Each of them holds in a next life too."""

from dataclasses import replace

from ...protocols.notices import NoticeType
from ...protocols.outcome import Ending, Limit
from .asking import ask
from .boundary import enter
from .effects import Commit, Moved, Notify
from .ending import finish, finish_without_model, interrupt, wind_down
from .events import DeadlinePassed, PauseAsked, Resumed, Stopped
from .phases import Ask, Asking, Paused, WindingDown
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
