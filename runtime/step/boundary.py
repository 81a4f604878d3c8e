"""Entering and leaving a Step: the only place where peer messages and the plan's status enter the transcript."""

from dataclasses import replace

from ...protocols.messages import Json
from ...protocols.notices import NoticeType
from .budget import TokenBudget
from .effects import LookForMail, Moved, Notify, TakeMail
from .judging import judge
from .nudge import without_nudge
from .phases import After, Entering, Leaving, NodeDone, Paused, WaitFor
from .stall import Window
from .state import AgentState

__all__ = ("enter", "leave")


def enter(state: AgentState) -> Moved:
    """Begin the next Step with a look at the mail; or pause first, when somebody asked for it."""
    if state.pause is not None:
        told = Notify(NoticeType.AGENT, "paused", state.pause)
        return replace(state, doing=Paused(None, state.pause)), (told,)
    state, passed_over = with_node(state)
    run = state.current
    run = replace(run, steps=run.steps + 1, step_rounds=0, budget=TokenBudget(state.rules.step_tokens))
    state, op = replace(state, run=run, step=state.step + 1).with_op()
    text = f"Step {state.step} begins" + (f": {run.node}" if run.node else "")
    told = Notify(NoticeType.STEP, "intro", text, {"node": run.node or ""})
    return replace(state, doing=Entering(op)), (*passed_over, told, TakeMail(op, state.rules.mail_bytes))


def with_node(state: AgentState) -> tuple[AgentState, tuple[Notify, ...]]:
    """The agent at its next plan node, if it has a plan and is at none. What it did before counts for no stall then."""
    run = state.current
    if run.plan is None:
        return replace(state, run=replace(run, tool_error_hints=0)), ()
    if run.plan.current is not None:
        return state, ()
    plan = run.plan
    chosen = judge(
        "next_node",
        lambda: state.rules.strategy.next_node(plan),
        (None, *plan.ready).__contains__,
        otherwise=None,
    )
    node = chosen.value or next(iter(plan.ready), None)
    if node is not None or plan.status_text() != run.status:  # without a node the plan has just come to its end
        run = replace(run, window=Window(state.rules.repeats))
    plan = plan if node is None else plan.begin(node)
    return replace(state, run=replace(run, plan=plan, tool_error_hints=0)), chosen.told


def leave(state: AgentState, then: After = None) -> Moved:
    """End the Step; before what is to follow does, the mailbox is looked at once more."""
    state, op = without_nudge(state).with_op()
    summary = then.summary if isinstance(then, NodeDone) else ""
    data: dict[str, Json] = {
        "rounds": state.current.step_rounds,
        "waits": isinstance(then, WaitFor),
        "node": state.current.node or "",
        "summary": summary,
    }
    text = f"Step {state.step} ends" + (f": {summary}" if summary else "")
    return replace(state, doing=Leaving(op, then)), (
        Notify(NoticeType.STEP, "leave", text, data),
        LookForMail(op, summary),
    )
