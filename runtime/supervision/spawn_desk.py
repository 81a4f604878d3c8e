"""Where agents ask for children: let in by the Supervisor, then brought to life by whoever can, or let go again."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from ...protocols.errors import FleetError
from ...protocols.ids import AgentId, Incarnation
from ...protocols.spawning import SpawnAnswer, SpawnCause, Spawned, SpawnRefusal, SpawnRequest
from . import wording
from .supervisor import Supervisor

__all__ = ("Bear", "Close", "NotBorn", "SpawnDesk", "in_words")

log = logging.getLogger(__name__)

Bear: TypeAlias = Callable[[Incarnation], Awaitable[None]]
"""Brings this life of a child to life, or sees that it lives; leaves nothing behind where it cannot."""

Close: TypeAlias = Callable[[tuple[AgentId, ...]], Awaitable[None]]
"""Closes mailboxes of the dead."""


class NotBorn(Exception):
    """A child could not be brought to life in another process; the text says why."""


def in_words(error: Exception) -> str:
    """Why a child could not be brought to life, without a full stop."""
    said = str(error) if isinstance(error, FleetError | NotBorn) else f"{type(error).__name__}: {error}"
    return said.rstrip(".")


class SpawnDesk:
    """Takes the requests of one fleet's agents. It belongs to one event loop."""

    def __init__(self, supervisor: Supervisor, written: Callable[[], Awaitable[None]], close: Close) -> None:
        """Nobody is being born.

        Args:
            supervisor: Who lets children in.
            written: Waits until what the Supervisor was asked is written.
            close: Closes the mailboxes of those of such names that are dead for good, before they are let in again.
        """
        self._supervisor = supervisor
        self._written = written
        self._close = close
        self._births: dict[tuple[AgentId, Incarnation], asyncio.Task[SpawnAnswer]] = {}

    async def ask(self, request: SpawnRequest, bear: Bear) -> SpawnAnswer:
        """Let a child in and have it come to life; gives why not, and then nothing is left of it.

        Whoever asks may be cancelled: the birth goes on. Who asks again meanwhile, by the same call, waits for the same
        one.

        Raises:
            FleetError: What was asked cannot be written.
        """
        await self._close((request.name,))
        answer = self._supervisor.spawn(request, os.getpid())
        if isinstance(answer, SpawnRefusal) or answer.born:
            await self._written()
            return answer
        life = answer.agent, answer.incarnation
        if life not in self._births:
            self._births[life] = birth = asyncio.create_task(self._born(answer, bear))
            birth.add_done_callback(lambda _: self._births.pop(life, None))
        return await asyncio.shield(self._births[life])

    async def aclose(self) -> None:
        """End the births that are under way."""
        births = tuple(self._births.values())
        for birth in births:
            birth.cancel()
        await asyncio.gather(*births, return_exceptions=True)

    async def _born(self, child: Spawned, bear: Bear) -> SpawnAnswer:
        """The child once it lives, or why it does not."""
        try:
            await self._written()
            await bear(child.incarnation)
        except Exception as error:  # noqa: BLE001  what an agent's parts raise as they are made is a failed spawn
            said = in_words(error)
            log.warning("%s could not be brought to life: %s", child.agent, said)
            self._supervisor.died(child.agent, child.incarnation, wording.UNSPAWNED)
            await self._written()
            return SpawnRefusal(SpawnCause.FAILED, f"It could not be brought to life: {said}.")
        return child
