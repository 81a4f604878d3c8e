"""How a run ends: at once, or after a last answer."""

from dataclasses import replace

from ...protocols.messages import ToolResult
from ...protocols.notices import NoticeType
from ...protocols.outcome import Ending, Limit, Outcome
from .asking import ask
from .effects import Cancel, Commit, Finish, Moved, Notify
from .nudge import without_nudge
from .prompts import GIVE_UP, INTERRUPTED, LAST_ANSWER, without_model
from .state import Acting, AgentState, Ask, Done, WindingDown

__all__ = ("finish", "finish_without_model", "interrupt", "wind_down")


RESULTS_SHOWN = 4
"""How many of the newest tool results an answer without a model quotes."""


def finish(state: AgentState, ending: Ending, text: str, *, reason: str = "", limit: Limit | None = None) -> Moved:
    """End the run; its outcome goes out once."""
    run = state.current
    outcome = Outcome(
        run.id, state.agent, ending, text, limit, reason, tokens=run.tokens, rounds=run.rounds, steps=run.steps
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


def wind_down(state: AgentState, ending: Ending, reason: str, limit: Limit | None = None) -> Moved:
    """Ask for a last answer with tools off. The prompt for it enters the transcript once."""
    prompt = GIVE_UP if ending is Ending.STALLED else LAST_ANSWER.format(limit=reason)
    data = {"ending": ending.value, "limit": limit.value if limit else "", "reason": reason}
    told = Notify(NoticeType.STEP, "winding_down", reason, dict(data))
    state = without_nudge(state)
    state = replace(state, transcript=state.transcript.note(prompt))
    state, effects = ask(state, WindingDown(Ask(), ending, reason, limit))
    return state, (told, Commit(), *effects)


def finish_without_model(state: AgentState, doing: WindingDown) -> Moved:
    """End the run with a text made of what there is, because no model call is possible."""
    results = [turn.content for turn in state.transcript.of_run if isinstance(turn, ToolResult)]
    text = without_model(state.transcript.last_text, tuple(results[-RESULTS_SHOWN:]))
    return finish(state, doing.ending, text, reason=doing.reason, limit=doing.limit)


def interrupt(state: AgentState) -> Moved:
    """Cancel what runs and close the open batch: each call that has no output yet may have run."""
    run = state.current
    cancelled = tuple(op for op in state.open_ops if op != run.deadline)
    effects = (Cancel(cancelled),) if cancelled else ()
    if isinstance(state.doing, Acting):
        outputs = tuple(INTERRUPTED if slot.output is None else slot.output for slot in state.doing.slots)
        state = replace(state, transcript=state.transcript.close(outputs))
    return state, effects
