"""How a run begins: with a task, or woken by mail."""

from dataclasses import replace

from ...protocols.ids import USER, RunId
from ...protocols.limits import Limits
from ...protocols.notices import NoticeType
from .boundary import enter
from .effects import Commit, Effect, Moved, Notify, StartDeadline
from .events import Asked, Woken
from .phases import Idle
from .planning import decompose
from .prompts import said_note
from .stall import Window
from .state import AgentState, Run
from .transcript import Transcript

__all__ = ("begin", "wake")


def new_run(state: AgentState, run: RunId, task: str = "", limit: Limits | None = None) -> AgentState:
    """The agent with a run that begins now, and with its memory as far as it has one."""
    if state.rules.memory == "run":
        state = replace(state, transcript=Transcript.begin(state.rules.instructions), measured=None)
    began = Run(run, task, window=Window(state.rules.repeats), limit=limit)
    return replace(state, transcript=state.transcript.next_run(), run=began)


def begin(state: AgentState, _: Idle, event: Asked) -> Moved:
    """A task came: it enters the transcript, and the first Step begins."""
    state = new_run(state, event.run, event.task, event.limit).noted(event.task)
    if event.said:
        state = state.noted(said_note(event.said))
    said = tuple(
        Notify(NoticeType.MAIL, "consumed", f"from {USER}: {text[:200]}", {"id": "", "sender": USER})
        for text in event.said
    )
    return started(state, event.task[:200], event.timeout, *said)


def wake(state: AgentState, _: Idle, event: Woken) -> Moved:
    """Mail came to an idle agent: a run without a task begins; the mail is its task."""
    return started(new_run(state, event.run), "woken by mail", event.timeout)


def started(state: AgentState, text: str, timeout: float | None, *told: Notify) -> Moved:
    """Set the run's timer, if it has one, and begin the first Step; a task may be decomposed before that."""
    effects: tuple[Effect, ...] = (Notify(NoticeType.RUN, "started", text), *told)
    if timeout is not None:
        state, op = state.with_op()
        state = replace(state, run=replace(state.current, deadline=op, timeout=timeout))
        effects = (*effects, StartDeadline(op, timeout))
    planned = state.rules.plan != "never" and state.current.task
    state, begun = decompose(state) if planned else enter(state)
    return state, (*effects, Commit(), *begun)
