"""Carries an agent's notices and status to the Supervisor, in batches: one on its way, what comes meanwhile is next.

A batch whose answer was lost is sent again, together with what came meanwhile. Each notice has its number among those
of this life, so the Supervisor passes over what it has already. What the agent's record says too has a number there: an
agent's next life tells it again unless it is known that the Supervisor has it.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

from ..protocols.checkin import AgentStatus
from ..protocols.errors import FleetError
from ..protocols.notices import Notice
from .errors import FleetClosed
from .ports import Clock, SupervisorLink

__all__ = ("Reporter",)

log = logging.getLogger(__name__)

GATHER = 0.02
"""Seconds in which notices are gathered into one report: a watcher sees no difference, the Supervisor does."""

PAUSE = 1.0
"""Seconds between two tries while the Supervisor cannot be reached."""

KEPT = 10_000
"""Notices kept while it cannot be reached; then the oldest go, and the log says so."""


class Reporter:
    """Sends the notices of one life in order. It belongs to one event loop."""

    def __init__(
        self,
        link: SupervisorLink,
        clock: Clock,
        status: Callable[[], AgentStatus],
        heard: Callable[[int], None] | None = None,
    ) -> None:
        """Keep the ports.

        Args:
            link: The way to the Supervisor.
            clock: Time.
            status: Gives the agent's row of the table.
            heard: Told up to which notice of the agent's record the Supervisor has them; None: there is no record.
        """
        self._link = link
        self._clock = clock
        self._status = status
        self._heard = heard
        self._waiting: list[Notice] = []
        self._under_way = 0
        self._added = 0
        self._turn = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._told = ""

    def add(self, *notices: Notice) -> None:
        """Take more notices, and number them."""
        for notice in notices:
            self._added += 1
            self._waiting.append(replace(notice, number=self._added))
            if len(self._waiting) > KEPT:
                log.warning("the oldest notice of %s is lost: the Supervisor cannot be reached", notice.agent)
                del self._waiting[0]
                self._under_way = max(0, self._under_way - 1)
        self._begin()

    def look(self, phase: str) -> None:
        """The agent is in a phase. If no notice tells of that, as after the end of a run, its row is reported too."""
        if phase != self._told:
            self._begin()

    def _begin(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._gather())

    async def flush(self) -> None:
        """Send everything added so far, now; unless the fleet is closed, so that it can never be sent."""
        async with self._turn:
            await self._send()

    async def _send(self) -> None:
        while self._waiting:
            batch = tuple(self._waiting)
            self._under_way = len(batch)
            try:
                await self._report(batch)
            except FleetClosed as error:
                log.info("%d notices of %s are left to its next life: %s", len(batch), batch[0].agent, error)
                return
            except FleetError as error:
                log.warning("a report waits: %s", error)
                await self._clock.sleep(PAUSE)
            else:
                del self._waiting[: self._under_way]
                if self._heard is not None:
                    self._heard(max(notice.recorded for notice in batch))

    async def _report(self, batch: tuple[Notice, ...]) -> None:
        status = self._status()
        await self._link.report(status, batch)
        self._told = status.phase

    async def _gather(self) -> None:
        await self._clock.sleep(GATHER)
        async with self._turn:
            await self._send()
            while self._status().phase != self._told:
                try:
                    await self._report(())
                except FleetClosed:
                    return
                except FleetError as error:
                    log.info("a row waits: %s", error)
                    await self._clock.sleep(PAUSE)
                await self._send()  # what was added meanwhile

    async def aclose(self) -> None:
        """Send what is left, if the Supervisor can be reached at once, and stop."""
        try:
            async with asyncio.timeout(PAUSE):
                await self.flush()
        except TimeoutError:
            log.warning("%d notices are lost: the Supervisor cannot be reached", len(self._waiting))
        if self._task is not None:
            self._task.cancel()
