"""A run at its limit gives its last answer, or is given more rounds."""

from dataclasses import replace

from ...protocols.messages import Json
from ...protocols.notices import NoticeType
from ...protocols.outcome import Limit
from ...protocols.plural import plural
from .asking import ask
from .boundary import enter
from .effects import Commit, Moved, Notify
from .ending import finish, finish_without_model, last_prompt
from .events import Extended, Replied
from .phases import WindingDown
from .state import AgentState
from .usage import counted_aside

__all__ = ("extended", "last_answered")


def last_answered(state: AgentState, doing: WindingDown, event: Replied) -> Moved:
    """The last answer came; an empty one is replaced by what there is."""
    state, told, text = last_replied(state, doing, event)
    if text.strip():
        state, effects = finish(state, doing.ending, text, reason=doing.reason, limit=doing.limit, output=event.output)
    else:
        state, effects = finish_without_model(state, doing)
    return state, (told, *effects)


def last_replied(state: AgentState, doing: WindingDown, event: Replied) -> tuple[AgentState, Notify, str]:
    """Take a last answer; calls it makes although tools are off are left out."""
    message = replace(event.reply.message, calls=())
    state, told = counted_aside(state, doing, event.reply)
    if message.content.strip():
        state = replace(state, transcript=state.transcript.reply(message))
    return state, told, message.content


def extended(state: AgentState, doing: WindingDown, event: Extended) -> Moved:
    """Some more rounds were given: the run goes on as if it had not reached the limit. No other limit can be moved."""
    data: dict[str, Json] = {"rounds": event.rounds, "limit": doing.limit.value if doing.limit else ""}
    if doing.limit is not Limit.ROUNDS:
        text = "only the limit of rounds can be extended"
        told = Notify(NoticeType.RUN, "not_extended", text, data, warning=True)
        state, effects = ask(state, doing)
        return state, (told, *effects)
    told = Notify(NoticeType.RUN, "extended", plural(event.rounds, "more round"), data)
    run = replace(state.current, extra=state.current.extra + event.rounds)
    state = replace(state, run=run, transcript=state.transcript.without_last_note(last_prompt(doing)))
    state, effects = enter(state)
    return state, (told, Commit(), *effects)
