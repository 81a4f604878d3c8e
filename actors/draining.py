"""Draining the agents that a process owns on Ray."""

import asyncio
import logging
from collections.abc import Mapping
from typing import cast

from ray.exceptions import ActorDiedError

from ..protocols.checkin import DEAD
from ..protocols.errors import FleetError
from ..protocols.ids import AgentId
from ..runtime.clock import SystemClock
from ..runtime.draining import undrained, undrained_report
from ..runtime.host import Seat
from .agent import AgentActor
from .errors import translated
from .link import AgentsDesk, RayLink
from .replaced import Replaced
from .supervisor import SupervisorActor

__all__ = ("RayDrain",)

log = logging.getLogger(__name__)

TELL_PATIENCE = 2.0
"""Seconds the Supervisor has to hear who did not drain: whoever closes the fleet waits for it."""


END_PATIENCE = 30.0
"""Seconds in which those that have drained are ended; a few are enough, but for a cluster that hardly answers."""


class RayDrain:
    """Has the agents of one process drain, told at once and side by side.

    Attributes:
        begun: Nobody is to be spawned or restarted any more.
    """

    def __init__(
        self,
        actors: Mapping[Seat, type[AgentActor]],
        way: Replaced[type[SupervisorActor]],
        *,
        outlived: bool = False,
    ) -> None:
        """Share the system's table of actors, and keep the way to the Supervisor.

        `outlived`: the agents do not end with this process. Should it die before it has ended them, they go on.
        """
        self._outlived = outlived
        self.begun = False
        self._actors = actors
        self._link = RayLink(cast("Replaced[type[AgentsDesk]]", way))
        self._clock = SystemClock()

    async def __call__(self, grace: float) -> None:
        """Have all of them drain; see `Drain`."""
        self.begun = True
        lasts = grace + END_PATIENCE if self._outlived else None
        drains = {seat.name: drained(seat.name, actor, lasts) for seat, actor in self._actors.items()}
        left = await undrained(drains, self._clock.sleep(grace))
        if left:
            await self._tell(left, grace)

    async def _tell(self, left: tuple[AgentId, ...], grace: float) -> None:
        try:
            async with asyncio.timeout(TELL_PATIENCE):
                rows = [await self._link.find(agent) for agent in left]
                living = [row for row in rows if row.phase != DEAD]
                await self._link.report(*undrained_report(living, grace, self._clock.now()))
        except (TimeoutError, FleetError) as error:
            log.warning("the Supervisor was not told who did not drain: %s", error)


async def drained(agent: AgentId, actor: type[AgentActor], lasts: float | None) -> None:
    """Wait until one agent has drained; one that dies meanwhile has nothing under way.

    `lasts`: seconds after which it goes on, if nobody has ended it; None: never.

    Raises:
        PeerUnreachable: It does not answer.
    """
    with translated(agent):
        try:
            await actor.drain.remote(lasts)
        except ActorDiedError:
            log.info("%s died while it drained", agent)
