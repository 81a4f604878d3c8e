"""One round: the model's reply, and what it means. The calls it asks for are run by `calls`."""

from dataclasses import replace

from ...protocols.messages import Finish, Reply
from ...protocols.notices import NoticeType
from ...protocols.outcome import Ending
from .boundary import leave
from .calls import act, cut_off
from .effects import Commit, Moved, Notify
from .ending import finish
from .events import Replied
from .forgetting import forget, spoiled
from .nudge import nudge, without_nudge
from .phases import Answer, Thinking
from .planning import shown, summarise
from .prompts import CORRECT
from .state import AgentState
from .thinking import think
from .usage import counted

__all__ = ("replied",)

CORRECTIONS = 2
"""How often the model may correct a typed answer."""

EMPTY = "EmptyReply"
"""Why a run failed whose model said nothing; no error's name, as no call failed."""

CUT_SHORT = "the answer was cut at the output limit"


def replied(state: AgentState, doing: Thinking, event: Replied) -> Moved:
    """Take a reply into the transcript and do what it asks for."""
    message = event.reply.message
    state, told = counted(state, event.reply)
    state = without_nudge(state)
    if not message.calls and not message.content.strip():
        state, effects = empty(state, event.reply)
        return state, (told, *effects)
    run = state.current
    run = replace(run, nudged=False) if run.nudged else run
    state = replace(state, transcript=state.transcript.reply(message), run=run)
    if not message.calls:
        state, effects = answered(state, event)
    elif event.reply.finish is Finish.LENGTH:
        state, effects = cut_off(state, message.calls, event.facts)
    else:
        state, effects = act(state, message.calls, event.facts, doing.ask.tools)
    return state, (told, Commit(), *effects)


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
        state, forgotten = forget(state, EMPTY) if spoiled(state, EMPTY) else (state, ())
        return state, (told, *forgotten, *effects)
    state, effects = think(nudge(state))
    return state, (told, Commit(), *effects)
