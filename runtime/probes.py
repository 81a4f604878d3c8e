"""Signs of life: agents are asked beside their work how they are, and the loops in which they work to answer at all."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ..protocols.checkin import AgentStatus
from ..protocols.errors import FleetError
from ..protocols.ids import AgentId

__all__ = ("Probes", "Sign")

log = logging.getLogger(__name__)

PATIENCE = 1.0
"""Seconds that answers are waited for; what comes later is seen the next time."""


@dataclass(frozen=True, slots=True)
class Sign:
    """What an agent answered.

    Attributes:
        status: How it is; None: nothing beside its work answered in time.
        loop: The loop in which it works has answered, or cannot be asked: then nothing is known of it.
    """

    status: AgentStatus | None
    loop: bool


class Probes:
    """Asks the agents of one fleet. It belongs to one loop."""

    def __init__(
        self, status: Callable[[AgentId], Awaitable[AgentStatus]], beat: Callable[[AgentId], Awaitable[None]]
    ) -> None:
        """Keep the ways to ask. Each raises a `FleetError` where an agent cannot be reached.

        Args:
            status: Asks beside an agent's work how it is.
            beat: Has the loop answer in which an agent works.
        """
        self._say = status
        self._answer = beat
        self._beats: dict[AgentId, asyncio.Task[None]] = {}

    async def take(self, agents: tuple[AgentId, ...]) -> dict[AgentId, Sign]:
        """Ask agents for a sign of life; gives one for each.

        Of each loop one answer is awaited at a time; one that is late holds up no further look.
        """
        asking = {agent: asyncio.create_task(self._status(agent)) for agent in agents}
        late = {agent: beat for agent, beat in self._beats.items() if not beat.done()}
        fresh = {agent: asyncio.create_task(self._beat(agent)) for agent in agents if agent not in late}
        for agent in late.keys() - asking.keys():  # it is quiet, or gone
            late.pop(agent).cancel()
        self._beats = {**late, **fresh}
        if agents:
            await asyncio.wait({*asking.values(), *fresh.values()}, timeout=PATIENCE)
        said = {agent: task.result() for agent, task in asking.items() if task.done()}
        for unanswered in asking.values():
            unanswered.cancel()
        return {agent: Sign(said.get(agent), self._beats[agent].done()) for agent in agents}

    def close(self) -> None:
        """Wait for no answer any longer."""
        for beat in self._beats.values():
            beat.cancel()

    async def _status(self, agent: AgentId) -> AgentStatus | None:
        try:
            return await self._say(agent)
        except FleetError as error:
            log.debug("%s does not say how it is: %s", agent, error)
            return None

    async def _beat(self, agent: AgentId) -> None:
        """Wait until its loop answers. A process that cannot be reached says nothing of its loop."""
        try:
            await self._answer(agent)
        except FleetError as error:
            log.debug("the loop of %s cannot be asked: %s", agent, error)
