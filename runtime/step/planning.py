"""A task as a plan: asking for one, ending its nodes, and telling of it.

    begin -> Decomposing -> Replied: simple -> enter
                                     a plan -> enter its first node
                                     no plan -> Decomposing once more, then enter without one
    a node's answer -> Summarising -> Replied: "verb object" -> leave
                                               nothing usable -> leave with "Completed <node>"

Whatever fails here degrades: the task is worked on without a plan, the node is done without a summary.
"""

from dataclasses import replace

from ...protocols.messages import Reply
from ...protocols.notices import NoticeType
from ...protocols.plural import are, plural
from ..errors import PlanInvalid
from .asking import ask
from .boundary import enter, leave
from .decomposition import read_decomposition, read_summary
from .effects import Commit, Moved, Notify
from .events import Replied
from .judging import judge
from .phases import Ask, Decomposing, NodeDone, Paused, Summarising
from .plan import NodeStatus, Plan
from .prompts import FINAL, node_note
from .state import AgentState
from .usage import counted_aside

__all__ = (
    "decompose",
    "decomposed",
    "end_node",
    "run_directly",
    "summarise",
    "summarised",
    "summary_missing",
    "with_status",
)


def decompose(state: AgentState, flaw: str = "") -> Moved:
    """Ask the model whether the task is simple or a plan; or pause first, when somebody asked for it."""
    doing = Decomposing(Ask(), flaw)
    if state.pause is not None:
        return replace(state, doing=Paused(doing, state.pause)), (Notify(NoticeType.AGENT, "paused", state.pause),)
    return ask(state, doing)


def decomposed(state: AgentState, doing: Decomposing, event: Replied) -> Moved:
    """Take a plan, or none."""
    state, told = counted_aside(state, doing, event.reply)
    text = event.reply.message.content
    if not text.strip():
        state, effects = run_directly(state, f"Empty decomposition response {shown(event.reply)}")
        return state, (told, Commit(), *effects)
    try:
        nodes = read_decomposition(text)
        plan = Plan.of(nodes) if nodes else None
    except PlanInvalid as error:
        state, effects = refused(state, doing, error)
        return state, (told, Commit(), *effects)
    if plan is None:
        simple = Notify(NoticeType.STEP, "decompose", "the task is simple: no plan", {"nodes": 0})
        state, effects = enter(state)
        return state, (told, simple, Commit(), *effects)
    listed = Notify(
        NoticeType.STEP,
        "decompose",
        f"a plan of {plural(len(plan.nodes), 'step')}",
        {"nodes": len(plan.nodes), "plan": plan.status_text()},
    )
    state, effects = enter(replace(state, run=replace(state.current, plan=plan)))
    return state, (told, listed, Commit(), *effects)


def refused(state: AgentState, doing: Decomposing, error: PlanInvalid) -> Moved:
    """A plan that is none: the model may try once more."""
    if doing.flaw:
        return run_directly(state, f"The task is worked on without a plan. {error}")
    told = Notify(NoticeType.STEP, "plan_refused", str(error), {"reason": error.reason}, warning=True)
    state, effects = decompose(state, error.reason)
    return state, (told, *effects)


def run_directly(state: AgentState, warning: str) -> Moved:
    """Work on the task without a plan."""
    told = Notify(NoticeType.STEP, "degraded", warning, {"phase": state.phase.value}, warning=True)
    state, effects = enter(state)
    return state, (told, *effects)


def summarise(state: AgentState, answer: str) -> Moved:
    """The current node has its answer: ask what it came to."""
    return ask(state, Summarising(Ask(), answer))


def summarised(state: AgentState, doing: Summarising, event: Replied) -> Moved:
    """Take the summary, and leave the Step."""
    state, told = counted_aside(state, doing, event.reply)
    summary = read_summary(event.reply.message.content)
    if summary is None:
        how = "Unparsable" if event.reply.message.content.strip() else "Empty"
        state, effects = summary_missing(state, f"{how} summary response {shown(event.reply)}")
    else:
        state, effects = leave(state, NodeDone(summary))
    return state, (told, Commit(), *effects)


def summary_missing(state: AgentState, warning: str) -> Moved:
    """Leave the Step without a summary of the model's."""
    told = Notify(NoticeType.STEP, "degraded", warning, {"phase": state.phase.value}, warning=True)
    state, effects = leave(state, NodeDone(f"Completed {node_title(state)}"))
    return state, (told, *effects)


def node_title(state: AgentState) -> str:
    """What the current node is called."""
    plan, node = state.current.plan, state.current.node
    return "" if plan is None or node is None else plan.node(node).title


def end_node(state: AgentState, status: NodeStatus, summary: str) -> tuple[AgentState, Notify]:
    """End the current node."""
    run = state.current
    assert run.plan is not None and run.node is not None, run.id  # noqa: PT018, S101  only called at a node
    told = Notify(NoticeType.STEP, f"node_{status}", f"{run.node}: {summary}", {"node": run.node, "summary": summary})
    return replace(state, run=replace(run, plan=run.plan.end(run.node, status, summary))), told


def with_status(state: AgentState) -> tuple[AgentState, tuple[Notify, ...]]:
    """The agent that reads its plan's status, if that has changed, and what is to be done now."""
    run = state.current
    if run.plan is None or (status := run.plan.status_text()) == run.status:
        return state, ()
    over = sum(node.status is not NodeStatus.PENDING for node in run.plan.nodes)
    text = f"{over} of {plural(len(run.plan.nodes), 'step')} {are(over)} over; now: {run.node or 'the answer'}"
    told = Notify(NoticeType.STEP, "plan_status", text, {"node": run.node or "", "plan": status})
    if run.node is not None:
        return instructed(state, status, node_note(run.node, node_title(state))), (told,)
    plan = run.plan
    final = judge(
        "final_prompt",
        lambda: state.rules.strategy.final_prompt(plan),
        lambda text: text is None or (isinstance(text, str) and bool(text.strip())),
        otherwise=None,
    )
    return instructed(state, status, final.value or FINAL), (told, *final.told)


def instructed(state: AgentState, status: str, instruction: str) -> AgentState:
    """The agent that reads how its plan stands, and what is to be done now."""
    run = replace(state.current, status=status, instruction=instruction)
    return replace(state, run=run).noted(f"{status}\n\n{instruction}")


def shown(reply: Reply) -> str:
    """What finds the call in a provider's log."""
    thinking = reply.message.reasoning_content is not None
    return f"(request_id={reply.request_id}, thinking_content={thinking})"
