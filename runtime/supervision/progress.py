"""Whether one agent gets on: dead, wedged, or without progress for longer than its kind of work may take."""

from collections.abc import Mapping
from math import inf
from types import MappingProxyType

from ...protocols.messages import Json
from ..step.phases import Phase
from .deadlines import Deadlines
from .finding import Finding, Trouble
from .sight import ASKING, Sight
from .verdict import State, Verdict, quietest, verdict_on

__all__ = ("trouble_with",)


def trouble_with(sight: Sight, at: float, deadlines: Deadlines) -> Finding | None:
    """What is wrong with an agent, by itself; None: nothing."""
    verdict = verdict_on(sight, at, deadlines)
    trouble = trouble_in(sight, verdict, at, deadlines)
    if trouble is None:
        return None
    evidence: dict[str, Json] = {
        "phase": sight.phase,
        "seconds": round(verdict.seconds, 1),
        "quiet": round(at - quiet_since(sight, verdict), 1),
        "run": sight.run,
        "step": sight.step,
        "round": sight.round,
        "tool": verdict.tool,
    }
    key = f"{trouble}/{sight.agent}/{sight.incarnation}"
    return Finding(trouble, key, (sight.agent,), f"{sight.agent} is {verdict.why}", at, evidence)


def trouble_in(sight: Sight, verdict: Verdict, at: float, deadlines: Deadlines) -> Trouble | None:
    """Which trouble a verdict means, if any."""
    if (sure := AT_ONCE.get(verdict.state)) is not None:
        return sure
    trouble, patience = slow(sight, verdict, deadlines)
    return trouble if at - quiet_since(sight, verdict) > patience else None


AT_ONCE: Mapping[State, Trouble] = MappingProxyType(
    {State.DEAD: Trouble.DEAD, State.UNREACHABLE: Trouble.UNREACHABLE, State.WEDGED: Trouble.WEDGED}
)
"""States that are trouble by themselves."""


def slow(sight: Sight, verdict: Verdict, deadlines: Deadlines) -> tuple[Trouble, float]:
    """Which trouble it would be, and how many seconds without a sign of progress are none yet."""
    match verdict.state:
        case State.MODEL:
            return Trouble.MODEL, deadlines.model
        case State.TOOL:
            return Trouble.TOOL, deadlines.tool
        case State.BETWEEN:
            # A model call that began before anybody watched is not known as one.
            return Trouble.STUCK, deadlines.model if sight.phase in ASKING else deadlines.between
        case _:
            return Trouble.STUCK, inf


def quiet_since(sight: Sight, verdict: Verdict) -> float:
    """The last sign that what it does goes on. While it says why it stands, none is to be expected."""
    return max(last_sign(sight, verdict), sight.stood)


def last_sign(sight: Sight, verdict: Verdict) -> float:
    """The last sign of what it is in."""
    running = [call for call in sight.calls if not call.held]
    if verdict.state is State.TOOL and sight.phase == Phase.ACTING:
        return quietest(running).beat if running else sight.moved
    if verdict.state is State.MODEL and sight.asking is not None:
        return sight.asking.since
    return sight.moved
