"""Carries an agent's notices and status to the Supervisor: one report in flight, what comes meanwhile is the next."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

from ..protocols.checkin import AgentStatus
from ..protocols.errors import FleetError
from ..protocols.notices import Notice
from .ports import Clock, SupervisorLink

__all__ = ("Reporter",)

log = logging.getLogger(__name__)

PAUSE = 1.0
"""Seconds between two tries while the Supervisor cannot be reached."""

KEPT = 10_000
"""Notices kept while it cannot be reached; then the oldest go, and the log says how many."""


class Reporter:
    """Sends notices in order. `add` belongs to the loop that `open` was called in."""

    def __init__(self, link: SupervisorLink, clock: Clock, status: Callable[[], AgentStatus]) -> None:
        """Keep the ports; `status` gives the agent's row of the table."""
        self._link = link
        self._clock = clock
        self._status = status
        self._waiting: list[Notice] = []
        self._task: asyncio.Task[None] | None = None

    def add(self, notice: Notice) -> None:
        """Take one more notice."""
        self._waiting.append(replace(notice, at=self._clock.now()))
        if len(self._waiting) > KEPT:
            log.warning("the oldest notice of %s is lost: the Supervisor cannot be reached", notice.agent)
            del self._waiting[0]
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._send())

    async def flush(self) -> None:
        """Wait until everything added so far is with the Supervisor."""
        if self._task is not None:
            await self._task

    async def _send(self) -> None:
        while self._waiting:
            batch = tuple(self._waiting)
            try:
                await self._link.report(self._status(), batch)
            except FleetError as error:
                log.warning("a report waits: %s", error)
                await self._clock.sleep(PAUSE)
            else:
                del self._waiting[: len(batch)]

    def close(self) -> None:
        """Stop sending."""
        if self._task is not None:
            self._task.cancel()
