"""An agent's way, over Ray, to those that it may spawn."""

import asyncio
from collections.abc import Mapping
from typing import cast

from ..protocols.codec import decode, encode
from ..protocols.ids import SUPERVISOR
from ..protocols.spawning import SpawnAnswer, SpawnRequest, StopAnswer, StopRequest
from ..runtime.errors import PeerUnreachable
from .description import pieces
from .link import AgentsDesk
from .replaced import RETRY_PAUSE, Replaced

__all__ = ("PATIENCE", "RayChildren")

PATIENCE = 300.0
"""Seconds in which the Supervisor says what became of a child: more than its owner has to bring it to life."""


class RayChildren:
    """The port `Children`. The Supervisor lets a child in, and whoever makes the fleet's actors makes its."""

    def __init__(self, desk: Replaced[type[AgentsDesk]], kinds: Mapping[str, bytes]) -> None:
        """Keep the way to the Supervisor, and the descriptions of what the agent may spawn."""
        self._desk = desk
        self._kinds = kinds

    async def spawn(self, request: SpawnRequest) -> SpawnAnswer:
        """Have a child come to life. While another Supervisor takes over for one that died, it is asked again.

        Raises:
            FleetError: The Supervisor is dead for good, or does not answer: whether there is a child is unknown.
        """
        description = pieces(self._kinds[request.kind])
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await self._answer(request, description)
        except TimeoutError:
            raise PeerUnreachable(agent=SUPERVISOR, reason=f"it has said nothing in {PATIENCE:g} seconds") from None
        return decode(answer, cast("type[SpawnAnswer]", SpawnAnswer))

    async def _answer(self, request: SpawnRequest, description: tuple[bytes, ...]) -> bytes:
        while True:
            try:
                return await self._desk.ask(lambda desk: desk.spawn.remote(encode(request), *description))
            except PeerUnreachable:
                if not self._desk.again:
                    raise
            await asyncio.sleep(RETRY_PAUSE)

    async def stop_child(self, request: StopRequest) -> StopAnswer:
        """Stop one below the agent, and all under that.

        Raises:
            FleetError: The Supervisor cannot be reached.
        """
        return decode(await self._desk.ask(lambda desk: desk.stop_child.remote(encode(request))), StopAnswer)
