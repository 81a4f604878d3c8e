"""Where spans go, as the product sees it. Tracing that is off is no tracer at all, so that it costs nothing."""

import sys
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from opentelemetry.trace import SpanContext

__all__ = ("Attributes", "Span", "SpanKind", "Tracer", "current_traceparent", "traceparent_of")

Attributes: TypeAlias = Mapping[str, str | int | bool | tuple[str, ...]]
"""Facts about a span: names and numbers. No text that a model, a user or a tool wrote is among them."""

NOTHING: Attributes = MappingProxyType({})


class SpanKind(StrEnum):
    """Whether a span is work of this process, or a call of something outside."""

    INTERNAL = "internal"
    CLIENT = "client"


class Span(Protocol):
    """A piece of work that has a beginning and an end."""

    @property
    def traceparent(self) -> str:
        """The span's context as W3C Trace Context writes it."""
        ...

    def link(self, traceparent: str, attributes: Attributes = NOTHING) -> None:
        """Say that another span, of whichever trace, led to this one. A context that cannot be read links nothing."""
        ...

    def enter(self) -> None:
        """Make it the current one of the task that runs, so that spans of the libraries called there lie below it."""
        ...

    def end(self, attributes: Attributes = NOTHING, error: str = "") -> None:
        """The work is over. `error`: the name of what went wrong; empty: nothing did."""
        ...


class Tracer(Protocol):
    """Begins spans."""

    def start(self, name: str, kind: SpanKind, attributes: Attributes, parent: Span | str = "") -> Span:
        """Begin a span below `parent`: a span of this tracer, a traceparent, or empty for the first of a trace."""
        ...

    async def aclose(self) -> None:
        """Send what has ended and was not sent yet, as far as that can be done in a moment."""
        ...


def traceparent_of(context: "SpanContext") -> str:
    """A span's context as W3C Trace Context writes it; empty if it is none."""
    if not context.is_valid:
        return ""
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def current_traceparent() -> str:
    """The context of the span that the caller is in; empty where there is none. It imports nothing."""
    trace = sys.modules.get("opentelemetry.trace")  # whoever has a current span has imported it
    return "" if trace is None else traceparent_of(trace.get_current_span().get_span_context())
