"""Tells agents that they were stopped together with the account they spend from.

Who asked that account for more is answered so. Who waits for mail, is paused or runs a tool asks for nothing, and would
go on.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from ..protocols.errors import FleetError
from ..protocols.ids import AgentId
from .errors import PeerUnreachable
from .ports import Clock
from .supervision.supervisor import Supervisor

__all__ = ("StopTeller",)

log = logging.getLogger(__name__)

PAUSE = 1.0
"""Seconds between two tries to reach an agent."""

Tell: TypeAlias = Callable[[AgentId, str], Awaitable[None]]
"""Tells an agent that it is stopped, and why; raises a `FleetError` where it cannot."""


class StopTeller:
    """Tells those of one fleet. `run` belongs to one loop; `wake` may be called from any thread."""

    def __init__(self, supervisor: Supervisor, tell: Tell, clock: Clock) -> None:
        """Keep the Supervisor, which knows whom to tell, and the way to them."""
        self._supervisor = supervisor
        self._tell = tell
        self._clock = clock
        self._woken = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def wake(self) -> None:
        """There may be somebody to tell."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._woken.set)

    async def run(self) -> None:
        """Tell whoever there is, until cancelled."""
        self._loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as telling:
            while True:
                for agent, reason in self._supervisor.take_untold():
                    telling.create_task(self._reach(agent, reason))
                await self._woken.wait()
                self._woken.clear()

    async def _reach(self, agent: AgentId, reason: str) -> None:
        """Tell one agent, once it is written that it is stopped; one that does not answer may do so later."""
        while True:
            try:
                await self._supervisor.log.written()
                await self._tell(agent, reason)
            except PeerUnreachable:
                await self._clock.sleep(PAUSE)
            except FleetError as error:  # it is gone, or another Supervisor has the fleet
                log.info("%s was not told that it is stopped: %s", agent, error)
                return
            else:
                return
