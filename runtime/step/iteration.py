"""After each round of calls: the batch is closed, and it is decided what comes next.

Stall detection and limits stand here, inside the loop: a model that is stuck never comes to the end of a Step.
"""

from dataclasses import replace

from ...protocols.messages import is_failure
from ...protocols.notices import NoticeType
from ...protocols.outcome import Ending, Limit
from .boundary import leave
from .compaction import due
from .effects import Commit, Effect, Moved, Notify
from .ending import wind_down
from .hints import failure_hint, repeat_hint
from .judging import judge
from .phases import Acting
from .stalling import stalled
from .state import AgentState
from .thinking import rounds_spent, think

__all__ = ("closed",)


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
    failed = any(is_failure(slot.output or "") and not slot.quiet for slot in doing.slots)
    if failed:
        run = replace(run, tool_error_hints=run.tool_error_hints + 1)
        state = replace(state, run=run)
    hints = [failure_hint(run.tool_error_hints, plan=run.node is not None) if failed else None]
    same, limit = run.window.same_results, run.window.limit
    if doing.slots and same == max(2, limit - 2) < limit and doing.slots[-1].signature == run.window.signature:
        run = replace(run, hint=repeat_hint(same, limit, doing.slots[-1].call.name))
        state = replace(state, run=run)
        hints.append(run.hint)
    effects = list[Effect]()
    for hint in filter(None, hints):
        state = state.noted(hint)
        effects.append(Notify(NoticeType.STEP, "hint", hint, {"failures": run.tool_error_hints, "repeats": same}))
    return state, (*effects, Commit()) if effects else ()
