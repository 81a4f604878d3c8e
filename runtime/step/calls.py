"""The calls of a reply: which of them run, which wait for a person, and which come to an output at once.

act -> Acting: each call is run, or ended at once (a repeat, `update_step`)
ToolHeld -> a person must allow the call first; Decided -> it is run as the person saw it, or ended
ToolEnded, Decided -> ... -> the last output closes the batch
"""

from dataclasses import replace

from ...protocols.messages import Json, ToolCall
from ...protocols.notices import NoticeType
from ..errors import PlanInvalid
from .correspondence import unanswered
from .effects import AskApproval, Commit, Effect, Moved, Notify, RunTool
from .events import CallFacts, Decided, ToolEnded, ToolHeld
from .iteration import closed
from .phases import Acting, Slot
from .prompts import CANCELLED, CUT, LEFT_OUT, REFUSED
from .revision import UPDATE_STEP, revise
from .state import AgentState

__all__ = ("act", "cut_off", "decided", "held", "started", "tool_ended", "tool_held")

UNEXPLAINED = "a person must allow it first"
"""Why a call is held that nobody gave a reason for."""


def act(
    state: AgentState, calls: tuple[ToolCall, ...], facts: tuple[CallFacts, ...], allowed: int | None = None
) -> Moved:
    """Begin the calls of a reply together, the first of them if only so many are `allowed`."""
    slots, effects = list[Slot](), list[Effect]()
    at_node = state.current.node is not None  # until the batch ends, even if one of its calls ends the node
    for place, (call, fact) in enumerate(zip(calls, facts, strict=True)):
        if allowed is not None and place >= allowed:
            state, slot, begun = left_out(state, call, fact)
        else:
            state, slot, begun = begin_call(state, call, fact, at_node=at_node)
        slots.append(slot)
        effects += begun
    doing = Acting(tuple(slots))
    state = replace(state, doing=doing)
    if not doing.over:
        return state, tuple(effects)
    state, closing = closed(state, doing, mail_waits=True)  # unknown, so a look is due
    return state, (*effects, *closing)


def cut_off(state: AgentState, calls: tuple[ToolCall, ...], facts: tuple[CallFacts, ...]) -> Moved:
    """The output limit cut the reply, so its calls may not be whole: none of them runs, and the model is told.

    They count as repeats all the same: a model that is cut at the same call again and again gets no further.
    """
    window, slots = state.current.window, list[Slot]()
    for call, fact in zip(calls, facts, strict=True):
        window = window.asked(fact.signature)
        cancelled = window.repeated(polling=fact.polling)
        slots.append(Slot(call, fact.signature, None, CUT, CUT, cancelled=cancelled, quiet=True))
    state = replace(state, run=replace(state.current, window=window))
    return closed(state, Acting(tuple(slots)), mail_waits=True)  # unknown, so a look is due


def left_out(state: AgentState, call: ToolCall, fact: CallFacts) -> tuple[AgentState, Slot, tuple[Effect, ...]]:
    """A call that a limit does not let through; it counts as a repeat all the same."""
    state = replace(state, run=replace(state.current, window=state.current.window.asked(fact.signature)))
    told = Notify(NoticeType.TOOL, "left_out", f"{call.name}: {LEFT_OUT}", {"tool": call.name})
    return state, Slot(call, fact.signature, None, LEFT_OUT, digest=LEFT_OUT, quiet=True), (told,)


def begin_call(
    state: AgentState, call: ToolCall, fact: CallFacts, *, at_node: bool
) -> tuple[AgentState, Slot, tuple[Effect, ...]]:
    """Begin one call; one that would be the N-th of its kind in a row does not run."""
    run = state.current
    window = run.window.asked(fact.signature)
    state = replace(state, run=replace(run, window=window))
    if window.repeated(polling=fact.polling):
        told = Notify(NoticeType.TOOL, "cancelled", f"{call.name}: {CANCELLED}", {"tool": call.name})
        return state, Slot(call, fact.signature, None, CANCELLED, cancelled=True, quiet=True), (told,)
    if call.name == UPDATE_STEP and at_node:
        return revised(state, call, fact)
    return started(state, Slot(call, fact.signature, None, safe=fact.safe))


def started(state: AgentState, slot: Slot) -> tuple[AgentState, Slot, tuple[Effect, ...]]:
    """Run a call, for the first time or again, and tell of it."""
    state, slot, run = run_call(state, slot)
    told = Notify(NoticeType.TOOL, "started", slot.call.name, {"tool": slot.call.name, "call": slot.key})
    return state, slot, (told, run)


def run_call(state: AgentState, slot: Slot) -> tuple[AgentState, Slot, RunTool]:
    """Run a call."""
    state, op = state.with_op()
    slot = slot.awaited_under(op)
    return state, slot, RunTool(op, slot.runs, slot.key, slot.approved)


