"""Entering and leaving a Step: the only place where peer messages enter the transcript."""

from dataclasses import replace

from ...protocols.notices import NoticeType
from .budget import TokenBudget
from .effects import LookForMail, Moved, Notify, TakeMail
from .nudge import without_nudge
from .state import AgentState, Entering, Leaving, Paused, WaitFor

__all__ = ("enter", "leave")


def enter(state: AgentState) -> Moved:
    """Begin the next Step with a look at the mail; or pause first, when somebody asked for it."""
    if state.pause is not None:
        told = Notify(NoticeType.AGENT, "paused", state.pause)
        return replace(state, doing=Paused(None, state.pause)), (told,)
    run = state.current
    run = replace(run, steps=run.steps + 1, step_rounds=0, budget=TokenBudget(state.rules.step_tokens))
    state, op = replace(state, run=run, step=state.step + 1).with_op()
    told = Notify(NoticeType.STEP, "intro", f"Step {state.step} begins")
    return replace(state, doing=Entering(op)), (told, TakeMail(op, state.rules.mail_bytes))


def leave(state: AgentState, *, answer: str | None = None, wait: WaitFor | None = None) -> Moved:
    """End the Step; before the run ends or waits, the mailbox is looked at once more."""
    state, op = without_nudge(state).with_op()
    told = Notify(
        NoticeType.STEP, "leave", f"Step {state.step} ends", {"rounds": state.current.step_rounds, "waits": bool(wait)}
    )
    return replace(state, doing=Leaving(op, answer, wait)), (told, LookForMail(op))
