"""How long an actor lives, and where: the options that Ray is given for it."""

from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

__all__ = ("DETACHED", "OWNED", "here", "lifetime", "on")

OWNED: dict[str, Any] = {"max_restarts": 0, "max_task_retries": 0, "enable_task_events": False}
"""It ends with the process that made it. Ray restarts nothing and repeats no call: what may be done twice is decided by
those who know."""

DETACHED: dict[str, Any] = {**OWNED, "lifetime": "detached", "max_restarts": -1}
"""It outlives the process that made it, and Ray starts another process of it when one dies. That one is inert until it
has asked what it is to be: see `again` of each actor."""


def lifetime(*, service: bool) -> dict[str, Any]:
    """The options of an actor of a fleet that runs as a service, or of one that ends with its owner."""
    return DETACHED if service else OWNED


def on(node: str, *, soft: bool) -> dict[str, Any]:
    """Options of an actor without a core of its own that belongs on a node; `soft`: or elsewhere if that cannot be."""
    return {"num_cpus": 0, "scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=soft)}


def here(*, soft: bool) -> dict[str, Any]:
    """Options of an actor that belongs on this process's node."""
    return on(ray.get_runtime_context().get_node_id(), soft=soft)