def revised(state: AgentState, call: ToolCall, fact: CallFacts) -> tuple[AgentState, Slot, tuple[Effect, ...]]:
    """Revise the plan as the model asks. What it may not become stays as it was, and the model reads why."""
    run = state.current
    assert run.plan is not None, run.id  # noqa: S101  there was a node, so there is a plan
    try:
        revision = revise(run.plan, call.arguments)
    except PlanInvalid as error:
        output = f"ERROR: {error}"
        told = Notify(NoticeType.TOOL, "failed", f"{call.name}: {output}", {"tool": call.name})
        return state, Slot(call, fact.signature, None, output, digest=output, quiet=True), (told,)
    data: dict[str, Json] = {"revision": revision.plan.revision, "plan": revision.plan.status_text()}
    effects = (
        (Notify(NoticeType.STEP, "plan_revision", revision.text.partition("\n")[0], data),) if revision.changed else ()
    )
    state = replace(state, run=replace(run, plan=revision.plan))
    return state, Slot(call, fact.signature, None, revision.text, digest=revision.text), effects


def held(state: AgentState, slot: Slot, reason: str) -> tuple[AgentState, Slot, tuple[Effect, ...]]:
    """Keep a call until a person has decided."""
    state, op = state.with_op()
    call, slot = slot.runs, slot.awaited_under(op)
    data: dict[str, Json] = {
        "id": f"{state.current.id}.{op}",
        "tool": call.name,
        "call": slot.key,
        "arguments": call.arguments,
        "reason": reason,
    }
    told = Notify(NoticeType.TOOL, "approval", f"{call.name} waits for a person: {reason}", data)
    return state, replace(slot, held=reason), (told, AskApproval(op, call, reason))


def tool_held(state: AgentState, doing: Acting, event: ToolHeld) -> Moved:
    """A person must decide about a call before it runs, and about exactly what will run."""
    slot = slot_of(doing, event.op)
    asked = replace(slot, rewritten=event.arguments)
    state, waiting, effects = held(state, asked, event.reason or UNEXPLAINED)
    return replace(state, doing=with_slot(doing, slot, waiting)), (*effects, Commit())


def decided(state: AgentState, doing: Acting, event: Decided) -> Moved:
    """A person has decided: the call runs, or its output says that it did not."""
    slot = slot_of(doing, event.op)
    data: dict[str, Json] = {
        "id": f"{state.current.id}.{event.op}",
        "tool": slot.call.name,
        "call": slot.key,
        "reason": event.reason,
    }
    if event.allowed:
        told = Notify(NoticeType.TOOL, "approved", f"{slot.call.name} may run", data)
        state, running, run = run_call(state, replace(slot, held="", approved=True))
        return replace(state, doing=with_slot(doing, slot, running)), (told, Commit(), run)
    output = REFUSED.format(reason=f": {event.reason}" if event.reason else "")
    told = Notify(NoticeType.TOOL, "refused", f"{slot.call.name}: {output}", data)
    ended = replace(slot, output=output, digest=output, held="", quiet=True)
    state, effects = with_output(state, doing, slot, ended, mail_waits=True)
    return state, (told, *effects)


def tool_ended(state: AgentState, doing: Acting, event: ToolEnded) -> Moved:
    """Take a call's output; the last one closes the batch."""
    slot = slot_of(doing, event.op)
    ended = replace(slot, output=event.output, digest=event.digest, wait=event.wait)
    if event.wrote:
        run = replace(state.current, questions=unanswered(state.current.questions, event.wrote))
        state = replace(state, run=run)
    name = slot.call.name
    data: dict[str, Json] = {
        "tool": name,
        "call": slot.key,
        "signature": slot.signature,
        "digest": event.digest,
        "bytes": len(event.output.encode(errors="replace")),
    }
    told = Notify(NoticeType.TOOL, "failed" if event.failed else "ended", f"{name}: {event.output[:200]}", data)
    state, effects = with_output(state, doing, slot, ended, mail_waits=event.mail_waits)
    return state, (told, *effects)


def with_output(state: AgentState, doing: Acting, slot: Slot, ended: Slot, *, mail_waits: bool) -> Moved:
    """Put an ended call into its place, and close the batch if it was the last.

    What a person said, and a call that must not run again, are recorded even before that.
    """
    doing = with_slot(doing, slot, ended)
    state = replace(state, doing=doing)
    if doing.over:
        return closed(state, doing, mail_waits=mail_waits)
    return state, () if slot.safe and not slot.held else (Commit(),)


def slot_of(doing: Acting, op: int) -> Slot:
    """The call that awaits `op`."""
    return next(slot for slot in doing.slots if slot.op == op)


def with_slot(doing: Acting, old: Slot, new: Slot) -> Acting:
    """The batch with one call replaced."""
    return Acting(tuple(new if slot is old else slot for slot in doing.slots))
