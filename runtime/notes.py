"""The runtime's own mail: what the Supervisor tells an agent about another one."""

import asyncio
import logging

from ..protocols.errors import FleetError
from ..protocols.ids import SUPERVISOR, AgentId, Incarnation
from ..protocols.mail import Kind
from .ports import Clock, PostOffice
from .sender import Sender

__all__ = ("FIRST", "NotePoster")

log = logging.getLogger(__name__)

FIRST = Incarnation(1)
"""The epoch of a Supervisor that follows no other."""


class NotePoster:
    """Sends notes in the loop it was made in; may be called from any thread, returns at once."""

    def __init__(self, post: PostOffice, clock: Clock, epoch: Incarnation = FIRST) -> None:
        """Take the running loop. `epoch` numbers the Supervisors of a fleet: mailboxes know copies by it."""
        self._loop = asyncio.get_running_loop()
        self._sender = Sender(SUPERVISOR, epoch, post, clock)
        self._tasks: set[asyncio.Task[None]] = set()

    def __call__(self, agent: AgentId, text: str) -> None:
        """Send one note."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._begin, agent, text)

    def _begin(self, agent: AgentId, text: str) -> None:
        task = self._loop.create_task(self._send(agent, text))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def _send(self, agent: AgentId, text: str) -> None:
        try:
            receipt = await self._sender.send(agent, text, kind=Kind.NOTE)
        except FleetError as error:
            log.info("a note to %s was not delivered: %s", agent, error)
        else:
            if receipt.refusal is not None:
                log.info("a note to %s was refused: %s", agent, receipt.refusal)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a note was lost", exc_info=error)

    async def aclose(self) -> None:
        """Give up on notes that are still on their way."""
        for task in tuple(self._tasks):
            task.cancel()
        await self._sender.aclose()
