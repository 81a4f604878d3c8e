"""Whether spans are wanted, and where they go: as with any program that speaks OpenTelemetry, the environment says."""

import logging
import os
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from .tracing import Tracer

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

    from .otel import OtelTracer

__all__ = ("open_tracer",)

log = logging.getLogger(__name__)

SCOPE = "amrita_fleet"
"""The name of what makes the spans."""

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")

NO_EXTRA = (
    "No spans are sent: the environment asks for them, and a package for that is missing (%s). "
    "Install amrita-fleet[tracing] where the agents live, or set OTEL_SDK_DISABLED=true."
)

NOT_FOLLOWED = (
    "No spans are sent: OpenTelemetry cannot follow an OTEL_... setting of the environment (%s: %s). "
    "Mend it, or set OTEL_SDK_DISABLED=true."
)

NO_EXPORTER = "No spans are sent: OTEL_TRACES_EXPORTER is %r, and must be otlp, console or none."

NO_PROTOCOL = "No spans are sent: OTEL_EXPORTER_OTLP_PROTOCOL is %r, and only http/protobuf is spoken."


def open_tracer(fleet: str, agent: str = "") -> Tracer | None:
    """Where spans of this process go; None: nobody wants any, and nothing of OpenTelemetry is imported for that.

    A tracer provider that the program has set is used as it is, and stays the program's. Else the environment's
    `OTEL_...` settings count. Where they cannot be followed, a warning says so: no agent ends because of that.

    Args:
        fleet: The fleet's name.
        agent: Whose process this is; empty: that of a whole fleet.
    """
    return given_tracer() or asked_tracer(os.environ, fleet, agent)


def given_tracer() -> "OtelTracer | None":
    """A tracer of the provider that the program has set; None: it has set none."""
    trace = sys.modules.get("opentelemetry.trace")  # whoever has set one has imported it
    if trace is None or isinstance(provider := trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return None
    from .otel import OtelTracer

    return OtelTracer(provider.get_tracer(SCOPE, own_version()))


def asked_tracer(environ: Mapping[str, str], fleet: str, agent: str) -> "OtelTracer | None":
    """A tracer as the environment wants it; None: it wants none, or cannot have it."""
    kind = exporter_kind(environ)
    if kind is None:
        return None
    try:
        return made_tracer(exporter(kind), environ, fleet, agent)
    except ImportError as error:
        log.warning(NO_EXTRA, error.name)
        return None
    except Exception as error:  # noqa: BLE001  what reads the settings is the SDK, and what they name as plugins
        log.warning(NOT_FOLLOWED, type(error).__name__, error)
        return None


def exporter_kind(environ: Mapping[str, str]) -> str | None:
    """What sends spans: `otlp` or `console`; None: nothing does."""
    named = environ.get("OTEL_TRACES_EXPORTER", "").strip()
    kind = named or ("otlp" if any(environ.get(name) for name in ENDPOINTS) else "none")
    if kind == "none" or environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    if kind not in {"otlp", "console"}:
        log.warning(NO_EXPORTER, kind)
        return None
    common = environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"
    protocol = environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or common
    if kind == "otlp" and protocol != "http/protobuf":
        log.warning(NO_PROTOCOL, protocol)
        return None
    return kind


def exporter(kind: str) -> "SpanExporter":
    """What sends spans, in this process.

    Raises:
        ImportError: The package for that is missing.
    """
    if kind == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter(out=sys.stderr)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()


def made_tracer(sends: "SpanExporter", environ: Mapping[str, str], fleet: str, agent: str) -> "OtelTracer":
    """A tracer of a provider of our own; the provider is not made the program's.

    Raises:
        ImportError: The package for that is missing.
    """
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from .otel import OtelTracer

    facts = {"service.instance.id": f"{fleet}/{agent or os.getpid()}"}
    if not environ.get("OTEL_SERVICE_NAME"):
        facts["service.name"] = "amrita-fleet"
    provider = TracerProvider(resource=Resource.create(facts), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(sends))
    return OtelTracer(provider.get_tracer(SCOPE, own_version()), provider.shutdown)


def own_version() -> str:
    """The product's version; empty where it is not installed."""
    try:
        return version("amrita-fleet")
    except PackageNotFoundError:
        return ""
