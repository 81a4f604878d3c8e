"""One round: the model's reply, the calls it asks for, and what follows when they have ended."""

from dataclasses import replace

from ...protocols.messages import Finish, Message, Reply
from ...protocols.notices import NoticeType
from ...protocols.outcome import Ending, Limit
from .asking import ask
from .boundary import leave
from .effects import Commit, Effect, Moved, Notify, RunTool
from .ending import finish, wind_down
from .events import CallFacts, Replied, ToolEnded
from .nudge import nudge, without_nudge
from .prompts import CANCELLED, CUT
from .state import Acting, AgentState, Ask, Slot, Thinking

__all__ = ("last_replied", "replied", "think", "tool_ended")


def think(state: AgentState) -> Moved:
    """Ask the model, unless the run has had all its rounds."""
    if state.current.rounds >= state.rules.rounds:
        return wind_down(state, Ending.LIMIT, rounds_spent(state), Limit.ROUNDS)
    return ask(state, Thinking(Ask()))


def rounds_spent(state: AgentState) -> str:
    """Why a run with no rounds left ends."""
    return f"the run has had its {state.rules.rounds} rounds"


def replied(state: AgentState, event: Replied) -> Moved:
    """Take a reply into the transcript and do what it asks for."""
    message, finished = event.reply.message, event.reply.finish
    state, told = counted(state, event.reply)
    state = without_nudge(state)
    if not message.calls and not message.content.strip():
        state, effects = empty(state, event.reply)
        return state, (told, *effects)
    state = replace(state, transcript=state.transcript.reply(message))
    if not message.calls:
        state, effects = leave(state, answer=message.content)
    elif finished is Finish.LENGTH:
        state = replace(state, transcript=state.transcript.close((CUT,) * len(message.calls)))
        state, effects = after_iteration(state, Acting(()), mail_waits=True)  # unknown, so a look is due
    else:
        state, effects = act(state, message, event.facts)
    return state, (told, Commit(), *effects)


def counted(state: AgentState, reply: Reply) -> tuple[AgentState, Notify]:
    """Count a reply's round and tokens."""
    run, usage = state.current, reply.usage
    run = replace(
        run,
        rounds=run.rounds + 1,
        step_rounds=run.step_rounds + 1,
        tokens=run.tokens + usage.total,
        budget=run.budget.spend(usage.prompt),
    )
    calls = ", ".join(call.name for call in reply.message.calls)
    told = Notify(
        NoticeType.MODEL,
        "replied",
        f"calls {calls}" if calls else reply.message.content[:200],
        {
            "prompt": usage.prompt,
            "completion": usage.completion,
            "estimated": usage.estimated,
            "finish": reply.finish.value,
            "request_id": reply.request_id,
            "round": run.rounds,
        },
    )
    return replace(state, run=run), told


def empty(state: AgentState, reply: Reply) -> Moved:
    """A reply that says nothing: ask once more, then fail. Neither it nor the nudge stays in the history."""
    thinking = reply.message.reasoning_content is not None
    shown = f"(request_id={reply.request_id}, thinking_content={thinking})"
    told = Notify(NoticeType.MODEL, "empty", f"Empty response {shown}", {"request_id": reply.request_id})
    if state.current.nudged:
        reason = f"empty reply {shown}"
        state, effects = finish(state, Ending.FAILED, state.transcript.last_text, reason=reason)
        return state, (told, *effects)
    state, effects = think(nudge(state))
    return state, (told, *effects)


