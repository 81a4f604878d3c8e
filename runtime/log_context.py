"""Where the code that runs is, for its log: fleet, agent, run, Step and span."""

import logging
from contextvars import ContextVar
from typing import NamedTuple

__all__ = ("NOWHERE", "LogContext", "LogPlace", "log_place", "stand_at")


class LogPlace(NamedTuple):
    """Where the code that runs is; what is not known is empty, or 0.

    Attributes:
        step: Steps of the agent's life so far.
        trace: W3C traceparent of the span that it is in.
    """

    fleet: str = ""
    agent: str = ""
    run: str = ""
    step: int = 0
    trace: str = ""

    @property
    def fields(self) -> dict[str, str | int]:
        """What is known of it, by the names that log records have for it."""
        known: dict[str, str | int] = {"fleet": self.fleet, "agent": self.agent, "run": self.run, "step": self.step}
        if self.trace:
            _, known["trace_id"], known["span_id"], _ = self.trace.split("-")
        return {name: value for name, value in known.items() if value}


NOWHERE = LogPlace()
"""Nothing is known."""

PLACE: ContextVar[LogPlace | None] = ContextVar("amrita_fleet_log_place", default=None)
"""Each task has its own, and begins with that of the one that made it; so have threads that tools run in."""


def log_place() -> LogPlace | None:
    """Where the code that runs is; None: in no agent."""
    return PLACE.get()


def stand_at(place: LogPlace) -> None:
    """The running task is there from now on."""
    PLACE.set(place)


class LogContext(logging.Filter):
    """Lets every record through, with `fleet`, `agent`, `run`, `step`, `trace_id` and `span_id` as attributes.

    Put it on a handler: a filter of a logger does not see what loggers below it are told. What is not known is an
    empty text, and a `step` of 0, so that a format may name each.
    """

    def __init__(self, usual: LogPlace = NOWHERE) -> None:
        """`usual` is where code is that is in no agent: in an agent's process, the agent."""
        super().__init__()
        self._usual = usual

    def filter(self, record: logging.LogRecord) -> bool:
        """Write into the record where it comes from."""
        place = log_place() or self._usual
        empty: dict[str, str | int] = dict.fromkeys(("fleet", "agent", "run", "trace_id", "span_id"), "")
        record.__dict__.update({**empty, "step": 0, **place.fields})
        return True
