"""What follows a model call that failed: another attempt, another preset, or going on without it."""

from typing import assert_never

from ...protocols.notices import NoticeType
from ...protocols.outcome import Ending
from .asking import try_again
from .compacting import OVERFLOW, compact_overflow, slide
from .effects import Moved, Notify
from .ending import finish, finish_without_model
from .events import ModelFailed
from .forgetting import REFUSED, forget, spoiled
from .phases import Aside, Compacting, Decomposing, Summarising, Thinking, WindingDown
from .planning import run_directly, summary_missing
from .state import AgentState

__all__ = ("last_failed", "model_failed", "side_failed", "without_reply")


def model_failed(state: AgentState, doing: Thinking, event: ModelFailed) -> Moved:
    """Try again, with a smaller history where that was too long, or end the run as failed."""
    again = compact_overflow(state, event) or try_again(state, doing, event)
    if again is not None:
        return again
    text = state.transcript.last_text
    state, effects = finish(state, Ending.FAILED, text, reason=event.sentence, error=event.kind)
    state, told = forget(state, event.kind) if spoiled(state, event.kind) else (state, ())
    return state, (failure_notice(event), *told, *effects)


def last_failed(state: AgentState, doing: WindingDown, event: ModelFailed) -> Moved:
    """Try again, unless the run's time is over, or end the run without a model."""
    again = None if state.current.late else try_again(state, doing, event)
    if again is not None:
        return again
    state, effects = finish_without_model(state, doing)
    state, told = forget(state, event.kind) if event.kind == REFUSED else (state, ())
    return state, (failure_notice(event), *told, *effects)


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
