"""One round: the model's reply, and what it means. The calls it asks for are run by `calls`."""

from dataclasses import replace

from ...protocols.messages import Finish, Reply
from ...protocols.notices import NoticeType
from ...protocols.outcome import Ending, Limit
from .asking import ask
from .boundary import leave
from .effects import Commit, Moved, Notify
from .ending import finish, wind_down
from .events import Replied
from .nudge import nudge
from .phases import Answer, Ask, Thinking
from .planning import shown, summarise
from .prompts import CORRECT
from .state import AgentState

__all__ = ("answered", "empty", "rounds_spent", "think")

CORRECTIONS = 2
"""How often the model may correct a typed answer."""

CUT_SHORT = "the answer was cut at the output limit"


def think(state: AgentState) -> Moved:
    """Ask the model, unless the run has had all its rounds."""
    if state.rounds_left <= 0:
        return rounds_spent(state)
    return ask(state, Thinking(Ask()))


def rounds_spent(state: AgentState) -> Moved:
    """The run has no rounds left: a last answer follows."""
    allowed = state.rules.rounds + state.current.extra
    return wind_down(state, Ending.LIMIT, f"the run has had its {allowed} rounds", Limit.ROUNDS)


def answered(state: AgentState, event: Replied) -> Moved:
    """Words without calls: the end of a plan's node, or the run's answer, which must be of the type that is asked for.

    The reply is in the transcript already.
    """
    text, run = event.reply.message.content, state.current
    if run.node is not None:
        return summarise(state, text)
    if not event.flaw:
        return leave(state, Answer(text, event.output, CUT_SHORT if event.reply.finish is Finish.LENGTH else ""))
    told = Notify(NoticeType.MODEL, "flawed", event.flaw, {"correction": run.corrections + 1})
    if run.corrections >= CORRECTIONS:
        reason = f"the answer is still not of the type that is asked for: {event.flaw}"
        state, effects = finish(state, Ending.FAILED, text, reason=reason)
    else:
        state = replace(state, run=replace(run, corrections=run.corrections + 1))
        state, effects = think(state.noted(CORRECT.format(flaw=event.flaw)))
    return state, (told, Commit(), *effects)


def empty(state: AgentState, reply: Reply) -> Moved:
    """A reply that says nothing: ask once more, then fail. Neither it nor the nudge stays in the history."""
    told = Notify(
        NoticeType.MODEL, "empty", f"Empty response {shown(reply)}", {"request_id": reply.request_id}, warning=True
    )
    if state.current.nudged:
        reason = f"empty reply {shown(reply)}"
        state, effects = finish(state, Ending.FAILED, state.transcript.last_text, reason=reason)
        return state, (told, *effects)
    state, effects = think(nudge(state))
    return state, (told, Commit(), *effects)
