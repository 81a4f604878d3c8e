"""A fleet's gateway as its owner has it: an actor of its own."""

from functools import partial

from ..runtime.gateway.serving import Dashboard
from .errors import translated
from .gateway import GATEWAY, GatewayActor, create_gateway
from .lifecycle import end, made, ready

__all__ = ("RayGateway", "open_gateway")


class RayGateway:
    """The handle keeps the actor alive."""

    def __init__(self, actor: type[GatewayActor]) -> None:
        """Keep it."""
        self._actor = actor

    async def over(self) -> str:
        """Wait until it has nothing more to show, and give why.

        Raises:
            ChannelClosed: Its process has died.
        """
        with translated(GATEWAY):
            return await self._actor.over.remote()

    async def aclose(self) -> None:
        """End it, and wait until its process is gone."""
        await end(self._actor)


async def open_gateway(fleet: str, host: str, port: int) -> tuple[RayGateway, Dashboard]:
    """Begin one.

    Raises:
        SystemUnavailable: It cannot be started, the port is taken, or the address cannot be used.
        FleetError: What else its `open` raised.
    """
    actor = await made(partial(create_gateway, fleet))
    try:
        await ready(actor.open.remote(host, port), GATEWAY)
        with translated(GATEWAY):
            url, token = await actor.where.remote()
    except BaseException:
        await end(actor)
        raise
    return RayGateway(actor), Dashboard(url, token)
