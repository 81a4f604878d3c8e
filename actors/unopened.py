"""Actors of agents that may never have come to be, or that nobody had begin: asked by name, and ended."""

import asyncio
import logging
from collections.abc import Callable
from typing import cast

import ray
from ray.exceptions import RayError

from ..protocols.ids import AgentId
from .channel import CONTROL, Receiver, actor_name, namespace
from .killing import kill
from .reborn import Reborn

__all__ = ("RayBirths", "Unopened")

log = logging.getLogger(__name__)

PATIENCE = 10.0
"""Seconds an actor has to say whether it waits to be opened; one with a process answers in milliseconds."""


class Unopened(Receiver, Reborn):
    """The agent's end."""

    _opening: asyncio.Lock

    @ray.method(concurrency_group=CONTROL)
    async def unopened(self) -> bool:
        """Whether it waits for whoever made it to have it begin."""
        return self._host is None and not self._lives_again and not self._opening.locked()


class RayBirths:
    """The agents' actors of one fleet that is a service."""

    def __init__(self, fleet: str) -> None:
        """Know whose they are."""
        self._namespace = namespace(fleet)

    async def ended(self, agent: AgentId) -> bool:
        """Whether an agent has no actor, or had one that waited for nobody any more; see `Births`."""
        look_up = cast("Callable[[str, str], type[Unopened]]", ray.get_actor)
        try:
            actor = await asyncio.to_thread(look_up, actor_name(agent), self._namespace)
        except ValueError:  # Ray knows no actor of that name
            return True
        try:
            async with asyncio.timeout(PATIENCE):
                if not await actor.unopened.remote():
                    return False
        except (RayError, TimeoutError) as error:
            log.info("%s has no process that answers: %s", agent, error)
        await kill(actor)
        return True
