"""What becomes of an agent that goes in circles."""

from dataclasses import replace

from ...protocols.messages import Json
from ...protocols.notices import NoticeType
from ...protocols.outcome import Ending
from .boundary import leave
from .effects import Commit, Moved, Notify
from .ending import wind_down
from .plan import NodeStatus
from .planning import end_node
from .prompts import GIVE_UP_NODE
from .stall import Window
from .state import AgentState

__all__ = ("stalled",)


def stalled(state: AgentState, repeated: str | None) -> Moved:
    """End the Step. With a plan its node has failed and others go on; without one, a last answer follows."""
    run = state.current
    reason = f"{repeated or 'a cycle of calls'} came again and again"
    data: dict[str, Json] = {"tool": repeated or "", "period": run.window.period, "node": run.node or ""}
    told = Notify(NoticeType.STEP, "stall", reason, data)
    if run.node is None and run.plan is not None and run.plan.ready:  # a call of the same batch ended the node
        state, effects = leave(replace(state, run=replace(run, window=Window(run.window.limit))))
        return state, (told, *effects)
    if run.node is None:
        state, effects = wind_down(state, Ending.STALLED, reason)
        return state, (told, *effects)
    state, failed = end_node(state, NodeStatus.FAILED, f"stalled: {reason}")
    state = replace(state, run=replace(state.current, window=Window(run.window.limit))).noted(GIVE_UP_NODE)
    state, effects = leave(state)
    return state, (told, failed, Commit(), *effects)
