"""The calls of a reply: which of them run, which wait for a person, and what follows when all have their output.

replied -> Acting: each call is run, or ended at once (a repeat, `update_step`)
ToolHeld -> a person must allow the call first; Decided -> it is run as the person saw it, or ended
ToolEnded, Decided -> ... -> the last output closes the batch
closed -> after_iteration: stall, limits, a wait, mail, the end of the Step, or another round
"""

from dataclasses import replace

from ...protocols.messages import Finish, Json, ToolCall
from ...protocols.notices import NoticeType
from ...protocols.outcome import Ending, Limit
from ..errors import PlanInvalid
from .boundary import leave
from .compaction import due
from .effects import AskApproval, Commit, Effect, Moved, Notify, RunTool
from .ending import wind_down
from .events import CallFacts, Decided, Replied, ToolEnded, ToolHeld
from .hints import failure_hint, repeat_hint
from .judging import judge
from .nudge import without_nudge
from .phases import Acting, Slot
from .prompts import CANCELLED, CUT, REFUSED
from .revision import UPDATE_STEP, revise
from .rounds import answered, empty, rounds_spent, think
from .stalling import stalled
from .state import AgentState
from .usage import counted

__all__ = ("closed", "decided", "held", "replied", "started", "tool_ended", "tool_held")

UNEXPLAINED = "a person must allow it first"
"""Why a call is held that nobody gave a reason for."""


def replied(state: AgentState, event: Replied) -> Moved:
    """Take a reply into the transcript and do what it asks for."""
    message = event.reply.message
    state, told = counted(state, event.reply)
    state = without_nudge(state)
    if not message.calls and not message.content.strip():
        state, effects = empty(state, event.reply)
        return state, (told, *effects)
    state = replace(state, transcript=state.transcript.reply(message), run=replace(state.current, nudged=False))
    if not message.calls:
        state, effects = answered(state, event)
    elif event.reply.finish is Finish.LENGTH:
        state = replace(state, transcript=state.transcript.close((CUT,) * len(message.calls)))
        state, effects = after_iteration(state, Acting(()), mail_waits=True)  # unknown, so a look is due
    else:
        state, effects = act(state, message.calls, event.facts)
    return state, (told, Commit(), *effects)


def act(state: AgentState, calls: tuple[ToolCall, ...], facts: tuple[CallFacts, ...]) -> Moved:
    """Begin the calls of a reply together."""
    slots, effects = list[Slot](), list[Effect]()
    at_node = state.current.node is not None  # until the batch ends, even if one of its calls ends the node
    for call, fact in zip(calls, facts, strict=True):
        state, slot, begun = begin_call(state, call, fact, at_node=at_node)
        slots.append(slot)
        effects += begun
    doing = Acting(tuple(slots))
    state = replace(state, doing=doing)
    if not doing.over:
        return state, tuple(effects)
    state, closing = closed(state, doing, mail_waits=True)  # unknown, so a look is due
    return state, (*effects, *closing)


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
    return state, slot, (Notify(NoticeType.TOOL, "started", slot.call.name, {"tool": slot.call.name}), run)


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
    call = slot.runs
    data: dict[str, Json] = {
        "id": f"{state.current.id}.{op}",
        "tool": call.name,
        "arguments": call.arguments,
        "reason": reason,
    }
    told = Notify(NoticeType.TOOL, "approval", f"{call.name} waits for a person: {reason}", data)
    return state, replace(slot.awaited_under(op), held=reason), (told, AskApproval(op, call, reason))


def tool_held(state: AgentState, doing: Acting, event: ToolHeld) -> Moved:
    """A person must decide about a call before it runs, and about exactly what will run."""
    slot = slot_of(doing, event.op)
    asked = replace(slot, rewritten=event.arguments)
    state, waiting, effects = held(state, asked, event.reason or UNEXPLAINED)
    return replace(state, doing=with_slot(doing, slot, waiting)), (*effects, Commit())


