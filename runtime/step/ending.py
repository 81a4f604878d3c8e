"""How a run ends: at once, or after a last answer."""

from dataclasses import replace

from ...protocols.messages import Json, ToolResult
from ...protocols.notices import NoticeType
from ...protocols.outcome import Ending, Limit, Outcome
from .asking import ask
from .effects import Cancel, Commit, Finish, Moved, Notify
from .nudge import without_nudge
from .phases import Acting, Answer, Ask, Done, Slot, WindingDown
from .plan import NodeStatus, Plan
from .prompts import GIVE_UP, INTERRUPTED, LAST_ANSWER, NOT_RUN, without_model
from .state import AgentState

__all__ = ("finish", "finish_answered", "finish_without_model", "interrupt", "last_prompt", "wind_down")


RESULTS_SHOWN = 4
"""How many of the newest tool results an answer without a model quotes."""


def finish(  # noqa: PLR0913  what an outcome says beside what the state does
    state: AgentState,
    ending: Ending,
    text: str,
    *,
    reason: str = "",
    limit: Limit | None = None,
    output: Json = None,
    error: str = "",
) -> Moved:
    """End the run; its outcome goes out once."""
    run = state.current
    outcome = Outcome(
        run.id, state.agent, ending, text, limit, reason, run.tokens, run.rounds, run.steps, output, error
    )
    deadline = () if run.deadline is None else (Cancel((run.deadline,)),)
    state, op = without_nudge(state).with_op()
    told = Notify(
        NoticeType.RUN,
        "finished",
        f"{outcome}: {reason or text[:200]}",
        {"outcome": str(outcome), "text": text, "reason": reason, "tokens": run.tokens, "rounds": run.rounds},
    )
    state = replace(state, doing=Done(op, outcome), run=replace(run, deadline=None))
    return state, (*deadline, Commit(), told, Finish(op, outcome))


def finish_answered(state: AgentState, answer: Answer) -> Moved:
    """End the run with its answer. Steps of a plan that were not done are no secret: then it has stalled."""
    plan = state.current.plan
    undone = "" if plan is None else not_done(plan)
    reason = "; ".join(filter(None, (undone and f"not done: {undone}", answer.flaw)))
    ending = Ending.STALLED if undone else Ending.ANSWERED
    return finish(state, ending, answer.text, reason=reason, output=answer.output)


def not_done(plan: Plan) -> str:
    """The steps that failed or need one that did; empty when there are none."""
    failed = [f"{each.id} ({each.summary})" for each in plan.nodes if each.status is NodeStatus.FAILED]
    return ", ".join([*failed, *(f"{node} (needs a step that failed)" for node in plan.blocked)])


def wind_down(state: AgentState, ending: Ending, reason: str, limit: Limit | None = None) -> Moved:
    """Ask for a last answer with tools off. The prompt for it enters the transcript once."""
    data = {"ending": ending.value, "limit": limit.value if limit else "", "reason": reason}
    told = Notify(NoticeType.STEP, "winding_down", reason, dict(data))
    doing = WindingDown(Ask(), ending, reason, limit)
    state = without_nudge(state).noted(last_prompt(doing))
    state, effects = ask(state, doing, first=limit is not None)
    return state, (told, Commit(), *effects)


def last_prompt(doing: WindingDown) -> str:
    """What asks for the last answer."""
    return GIVE_UP if doing.ending is Ending.STALLED else LAST_ANSWER.format(limit=doing.reason)


def finish_without_model(state: AgentState, doing: WindingDown) -> Moved:
    """End the run with a text made of what there is, because no model call is possible."""
    results = [turn.content for turn in state.transcript.of_run if isinstance(turn, ToolResult)]
    plan = state.current.plan
    status = "" if plan is None else plan.status_text()
    text = without_model(state.transcript.last_text, tuple(results[-RESULTS_SHOWN:]), status)
    return finish(state, doing.ending, text, reason=doing.reason, limit=doing.limit)


def interrupt(state: AgentState) -> Moved:
    """Cancel what runs and close the open batch: a call without output may have run, unless a person had it held."""
    run = state.current
    cancelled = tuple(op for op in state.open_ops if op != run.deadline)
    effects = (Cancel(cancelled),) if cancelled else ()
    if isinstance(state.doing, Acting):
        outputs = tuple(output_at_once(slot) for slot in state.doing.slots)
        state = replace(state, transcript=state.transcript.close(outputs))
    return state, effects


def output_at_once(slot: Slot) -> str:
    """What a call comes to that is ended now."""
    if slot.output is not None:
        return slot.output
    return NOT_RUN if slot.held else INTERRUPTED
