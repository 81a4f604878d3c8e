"""What a fleet's notices add to its metrics. Pure."""

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

from ...protocols.ids import USER, MessageId
from ...protocols.notices import Notice, NoticeType
from . import catalogue
from .catalogue import Metric
from .meter import Labels

__all__ = ("Change", "NoticeTally")

MOST_KEPT = 100_000
"""Unread messages whose age is known: of more, the oldest are forgotten."""

TOOL_OUTCOMES = frozenset({"ended", "failed", "cancelled", "left_out", "refused"})
"""What can come of a tool's call, as notices say it."""

PLAIN = {
    (NoticeType.STEP, "leave"): catalogue.STEPS,
    (NoticeType.AGENT, "died"): catalogue.DEATHS,
    (NoticeType.AGENT, "revived"): catalogue.RESTARTS,
}
"""What is counted without a label."""

NO_LABELS: Labels = {}

LOOP = "loop"
"""The trouble of an agent that leaves its Step by itself, because it goes in circles."""

UNKNOWN_MODEL = "unknown"
"""The model of answers that were recorded before it was told."""


T = TypeVar("T")


class Change(NamedTuple):
    """One value for a counter or a histogram."""

    metric: Metric
    labels: Labels
    value: float


class NoticeTally:
    """Reads notices in order. What it keeps is when the messages that nobody has read yet were sent.

    That a message was read may come before that it was sent: they are told by different agents. Of a person's messages
    nobody tells when they were sent.
    """

    def __init__(self) -> None:
        """Begin with no message on its way."""
        self._sent: dict[MessageId, float] = {}
        self._over: dict[MessageId, float | None] = {}

    def oldest(self) -> float | None:
        """When the oldest unread message was sent, in Unix seconds; None: there is none that it knows of."""
        return next(iter(self._sent.values()), None)

    def read(self, notice: Notice) -> Iterator[Change]:
        """What one notice changes."""
        match notice.type:
            case NoticeType.MAIL:
                yield from self._mail(notice)
            case NoticeType.MODEL:
                yield from model(notice)
            case NoticeType.TOOL:
                if notice.extra_type in TOOL_OUTCOMES:
                    yield Change(catalogue.TOOL_CALLS, {"outcome": notice.extra_type}, 1)
            case NoticeType.STEP | NoticeType.RUN | NoticeType.AGENT | NoticeType.WATCH:
                if (change := event(notice)) is not None:
                    yield change
            case NoticeType.BUDGET:
                pass

    def _mail(self, notice: Notice) -> Iterator[Change]:
        message, at = MessageId(str(notice.data.get("id", ""))), notice.at
        match notice.extra_type:
            case "sent":
                if message not in self._over:
                    keep(self._sent, message, at)
                elif (read := self._over.pop(message)) is not None:
                    yield Change(catalogue.MAIL_READ_SECONDS, NO_LABELS, max(0.0, read - at))
            case "consumed":
                yield Change(catalogue.MAIL_READ, NO_LABELS, 1)
                if (sent := self._sent.pop(message, None)) is not None:
                    yield Change(catalogue.MAIL_READ_SECONDS, NO_LABELS, max(0.0, at - sent))
                elif notice.data.get("sender") != USER:
                    keep(self._over, message, at)
            case "dead":
                if self._sent.pop(message, None) is None and notice.data.get("sender") != USER:
                    keep(self._over, message, None)
                yield Change(catalogue.DEAD_LETTERS, {"reason": str(notice.data.get("refusal", ""))}, 1)
            case _:
                pass


def keep(times: dict[MessageId, T], message: MessageId, at: T) -> None:
    """Remember a message; the oldest is forgotten where there are too many."""
    times.setdefault(message, at)
    if len(times) > MOST_KEPT:
        times.pop(next(iter(times)))


def model(notice: Notice) -> Iterator[Change]:
    """What came of an attempt of a model call."""
    match notice.extra_type:
        case "replied":
            yield Change(catalogue.MODEL_CALLS, {"outcome": "replied"}, 1)
            if notice.data.get("purpose") == "think":
                yield Change(catalogue.ROUNDS, NO_LABELS, 1)
            name = str(notice.data.get("model") or UNKNOWN_MODEL)
            for kind in ("prompt", "completion"):
                yield Change(catalogue.MODEL_TOKENS, {"model": name, "kind": kind}, amount(notice, kind))
            if name != UNKNOWN_MODEL:
                yield Change(catalogue.MODEL_SECONDS, {"model": name}, amount(notice, "seconds"))
        case "retry" | "failed" | "fallback":
            yield Change(catalogue.MODEL_CALLS, {"outcome": str(notice.data.get("error", ""))}, 1)
        case _:
            pass


def amount(notice: Notice, name: str) -> float:
    """A number among a notice's facts; 0 where it is none."""
    found = notice.data.get(name)
    return found if isinstance(found, int | float) else 0


def event(notice: Notice) -> Change | None:
    """What an event of an agent, a run, a Step or the watch counts as."""
    if (metric := PLAIN.get((notice.type, notice.extra_type))) is not None:
        return Change(metric, NO_LABELS, 1)
    match notice.type, notice.extra_type:
        case NoticeType.STEP, "stall":
            return Change(catalogue.STALLS, {"trouble": LOOP}, 1)
        case NoticeType.WATCH, "found":
            return Change(catalogue.STALLS, {"trouble": str(notice.data.get("trouble", ""))}, 1)
        case NoticeType.RUN, "finished":
            return Change(catalogue.RUNS, {"outcome": str(notice.data.get("outcome", ""))}, 1)
        case _:
            return None