def decided(state: AgentState, doing: Acting, event: Decided) -> Moved:
    """A person has decided: the call runs, or its output says that it did not."""
    slot = slot_of(doing, event.op)
    data: dict[str, Json] = {"id": f"{state.current.id}.{event.op}", "tool": slot.call.name, "reason": event.reason}
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
    name = slot.call.name
    told = Notify(
        NoticeType.TOOL,
        "failed" if event.failed else "ended",
        f"{name}: {event.output[:200]}",
        {"tool": name, "bytes": len(event.output.encode(errors="replace"))},
    )
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


def closed(state: AgentState, doing: Acting, *, mail_waits: bool) -> Moved:
    """Close the batch and look whether the Step goes on."""
    outputs = tuple(slot.output or "" for slot in doing.slots)
    before = state.current.window
    results = tuple((slot.signature, slot.digest) for slot in doing.slots)
    window = before.waited() if doing.wait else before.ended(results)
    state = replace(state, transcript=state.transcript.close(outputs), run=replace(state.current, window=window))
    state, effects = after_iteration(state, doing, mail_waits=mail_waits)
    return state, (Commit(), *effects)


def after_iteration(state: AgentState, doing: Acting, *, mail_waits: bool) -> Moved:
    """Decide after each round what comes next: stall, limits, a wait, mail, the end of the Step, or another round."""
    run = state.current
    repeated = next((slot.call.name for slot in doing.slots if slot.cancelled), None)
    judged = judge(
        "stalled",
        lambda: state.rules.strategy.stalled(run.window),
        lambda said: isinstance(said, bool),
        otherwise=False,
    )
    if repeated or run.window.period or judged.value:
        state, effects = stalled(state, repeated)
        return state, (*judged.told, *effects)
    if state.rounds_left <= 0:
        state, effects = rounds_spent(state)
    elif run.budget.exhausted:
        reason = f"the Step has used {run.budget.spent} of its {run.budget.limit} prompt tokens"
        state, effects = wind_down(state, Ending.LIMIT, reason, Limit.STEP_TOKENS)
    else:
        state, effects = go_on(state, doing, mail_waits=mail_waits)
    return state, (*judged.told, *effects)


def go_on(state: AgentState, doing: Acting, *, mail_waits: bool) -> Moved:
    """Another round, or, where mail, a wait, the plan or the size of the history wants a boundary, the Step's end."""
    state, told = hinted(state, doing)
    if doing.wait or mail_waits or wants_boundary(state):
        state, effects = leave(state, doing.wait)
    else:
        state, effects = think(state)
    return state, (*told, *effects)


def wants_boundary(state: AgentState) -> bool:
    """Whether the Step ends here by itself. With a plan it is one node, however many rounds that takes."""
    run, rules = state.current, state.rules
    if run.plan is not None and run.node is None and run.plan.status_text() != run.status:
        return True  # the model itself has ended the node
    full = run.node is None and run.step_rounds >= rules.step_rounds
    return full or bool(due(rules.compaction, state.transcript, state.measured))


def hinted(state: AgentState, doing: Acting) -> Moved:
    """Tell the model what to do about failures, and about a call that it repeats."""
    run = state.current
    failed = any((slot.output or "").startswith("ERROR") and not slot.quiet for slot in doing.slots)
    if failed:
        run = replace(run, tool_error_hints=run.tool_error_hints + 1)
        state = replace(state, run=run)
    hints = [failure_hint(run.tool_error_hints, plan=run.node is not None) if failed else None]
    same, limit = run.window.same_results, run.window.limit
    if doing.slots and same == max(2, limit - 2) < limit and doing.slots[-1].signature == run.window.signature:
        hints.append(repeat_hint(same, limit, doing.slots[-1].call.name))
    effects = list[Effect]()
    for hint in filter(None, hints):
        state = state.noted(hint)
        effects.append(Notify(NoticeType.STEP, "hint", hint, {"failures": run.tool_error_hints, "repeats": same}))
    return state, (*effects, Commit()) if effects else ()
