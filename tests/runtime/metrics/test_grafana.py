"""The shipped dashboard asks for what there is."""

import json
import re
from itertools import product
from typing import Any

from amrita_fleet.runtime.metrics.catalogue import CATALOGUE, Kind
from amrita_fleet.runtime.metrics.grafana import shipped_dashboard

SUFFIXES = {Kind.COUNTER: {""}, Kind.GAUGE: {""}, Kind.HISTOGRAM: {"_bucket", "_count"}}
"""What Prometheus has of each kind."""


def queries() -> list[str]:
    dashboard: dict[str, Any] = json.loads(shipped_dashboard())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    return asked + [each["definition"] for each in dashboard["templating"]["list"] if "definition" in each]


def test_it_names_only_metrics_that_are_registered_and_each_of_them() -> None:
    exported = {f"ray_{each.name}{end}": each for each in CATALOGUE for end in SUFFIXES[each.kind]}
    named = {name for query in queries() for name in re.findall(r"ray_amrita_fleet_\w+", query)}
    assert named - exported.keys() == set()
    assert {exported[name] for name in named} == set(CATALOGUE)


def test_it_groups_by_labels_that_a_metric_has() -> None:
    exported = {f"ray_{each.name}{end}": each for each in CATALOGUE for end in SUFFIXES[each.kind]}
    for query in queries():
        (name,) = set(re.findall(r"ray_amrita_fleet_\w+", query))
        labels = {*exported[name].labels, "fleet", "le"}
        grouped = {label.strip() for group in re.findall(r"by \(([^)]*)\)", query) for label in group.split(",")}
        filtered = set(re.findall(r"(\w+)=~?\"", query))
        assert (grouped | filtered) - labels == set()


def test_no_two_panels_overlap() -> None:
    places = [panel["gridPos"] for panel in json.loads(shipped_dashboard())["panels"]]
    spans = [(range(at["x"], at["x"] + at["w"]), range(at["y"], at["y"] + at["h"])) for at in places]
    cells = [cell for across, down in spans for cell in product(across, down)]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
