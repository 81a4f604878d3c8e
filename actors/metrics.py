"""Ray's metrics: where a fleet's values go on their way to Prometheus."""

from ray.util.metrics import Counter, Gauge, Histogram

from ..runtime.metrics.catalogue import CATALOGUE, Kind, Metric
from ..runtime.metrics.meter import Labels

__all__ = ("RayMeter",)


class RayMeter:
    """Registers every metric of the catalogue in this process, for one fleet. A value costs some two microseconds."""

    def __init__(self, fleet: str) -> None:
        """Register them."""
        self._counters: dict[str, Counter] = {}
        self._gauges: dict[str, Gauge] = {}
        self._histograms: dict[str, Histogram] = {}
        for metric in CATALOGUE:
            self._register(metric, fleet)

    def _register(self, metric: Metric, fleet: str) -> None:
        name, about, keys = metric.name, metric.about, ("fleet", *metric.labels)
        made: Counter | Gauge | Histogram
        match metric.kind:
            case Kind.COUNTER:
                made = self._counters[name] = Counter(name, about, keys)
            case Kind.GAUGE:
                made = self._gauges[name] = Gauge(name, about, keys)
            case Kind.HISTOGRAM:
                made = self._histograms[name] = Histogram(name, about, list(metric.boundaries), keys)
        made.set_default_tags({"fleet": fleet})

    def add(self, metric: Metric, labels: Labels, value: float) -> None:
        """Add to a counter. Ray takes no zero."""
        if value > 0:
            self._counters[metric.name].inc(value, dict(labels))

    def set(self, metric: Metric, labels: Labels, value: float) -> None:
        """Set a gauge."""
        self._gauges[metric.name].set(value, dict(labels))

    def observe(self, metric: Metric, labels: Labels, value: float) -> None:
        """Give a histogram a value."""
        self._histograms[metric.name].observe(value, dict(labels))
