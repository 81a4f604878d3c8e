"""What the Supervisor said to a check-in."""

from dataclasses import replace
from typing import assert_never

from ...protocols.checkin import EndStep, Pause, Proceed, Stop, Wait, WindDown
from ...protocols.notices import NoticeType
from ...protocols.outcome import Ending, Limit
from .asking import ask, call, wait_for_leave, wait_for_turn
from .boundary import leave
from .effects import Moved, Notify
from .ending import finish, finish_without_model, wind_down
from .events import Directed, TimerFired
from .failing import without_reply
from .phases import Asking, Paused, Thinking, WindingDown
from .state import AgentState

__all__ = ("ask_again", "directed")


def directed(state: AgentState, doing: Asking, event: Directed) -> Moved:
    """Do what the Supervisor said."""
    match event.directive:
        case Proceed(grant=grant):
            return call(state, doing, grant)
        case Wait(after=after, queued=True):
            return wait_for_turn(state, doing, after)
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


def ask_again(state: AgentState, doing: Asking, _: TimerFired) -> Moved:
    """The pause before an attempt is over."""
    return ask(state, doing)
