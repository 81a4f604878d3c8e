"""Spans by OpenTelemetry's API. Only where tracing is on is this file imported."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from .tracing import NOTHING, Attributes, Span, SpanKind, traceparent_of

__all__ = ("OtelSpan", "OtelTracer")

KINDS = {SpanKind.INTERNAL: trace.SpanKind.INTERNAL, SpanKind.CLIENT: trace.SpanKind.CLIENT}

LAST_SPANS = 1.5
"""Seconds the last spans have to be sent; an agent's actor has two to end by itself."""


class OtelSpan:
    """The port `Span` over one of OpenTelemetry's."""

    def __init__(self, inner: trace.Span) -> None:
        """Wrap a span that has begun."""
        self.inner = inner

    @property
    def traceparent(self) -> str:
        """The span's context as W3C Trace Context writes it."""
        return traceparent_of(self.inner.get_span_context())

    def link(self, traceparent: str, attributes: Attributes = NOTHING) -> None:
        """Say that another span led to this one."""
        linked = trace.get_current_span(read(traceparent)).get_span_context()
        if linked.is_valid:
            self.inner.add_link(linked, dict(attributes))

    def enter(self) -> None:
        """Make it the current span of the task that runs; the task's end is the end of that."""
        contexts.attach(trace.set_span_in_context(self.inner))

    def end(self, attributes: Attributes = NOTHING, error: str = "") -> None:
        """The work is over. A status has no text: an error's sentence may repeat what a model or a user wrote."""
        self.inner.set_attributes(dict(attributes))
        if error:
            self.inner.set_attribute("error.type", error)
            self.inner.set_status(trace.StatusCode.ERROR)
        self.inner.end()


class OtelTracer:
    """The port `Tracer` over one of OpenTelemetry's."""

    def __init__(self, inner: trace.Tracer, shutdown: Callable[[], None] | None = None) -> None:
        """Begin spans by `inner`. `shutdown` sends what is left, and blocks; None: the tracer belongs to another."""
        self._inner = inner
        self._shutdown = shutdown

    def start(self, name: str, kind: SpanKind, attributes: Attributes, parent: Span | str = "") -> OtelSpan:
        """Begin a span below another one, or the first of a trace."""
        match parent:
            case OtelSpan():
                around = trace.set_span_in_context(parent.inner, contexts.Context())
            case str():
                around = read(parent)
            case _:
                around = read(parent.traceparent)
        return OtelSpan(self._inner.start_span(name, around, KINDS[kind], dict(attributes)))

    async def aclose(self) -> None:
        """Send what is left; whoever does not take it in time does not get it. Safe to call twice."""
        shutdown, self._shutdown = self._shutdown, None
        if shutdown is None:
            return
        loop, over = asyncio.get_running_loop(), asyncio.Event()

        def send() -> None:
            shutdown()
            with suppress(RuntimeError):  # it took too long, and the loop has been closed since
                loop.call_soon_threadsafe(over.set)

        # A daemon: no end of a program waits for a collector that does not answer.
        Thread(target=send, name="last-spans", daemon=True).start()
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_SPANS):
                await over.wait()


def read(traceparent: str) -> contexts.Context:
    """The context of a span elsewhere; an empty one where the text is none."""
    return TraceContextTextMapPropagator().extract({"traceparent": traceparent}, contexts.Context())
