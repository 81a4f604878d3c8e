"""What is said of an action of the watch, to whom it concerns."""

from collections.abc import Mapping
from types import MappingProxyType

from ...protocols.messages import Json
from ...protocols.notices import Notice, NoticeType
from ...protocols.plural import plural
from .finding import Trouble
from .ladder import Action
from .policy import Rung
from .wording import whole

__all__ = ("notice_of", "order_to", "reason_of", "report_of")

EVENTS: Mapping[Rung, str] = MappingProxyType(
    {
        Rung.NOTIFY: "found",
        Rung.NOTE: "noted",
        Rung.END_STEP: "step_ended",
        Rung.CANCEL: "cancelled",
        Rung.KILL: "killed",
        Rung.QUARANTINE: "quarantined",
    }
)
"""The `extra_type` of each rung's notice."""

DONE: Mapping[Rung, str] = MappingProxyType(
    {
        Rung.NOTIFY: "nothing was done about it yet",
        Rung.NOTE: "told to give it up",
        Rung.END_STEP: "the Step is ended",
        Rung.CANCEL: "the run is ended",
        Rung.KILL: "the process is killed",
        Rung.QUARANTINE: "stopped for good",
    }
)

NEXT: Mapping[Rung, str] = MappingProxyType(
    {
        Rung.NOTIFY: "it is told of once more",
        Rung.NOTE: "it is told to give it up",
        Rung.END_STEP: "the Step is ended",
        Rung.CANCEL: "the run is ended",
        Rung.KILL: "the process is killed",
        Rung.QUARANTINE: "it is stopped for good",
    }
)

ORDERS: Mapping[Trouble, str] = MappingProxyType(
    {
        Trouble.CALL_LOOP: "Nothing new comes of it: do not make these calls again. Try another way, or say what is "
        "missing and end your task.",
        Trouble.MESSAGE_LOOP: "Nothing new comes of it: do not answer this again. Go on with something else, or end "
        "your task.",
        Trouble.SHARED_FAILURE: "It is not your mistake: do not try it again. Find another way, or say what is "
        "missing.",
    }
)
"""What agents are told to do instead."""

OTHERWISE = "Give it up: try another way, or say what is missing and end your task."


def notice_of(action: Action) -> Notice:
    """What watchers see."""
    finding = action.finding
    data: dict[str, Json] = {"trouble": finding.trouble.value, "agents": [*action.agents], **finding.evidence}
    text = f"{finding.text}: {DONE[action.rung]}"
    if action.then is not None:
        when = f"in {plural(action.seconds, 'second')}" if action.seconds else "next"
        text = f"{text}; if it goes on, {NEXT[action.then]} {when}"
        data |= {"next": action.then.value, "next_in": action.seconds}
    return Notice(NoticeType.WATCH, EVENTS[action.rung], action.agents[0], text, data=data)


def order_to(action: Action) -> str:
    """What the agents themselves are told."""
    return f"{sentence(action.finding.text)} {ORDERS.get(action.finding.trouble, OTHERWISE)}"


def reason_of(action: Action) -> str:
    """Why something ends, for outcomes and directives."""
    return f"the watch ended it: {action.finding.text}"


def report_of(action: Action) -> str:
    """What the agent that started them is told."""
    return f"{sentence(action.finding.text)} {sentence(DONE[action.rung])}"


def sentence(text: str) -> str:
    """The text in one line, with a full stop. Half a surrogate pair, which mail cannot carry, is a question mark."""
    line = whole(" ".join(text.split()))
    return f"{line[:1].upper()}{line[1:].rstrip('.')}."
