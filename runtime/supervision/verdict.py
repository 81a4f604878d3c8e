"""How an agent is and why, in words."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from ...protocols.checkin import DEAD, RESTARTING, STOPPED
from ..step.phases import Phase
from .deadlines import Deadlines
from .sight import ASKING, Granted, OpenCall, Sight, Told

__all__ = ("State", "Verdict", "quietest", "verdict_on")


class State(StrEnum):
    """How an agent is, in one word."""

    IDLE = "idle"
    MODEL = "model"
    LEAVE = "leave"
    TOOL = "tool"
    APPROVAL = "approval"
    MAIL = "mail"
    PAUSED = "paused"
    BETWEEN = "between"
    WEDGED = "wedged"
    UNREACHABLE = "unreachable"
    STOPPED = "stopped"
    RESTARTING = "restarting"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an agent is.

    Attributes:
        why: In words, as in `waiting on model openai for 41 s`.
        seconds: How long it has been so.
        tool: The tool that it is in.
    """

    state: State
    why: str
    seconds: float
    tool: str = ""


class Shown(NamedTuple):
    """A verdict before it is put into words: `doing` comes before the time, `after` behind it."""

    state: State
    doing: str
    since: float
    after: str = ""
    tool: str = ""


UNTIMED = (State.IDLE, State.STOPPED, State.RESTARTING, State.DEAD)
"""States of which it says nothing how long they last."""


def verdict_on(sight: Sight, at: float, deadlines: Deadlines) -> Verdict:
    """How an agent is at a time, in the watch's seconds."""
    found = over(sight) if sight.over else unanswering(sight, at, deadlines) or living(sight)
    seconds = max(0.0, at - found.since)
    time = "" if found.state in UNTIMED else f" for {seconds:.0f} s"
    return Verdict(found.state, f"{found.doing}{time}{found.after}", seconds, found.tool)


def over(sight: Sight) -> Shown:
    """Of one that is dead or stopped."""
    state = {DEAD: State.DEAD, RESTARTING: State.RESTARTING, STOPPED: State.STOPPED}[sight.phase]
    return Shown(state, state.value, sight.since, f": {sight.ended}" if sight.ended else "")


def unanswering(sight: Sight, at: float, deadlines: Deadlines) -> Shown | None:
    """Of one that gives no sign of life, where it should; None: it does."""
    silent = sight.process_silent
    if silent is not None and at - silent >= deadlines.process:
        return Shown(State.UNREACHABLE, "unreachable: its process has not answered", silent)
    silent = sight.loop_silent
    if silent is not None and at - silent >= deadlines.loop:
        tool = " and ".join(sight.tools)
        within = f", in tool {tool}" if tool else ""
        return Shown(State.WEDGED, "wedged: its loop has not answered", silent, within, tool)
    return None


def living(sight: Sight) -> Shown:
    """Of one that answers, by its phase."""
    if sight.phase == Phase.ACTING:
        return acting(sight)
    if sight.phase in ASKING:
        return asking(sight)
    match sight.phase:
        case Phase.IDLE:
            return Shown(State.IDLE, "idle", sight.since)
        case Phase.WAITING:
            whose = f" of {' or '.join(sight.senders)}" if sight.senders else ""
            return Shown(State.MAIL, f"waiting for mail{whose}", sight.since)
        case Phase.PAUSED:
            return Shown(State.PAUSED, "paused", sight.since, noted(sight))
        case _:
            return Shown(State.BETWEEN, sight.phase, sight.moved, noted(sight))


def acting(sight: Sight) -> Shown:
    """In tools: in the one that has gone longest without a word, unless all of them wait for a person."""
    running = [call for call in sight.calls if not call.held]
    if running:
        call = quietest(running)
        more = f" and {len(running) - 1} more" if len(running) > 1 else ""
        return Shown(State.TOOL, f"in tool {call.tool}{more}", call.since, tool=call.tool)
    if sight.calls:
        call = sight.calls[0]
        return Shown(State.APPROVAL, f"held for approval of {call.tool}", call.since, f": {call.held}", call.tool)
    tool = " and ".join(sight.tools)
    return Shown(State.TOOL, f"in tool {tool}" if tool else "in a tool", sight.since, noted(sight), tool)


def quietest(calls: list[OpenCall]) -> OpenCall:
    """The call whose last sign of life is oldest; there must be one."""
    return min(calls, key=lambda call: call.beat)


def asking(sight: Sight) -> Shown:
    """Before, in or between attempts of a model call."""
    match sight.asking:
        case Granted(provider=provider, since=since):
            return Shown(State.MODEL, f"waiting on model {provider}", since)
        case Told(reason=reason, since=since):
            return Shown(State.LEAVE, "waiting for leave to call the model", since, f": {reason}")
        case None:
            return Shown(State.BETWEEN, "between model calls", sight.moved, noted(sight))


def noted(sight: Sight) -> str:
    """What it says itself of why it stands, as it is put behind the time."""
    return f": {sight.note}" if sight.note else ""
