"""A new life: what a dead process had begun is begun anew, under new ops.

A call whose output is not recorded may have run. One of a tool marked as safe runs again, under the same key; any other
comes to an output that says so. Model calls of the dead life are the Supervisor's to settle: leave is asked for anew.
"""

from dataclasses import replace
from typing import assert_never

from ...protocols.messages import Json
from ...protocols.notices import NoticeType
from .asking import ask
from .calls import held, started
from .effects import Commit, Effect, Finish, LookForMail, Moved, Notify, StartDeadline, TakeMail, WaitForMail
from .events import Revived
from .iteration import closed
from .phases import (
    Acting,
    Asking,
    AskStage,
    Compacting,
    Decomposing,
    Doing,
    Done,
    Entering,
    Idle,
    Leaving,
    NodeDone,
    Paused,
    Slot,
    Summarising,
    Thinking,
    Waiting,
    WindingDown,
)
from .prompts import INTERRUPTED
from .state import AgentState

__all__ = ("revive",)


def revive(state: AgentState, doing: Doing, event: Revived) -> Moved:
    """Begin anew what was awaited. That the agent was revived is recorded before anything happens."""
    told = revived_notice(state, doing)
    state, timer = deadline_again(state, event.ran)
    state, effects = begun_again(state, doing, event.waited)
    return state, (told, Commit(), *timer, *effects)


def deadline_again(state: AgentState, ran: float) -> Moved:
    """The run's timer, for the time that is left."""
    run = state.run
    if run is None or run.deadline is None:
        return state, ()
    state, op = state.with_op()
    left = max(0.0, (run.timeout or 0.0) - ran)
    return replace(state, run=replace(run, deadline=op)), (StartDeadline(op, left),)


def begun_again(state: AgentState, doing: Doing, waited: float) -> Moved:
    """What the phase itself awaits."""
    match doing:
        case Idle() | Paused():
            return state, ()
        case Decomposing() | Thinking() | Summarising() | Compacting() | WindingDown():
            return ask(state, doing, first=begins_last_answer(doing))
        case Acting():
            return act_again(state, doing)
        case Entering() | Leaving() | Waiting() | Done():
            return awaited_again(state, doing, waited)
        case _ as unknown:
            assert_never(unknown)


def awaited_again(state: AgentState, doing: Entering | Leaving | Waiting | Done, waited: float) -> Moved:
    """The one thing that the phase awaits."""
    state, op = state.with_op()
    state = replace(state, doing=replace(doing, op=op))
    match doing:
        case Entering():
            return state, (TakeMail(op, state.rules.mail_bytes),)
        case Leaving():
            return state, (LookForMail(op, doing.then.summary if isinstance(doing.then, NodeDone) else ""),)
        case Waiting(wait=wait):
            return state, (WaitForMail(op, replace(wait, seconds=max(0.0, wait.seconds - waited))),)
        case Done(outcome=outcome):
            return state, (Finish(op, outcome),)
        case _ as unknown:
            assert_never(unknown)


def begins_last_answer(doing: Asking) -> bool:
    """Whether a limit was reached and nothing came of it yet, so that a hook may still extend it."""
    if not isinstance(doing, WindingDown) or doing.limit is None:
        return False
    asked = doing.ask
    return asked.stage is AskStage.LEAVE and not (asked.failures or asked.waited or asked.queued)


def act_again(state: AgentState, doing: Acting) -> Moved:
    """Each call that has no output is run again, asked for again, or comes to an output; the others stay."""
    slots, effects = list[Slot](), list[Effect]()
    for slot in doing.slots:
        state, again, begun = called_again(state, slot)
        slots.append(again)
        effects += begun
    doing = Acting(tuple(slots))
    state = replace(state, doing=doing)
    if not doing.over:
        return state, tuple(effects)
    state, closing = closed(state, doing, mail_waits=True)  # unknown, so a look is due
    return state, (*effects, *closing)


def called_again(state: AgentState, slot: Slot) -> tuple[AgentState, Slot, tuple[Effect, ...]]:
    """One call in the new life."""
    if slot.output is not None:
        return state, slot, ()
    if slot.held:
        return held(state, slot, slot.held)
    if slot.safe:
        return started(state, slot)
    return state, replace(slot, output=INTERRUPTED, digest=INTERRUPTED), ()


def revived_notice(state: AgentState, doing: Doing) -> Notify:
    """What is begun again, and what may have run."""
    slots = [slot for slot in doing.slots if slot.output is None] if isinstance(doing, Acting) else []
    again = [slot.call.name for slot in slots if slot.safe or slot.held]
    lost = [slot.call.name for slot in slots if not (slot.safe or slot.held)]
    text = f"lives again, {state.phase} as before"
    text += f"; begins again: {', '.join(again)}" if again else ""
    text += f"; may have run: {', '.join(lost)}" if lost else ""
    data: dict[str, Json] = {"phase": state.phase.value, "again": [*again], "may_have_run": [*lost]}
    return Notify(NoticeType.AGENT, "revived", text, data, warning=bool(lost))
