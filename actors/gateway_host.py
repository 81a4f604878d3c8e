"""A fleet's gateway as its owner has it: an actor of its own, which another one follows when its process dies."""

import asyncio
import logging
import time
from functools import partial

from ray.exceptions import RayError

from ..protocols.errors import FleetError
from ..runtime.errors import ChannelClosed, PeerUnreachable
from ..runtime.gateway.serving import Dashboard
from .errors import translated
from .gateway import GATEWAY, GatewayActor, create_gateway
from .lifecycle import end, kill, made, ready
from .replaced import RETRY_PAUSE

__all__ = ("RayGateway", "open_gateway")

log = logging.getLogger(__name__)

TRIES = 7
"""Processes in a row that may fail to come, or die young, before nobody tries any more."""

PROVEN = 60.0
"""Seconds after which a process that dies was none of those that die young."""


class RayGateway:
    """Keeps the gateway of a fleet at one address, from `open` to `aclose`. It belongs to one event loop.

    Whoever watches comes back to the same port with the same token, and goes on after the last notice it had.
    """

    def __init__(self, fleet: str, tries: int = TRIES) -> None:
        """Nothing is made yet; `tries`: processes in a row that may fail."""
        self._fleet = fleet
        self._tries = tries
        self._actor: type[GatewayActor] | None = None
        self._keeping: asyncio.Task[str] | None = None

    async def open(self, host: str, port: int) -> Dashboard:
        """Begin.

        Raises:
            SystemUnavailable: It cannot be started, the port is taken, or the address cannot be used.
            FleetError: What else its `open` raised.
        """
        actor = await self._start(host, port)
        try:
            with translated(GATEWAY):
                url, token = await actor.where.remote()
        except BaseException:
            await self.aclose()
            raise
        port = int(url.rpartition(":")[2])
        self._keeping = asyncio.create_task(self._keep(actor, host, port), name="the gateway is kept")
        return Dashboard(url, token)

    async def over(self) -> str:
        """Wait until it has nothing more to show, and give why; also where no process of it can be kept alive."""
        return "" if self._keeping is None else await asyncio.shield(self._keeping)

    async def aclose(self) -> None:
        """End it, and wait until its process is gone. Safe to call twice."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        if self._actor is not None:
            await end(self._actor)

    async def _start(self, host: str, port: int) -> type[GatewayActor]:
        """Make a process, and have it serve."""
        self._actor = actor = await made(partial(create_gateway, self._fleet))
        try:
            await ready(actor.open.remote(host, port), GATEWAY)
        except BaseException:
            await end(actor)
            raise
        return actor

    async def _keep(self, actor: type[GatewayActor], host: str, port: int) -> str:
        """Have another process follow each that dies, later each time while they fail; gives why none follows."""
        failed, following = 0, False
        while True:
            began = time.monotonic()
            try:
                if following:
                    actor = await self._start(host, port)
                return await life(actor)
            except (FleetError, RayError) as error:
                reason = str(error).rstrip(".")
            following = True
            failed = 1 if time.monotonic() - began > PROVEN else failed + 1
            if failed > self._tries:
                log.error("the gateway at %s, port %d, is given up: %s", host, port, reason)
                return f"the gateway could not be kept alive: {reason}"
            log.warning("the gateway at %s, port %d, is started again: %s", host, port, reason)
            await asyncio.sleep(RETRY_PAUSE * 2 ** (failed - 1))


async def life(actor: type[GatewayActor]) -> str:
    """Wait until a process has nothing more to show, and give why.

    Raises:
        ChannelClosed: The process died before.
        FleetError: What it ended with.
    """
    while True:
        try:
            with translated(GATEWAY):
                return await actor.over.remote()
        except PeerUnreachable:  # soon it answers again, or is known to be dead
            await asyncio.sleep(RETRY_PAUSE)
        except ChannelClosed:
            await kill(actor)  # else Ray would find the dead one by its name
            raise


async def open_gateway(fleet: str, host: str, port: int) -> tuple[RayGateway, Dashboard]:
    """Begin one.

    Raises:
        SystemUnavailable: It cannot be started, the port is taken, or the address cannot be used.
        FleetError: What else its `open` raised.
    """
    gateway = RayGateway(fleet)
    return gateway, await gateway.open(host, port)
