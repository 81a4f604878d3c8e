"""What the notices of an agent say of what it has under way."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TypeAlias

from ...protocols.checkin import DEAD, RESTARTING
from ...protocols.ids import AgentId
from ...protocols.messages import Json
from ...protocols.notices import Notice, NoticeType
from ..step.phases import Phase
from .sight import OpenCall, Sight

__all__ = ("heard", "word")

CALLS_KEPT = 64
"""Running calls of one agent that are remembered; of more, the first, for those are longest under way."""


def heard(sight: Sight, notice: Notice, at: float) -> Sight:
    """The agent after a notice of it came, which shows, whatever it says, that it works, unless it is the watch's."""
    if notice.type is NoticeType.WATCH:
        return sight
    now = replace(sight, moved=at)
    take = TAKEN.get((notice.type, notice.extra_type))
    return now if take is None else take(now, notice, at)


def number(notice: Notice) -> int:
    """The number of the call that a notice is about; 0 if it has none."""
    call = notice.data.get("call", 0)
    return call if isinstance(call, int) else 0


def word(value: Json) -> str:
    """A fact as text."""
    return value if isinstance(value, str) else ""


def call_started(sight: Sight, notice: Notice, at: float) -> Sight:
    """A tool call runs."""
    if len(sight.calls) >= CALLS_KEPT:
        return sight
    call = OpenCall(number(notice), word(notice.data.get("tool")), at, at)
    return replace(sight, calls=(*sight.calls, call))


def call_over(sight: Sight, notice: Notice, _: float) -> Sight:
    """It has an output."""
    return replace(sight, calls=tuple(call for call in sight.calls if call.call != number(notice)))


def call_beats(sight: Sight, notice: Notice, at: float) -> Sight:
    """It says that it goes on."""
    return changed(sight, notice, lambda call: replace(call, beat=at))


def call_held(sight: Sight, notice: Notice, at: float) -> Sight:
    """It waits for a person; held before it ever ran, it was not known."""
    if all(call.call != number(notice) for call in sight.calls):
        sight = call_started(sight, notice, at)
    reason = word(notice.data.get("reason")) or "a person must allow it"
    return changed(sight, notice, lambda call: replace(call, held=reason, since=at))


def call_allowed(sight: Sight, notice: Notice, at: float) -> Sight:
    """It runs after all."""
    return changed(sight, notice, lambda call: replace(call, held="", since=at, beat=at))


def changed(sight: Sight, notice: Notice, change: Callable[[OpenCall], OpenCall]) -> Sight:
    """With one of the running calls changed."""
    mine = number(notice)
    return replace(sight, calls=tuple(change(call) if call.call == mine else call for call in sight.calls))


def waits(sight: Sight, notice: Notice, at: float) -> Sight:
    """It waits for mail."""
    senders = notice.data.get("senders")
    names = tuple(name for name in senders if isinstance(name, str)) if isinstance(senders, list) else ()
    return replace(sight.at_rest(), phase=Phase.WAITING, since=at, senders=names)


def rests(sight: Sight, _: Notice, __: float) -> Sight:
    """What was under way has ended. Not the model call: its check-in comes at once, and so before this older news."""
    return sight.at_rest()


def comes(sight: Sight, notice: Notice, _: float) -> Sight:
    """It was taken into the fleet."""
    parent = word(notice.data.get("parent"))
    return replace(sight, parent=AgentId(parent) if parent else None)


def dies(sight: Sight, notice: Notice, at: float) -> Sight:
    """Its life is over."""
    phase = RESTARTING if notice.data.get("restarts") else DEAD
    silent = replace(sight.at_rest(), asking=None, loop_silent=None, process_silent=None)
    return replace(silent, phase=phase, ended=notice.text, since=at)


Take: TypeAlias = Callable[[Sight, Notice, float], Sight]

TAKEN: Mapping[tuple[NoticeType, str], Take] = MappingProxyType(
    {
        (NoticeType.AGENT, "admitted"): comes,
        (NoticeType.AGENT, "died"): dies,
        (NoticeType.RUN, "started"): rests,
        (NoticeType.RUN, "finished"): rests,
        (NoticeType.STEP, "intro"): rests,
        (NoticeType.STEP, "leave"): rests,
        (NoticeType.STEP, "waiting"): waits,
        (NoticeType.TOOL, "started"): call_started,
        (NoticeType.TOOL, "ended"): call_over,
        (NoticeType.TOOL, "failed"): call_over,
        (NoticeType.TOOL, "refused"): call_over,
        (NoticeType.TOOL, "progress"): call_beats,
        (NoticeType.TOOL, "approval"): call_held,
        (NoticeType.TOOL, "approved"): call_allowed,
    }
)
"""Notices that change what is under way; all others only show that the agent works."""
