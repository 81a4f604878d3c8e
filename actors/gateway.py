"""The gateway's actor: a fleet over HTTP from a process of its own, so that who watches is nobody's burden."""

from typing import Any, cast

import ray
from ray.actor import ActorClass

from ..runtime.fleet import Fleet
from .channel import CONTROL, namespace
from .lifetimes import OWNED, here

__all__ = ("GATEWAY", "GatewayActor", "create_gateway")

GATEWAY = "gateway"
"""Its name among a fleet's actors."""


class GatewayActor:
    """Joins the fleet as any other process may, and serves it from here."""

    def __init__(self, fleet: str) -> None:
        """Nothing runs before `open`."""
        self._fleet = Fleet.attach(fleet)

    @ray.method
    async def open(self, host: str, port: int) -> None:
        """Serve."""
        await self._fleet.__aenter__()
        await self._fleet.serve_dashboard(host=host, port=port)

    @ray.method
    async def where(self) -> tuple[str, str]:
        """The address and the token, once it is open."""
        dashboard = await self._fleet.serve_dashboard()
        return dashboard.url, dashboard.token

    @ray.method
    async def over(self) -> str:
        """Park until there is nothing more to show, and give why."""
        return await self._fleet.dashboard_over()

    @ray.method
    async def close(self) -> None:
        """Serve no longer."""
        await self._fleet.close(0)

    @ray.method(concurrency_group=CONTROL)
    async def ping(self) -> None:
        """Answer."""


Gateways = cast(
    "ActorClass[GatewayActor]",
    cast("Any", ray.remote)(concurrency_groups={CONTROL: 64})(GatewayActor),
)


def create_gateway(fleet: str) -> type[GatewayActor]:
    """Make the actor, on this process's node and nowhere else: it listens on loopback. It blocks.

    It ends with the process that makes it, or with the last handle.
    """
    options = Gateways.options(name=GATEWAY, namespace=namespace(fleet), **here(soft=False), **OWNED)
    return cast("type[GatewayActor]", options.remote(fleet))
