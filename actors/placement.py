"""Where on a cluster agents go."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import cycle, repeat
from typing import Any, TypedDict

from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ..protocols.plural import are
from ..runtime.errors import SystemUnavailable

__all__ = ("SLOT", "Node", "Place", "cores", "places", "slots")

SLOT = "agent_slot"
"""The resource of which a node offers as many as it takes agents."""

Node = Mapping[str, Any]
"""A row of `ray.nodes()`."""


class Place(TypedDict, total=False):
    """Ray's options that say where an actor goes."""

    resources: dict[str, float]
    scheduling_strategy: str | NodeAffinitySchedulingStrategy


def places(nodes: Iterable[Node], count: int, taken: int = 0) -> Iterator[Place]:
    """The places of further agents, without end.

    Where nodes offer slots, one slot each, spread over them. Else the nodes that have CPUs in turn: Ray packs actors
    that ask for nothing, and puts those to be spread on the head.

    Args:
        nodes: The cluster's.
        count: How many agents there are to place.
        taken: Slots that are held already.

    Raises:
        SystemUnavailable: There are slots, but fewer free ones than that; Ray would wait for ever.
    """
    living = [node for node in nodes if node["Alive"]]
    offered = slots(living)
    if offered:
        if offered - taken < count:
            held = f", of which {taken} {are(taken)} taken" if taken else ""
            need = "1 agent needs one" if count == 1 else f"{count} agents need one each"
            reason = f"its nodes offer {offered:g} {SLOT} together{held}, and {need}."
            raise SystemUnavailable(system="ray", reason=reason)
        return repeat(Place(resources={SLOT: 1}, scheduling_strategy="SPREAD"))
    hosts = [node["NodeID"] for node in living if node["Resources"].get("CPU", 0)]
    if len(hosts) <= 1:
        return repeat(Place())
    return cycle([Place(scheduling_strategy=NodeAffinitySchedulingStrategy(host, soft=True)) for host in hosts])


def slots(nodes: Iterable[Node]) -> float:
    """Agents that the living nodes of the cluster take together; 0 where they do not say, and take any number."""
    return float(sum(node["Resources"].get(SLOT, 0) for node in nodes if node["Alive"]))


def cores(nodes: Iterable[Node]) -> int:
    """CPUs of the cluster, at least one."""
    return max(1, int(sum(node["Resources"].get("CPU", 0) for node in nodes if node["Alive"])))
