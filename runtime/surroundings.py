"""What a system gives each of its agents."""

from collections.abc import Callable
from dataclasses import dataclass

from .journal.fleet_log import FleetLog
from .ports import Children, Clock, PostOffice, SupervisorLink
from .tracing import Tracer

__all__ = ("Surroundings",)


def stay(_: str) -> None:
    """Nothing follows from the end of a life: its process has others."""


@dataclass(frozen=True)
class Surroundings:
    """What a system gives its hosts.

    Attributes:
        link: The way to the Supervisor.
        post: The way to other agents.
        clock: Time.
        log: Where what happens to agents is written, and from where an earlier life is gone on with; None: nowhere.
        superseded: Told, in the work loop, that a newer life of an agent has begun, and why that is known.
        leased: Another Supervisor follows one that dies, so an agent waits for it, and goes on only while its lease on
            its life holds.
        children: The way to those that agents spawn; None: nobody can be spawned here.
        fleet: The fleet's name, for logs and spans.
        tracer: Where spans go; None: nowhere.
        node: The address of the machine that this is; empty: there is only one.
    """

    link: SupervisorLink
    post: PostOffice
    clock: Clock
    log: FleetLog | None = None
    superseded: Callable[[str], None] = stay
    leased: bool = False
    children: Children | None = None
    fleet: str = ""
    tracer: Tracer | None = None
    node: str = ""
