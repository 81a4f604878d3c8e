"""Where the values of metrics go, as a port, and a place in memory for them."""

from collections.abc import Mapping
from typing import Protocol

from .catalogue import Metric

__all__ = ("Labels", "MemoryMeter", "Meter")

Labels = Mapping[str, str]
"""The values of a metric's labels, by their names; without the fleet's."""


class Meter(Protocol):
    """Takes the values of one fleet's metrics, from any thread. It is quick and raises nothing."""

    def add(self, metric: Metric, labels: Labels, value: float) -> None:
        """A counter rises by so much."""
        ...

    def set(self, metric: Metric, labels: Labels, value: float) -> None:
        """A gauge is so much now."""
        ...

    def observe(self, metric: Metric, labels: Labels, value: float) -> None:
        """A histogram has one more value."""
        ...


class MemoryMeter:
    """Keeps values in memory, for tests and for whoever exports them otherwise.

    Attributes:
        values: Of counters and gauges, by the metric's name and the values of its labels in their order.
        observed: All that histograms were given, likewise.
    """

    def __init__(self) -> None:
        """Begin without values."""
        self.values: dict[tuple[str, ...], float] = {}
        self.observed: dict[tuple[str, ...], list[float]] = {}

    def add(self, metric: Metric, labels: Labels, value: float) -> None:
        """Add to a counter."""
        key = self._key(metric, labels)
        self.values[key] = self.values.get(key, 0) + value

    def set(self, metric: Metric, labels: Labels, value: float) -> None:
        """Set a gauge."""
        self.values[self._key(metric, labels)] = value

    def observe(self, metric: Metric, labels: Labels, value: float) -> None:
        """Keep a value."""
        self.observed.setdefault(self._key(metric, labels), []).append(value)

    def _key(self, metric: Metric, labels: Labels) -> tuple[str, ...]:
        return (metric.name, *(labels[name] for name in metric.labels))
