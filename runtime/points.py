"""The points of an agent: there it stands still, because somebody asked for it or of its own accord."""

import asyncio
import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager

from ..protocols.ids import RunId
from .lease import Lease
from .run_suspensions import BOUNDARY, TOOL, RunSuspensions

__all__ = ("DRAINED", "Points")

log = logging.getLogger(__name__)

DRAINED = "to stand at its next boundary, because its fleet is being closed"


class Points:
    """What an agent's driver awaits before it begins something. It belongs to the work loop.

    At its points the agent stands

    - while somebody has its run suspended there;
    - while its lease is over, but for tools: a Step that has begun a round may end it;
    - at a boundary, once it is drained.

    Attributes:
        draining: The agent stands at its next boundary, and begins nothing more.
        standing: How many of the agent's tasks stand still now.
    """

    def __init__(self, suspensions: RunSuspensions, lease: Lease | None, stands: Callable[[], None]) -> None:
        """Keep the pieces; `stands` is told, in the work loop, that one more task has come to stand still."""
        self.draining = False
        self.standing = 0
        self._goes_on = asyncio.Event()
        self._suspensions = suspensions
        self._lease = lease
        self._stands = stands

    def asked(self, run: RunId) -> bool:
        """Whether there is a reason to stand somewhere; while there is none, no point needs to be awaited."""
        return self.draining or self._away or self._suspensions.asked(run)

    def note(self, run: RunId | None) -> str:
        """Why the agent stands, or is to stand, for people; from any thread."""
        away = "" if self._lease is None else self._lease.note
        suspended = "" if run is None else self._suspensions.note(run)
        return away or suspended or (DRAINED if self.draining and run is not None else "")

    async def point(self, run: RunId, tag: str) -> None:
        """Stand here as long as there is a reason to. The driver awaits this at each point of a run."""
        with self._still():
            await self._suspensions.point(run, tag)
            if tag != TOOL:
                await self._lease_holds()
            while self.draining and tag == BOUNDARY:
                await self._goes_on.wait()

    def drain(self) -> None:
        """Have the agent stand at its next boundary."""
        self.draining = True
        self._goes_on.clear()

    def undrain(self) -> None:
        """Let it go on from there: it was to be ended, and was not."""
        self.draining = False
        self._goes_on.set()

    @property
    def _away(self) -> bool:
        return self._lease is not None and self._lease.away > 0

    async def _lease_holds(self) -> None:
        if self._lease is not None and self._away:
            log.warning("%s stands still: it is %s", self._lease.agent, self._lease.note)
            while self._away:
                await self._lease.regained()

    @contextmanager
    def _still(self) -> Generator[None, None, None]:
        self.standing += 1
        self._stands()
        try:
            yield
        finally:
            self.standing -= 1
