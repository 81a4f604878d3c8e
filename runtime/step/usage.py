"""Counts what a reply used: rounds and tokens of the run, and how long the provider found the history."""

from dataclasses import replace

from ...protocols.messages import Json, Reply
from ...protocols.notices import NoticeType
from .compaction import Measured
from .effects import Notify
from .phases import Asking, Purpose
from .state import AgentState

__all__ = ("counted", "counted_aside")


def counted(state: AgentState, reply: Reply) -> tuple[AgentState, Notify]:
    """Count a reply to the conversation itself; to be called before it enters the transcript."""
    run, usage = state.current, reply.usage
    run = replace(
        run,
        rounds=run.rounds + 1,
        step_rounds=run.step_rounds + 1,
        tokens=run.tokens + usage.total,
        budget=run.budget.spend(usage.prompt),
        overflowed=False,
    )
    measured = state.measured if usage.estimated else Measured(state.transcript.size, usage.prompt)
    state = replace(state, run=run, measured=measured)
    return state, told_of(state, Purpose.THINK, reply)


def counted_aside(state: AgentState, doing: Asking, reply: Reply) -> tuple[AgentState, Notify]:
    """Count a reply to a request of its own, for a last answer, a plan or a summary; it is no round of calls."""
    run = state.current
    run = replace(run, tokens=run.tokens + reply.usage.total)
    state = replace(state, run=run)
    return state, told_of(state, doing.purpose, reply)


def told_of(state: AgentState, purpose: Purpose, reply: Reply) -> Notify:
    """What watchers see of a reply."""
    usage, calls = reply.usage, ", ".join(call.name for call in reply.message.calls)
    data: dict[str, Json] = {
        "prompt": usage.prompt,
        "completion": usage.completion,
        "estimated": usage.estimated,
        "finish": reply.finish.value,
        "request_id": reply.request_id,
        "round": state.current.rounds,
        "purpose": purpose.value,
        "model": reply.model,
        "seconds": round(reply.seconds, 3),
    }
    text = f"calls {calls}" if calls else reply.message.content[:200]
    return Notify(NoticeType.MODEL, "replied", text, data)