def act(state: AgentState, message: Message, facts: tuple[CallFacts, ...]) -> Moved:
    """Run the calls of a reply together; one that would be the N-th of its kind in a row does not run."""
    window, slots, effects = state.current.window, list[Slot](), list[Effect]()
    for each, fact in zip(message.calls, facts, strict=True):
        window = window.asked(fact.signature)
        if window.repeated(polling=fact.polling):
            slots.append(Slot(each, fact.signature, None, CANCELLED, cancelled=True))
            effects.append(Notify(NoticeType.TOOL, "cancelled", f"{each.name}: {CANCELLED}", {"tool": each.name}))
            continue
        state, op = state.with_op()
        slots.append(Slot(each, fact.signature, op))
        effects.append(Notify(NoticeType.TOOL, "started", each.name, {"tool": each.name}))
        effects.append(RunTool(op, each))
    doing = Acting(tuple(slots))
    state = replace(state, doing=doing, run=replace(state.current, window=window))
    if any(slot.output is None for slot in slots):
        return state, tuple(effects)
    state, closing = closed(state, doing, mail_waits=False)
    return state, (*effects, *closing)


def tool_ended(state: AgentState, doing: Acting, event: ToolEnded) -> Moved:
    """Take a call's output; the last one closes the batch."""
    ended = next(slot for slot in doing.slots if slot.op == event.op)
    name = ended.call.name
    ended = replace(ended, output=event.output, digest=event.digest, wait=event.wait)
    slots = tuple(ended if slot.op == event.op else slot for slot in doing.slots)
    told = Notify(
        NoticeType.TOOL,
        "failed" if event.failed else "ended",
        f"{name}: {event.output[:200]}",
        {"tool": name, "bytes": len(event.output.encode(errors="replace"))},
    )
    doing = Acting(slots)
    state = replace(state, doing=doing)
    if any(slot.output is None for slot in slots):
        return state, (told,)
    state, effects = closed(state, doing, mail_waits=event.mail_waits)
    return state, (told, *effects)


def closed(state: AgentState, doing: Acting, *, mail_waits: bool) -> Moved:
    """Close the batch and look whether the Step goes on."""
    outputs = tuple(slot.output or "" for slot in doing.slots)
    before = state.current.window
    results = tuple((slot.signature, slot.digest) for slot in doing.slots)
    window = before.waited() if doing.wait else before.ended(results)
    state = replace(
        state, transcript=state.transcript.close(outputs), run=replace(state.current, window=window, nudged=False)
    )
    state, effects = after_iteration(state, doing, mail_waits=mail_waits)
    return state, (Commit(), *effects)


def after_iteration(state: AgentState, doing: Acting, *, mail_waits: bool) -> Moved:
    """Decide after each round what comes next: stall, limits, a wait, mail, the end of the Step, or another round."""
    run = state.current
    repeated = next((slot.call.name for slot in doing.slots if slot.cancelled), None)
    if repeated or run.window.period:
        return stalled(state, repeated)
    if run.rounds >= state.rules.rounds:
        return wind_down(state, Ending.LIMIT, rounds_spent(state), Limit.ROUNDS)
    if run.budget.exhausted:
        reason = f"the Step has used {run.budget.spent} of its {run.budget.limit} prompt tokens"
        return wind_down(state, Ending.LIMIT, reason, Limit.STEP_TOKENS)
    if doing.wait or mail_waits or run.step_rounds >= state.rules.step_rounds:
        return leave(state, wait=doing.wait)
    return think(state)


def stalled(state: AgentState, repeated: str | None) -> Moved:
    """The agent goes in circles: the Step ends, and a last answer follows."""
    period = state.current.window.period
    reason = f"{repeated or 'a cycle of calls'} came again and again"
    told = Notify(NoticeType.STEP, "stall", reason, {"tool": repeated or "", "period": period})
    state, effects = wind_down(state, Ending.STALLED, reason)
    return state, (told, *effects)


def last_replied(state: AgentState, event: Replied) -> tuple[AgentState, Notify, str]:
    """Take a last answer; calls it makes although tools are off are left out."""
    message = replace(event.reply.message, calls=())
    state, told = counted(state, event.reply)
    if message.content.strip():
        state = replace(state, transcript=state.transcript.reply(message))
    return state, told, message.content
