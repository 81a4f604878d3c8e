"""Waits for mail over Ray: the end that is in every agent's actor, and the Supervisor's way to all of them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

import ray

from ..protocols.codec import decode, encode
from ..protocols.errors import FleetError
from ..protocols.ids import AgentId, Incarnation
from ..protocols.waits import Standing, WaitRefusal
from .channel import CONTROL, RayPost, Receiver

__all__ = ("RayAgents", "WaitHolder")

log = logging.getLogger(__name__)

PATIENCE = 1.0
"""Seconds an agent has to say how it stands."""

T = TypeVar("T")


class WaitHolder(Receiver):
    """The agent's end, which answers while a tool blocks the work loop."""

    @ray.method(concurrency_group=CONTROL)
    async def standing(self) -> bytes:
        """How it stands now: a `Standing`."""
        return encode(self._living.waits.standing())

    @ray.method(concurrency_group=CONTROL)
    async def end_wait(self, incarnation: Incarnation, op: int, refusal: bytes) -> None:
        """End a wait of this life with a `WaitRefusal`, if it is not over."""
        self._living.waits.end(incarnation, op, decode(refusal, WaitRefusal))


class RayAgents:
    """The way to all agents of a fleet, for one who asks how they stand. It belongs to one event loop."""

    def __init__(self, post: RayPost) -> None:
        """Reach agents as mail does."""
        self._post = post

    async def standing(self, agent: AgentId) -> Standing | None:
        """How an agent stands now; None when it does not say in a second."""
        said = await self._asked(agent, lambda handle: handle.standing.remote())
        return None if said is None else decode(said, Standing)

    async def end_wait(self, agent: AgentId, incarnation: Incarnation, op: int, refusal: WaitRefusal) -> None:
        """End one wait of an agent's life, if it can be told and the wait is not over."""
        await self._asked(agent, lambda handle: handle.end_wait.remote(incarnation, op, encode(refusal)))

    async def _asked(self, agent: AgentId, call: Callable[[type[WaitHolder]], Awaitable[T]]) -> T | None:
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._post.ask(agent, lambda handle: call(cast("type[WaitHolder]", handle)))
        except (TimeoutError, FleetError) as error:
            log.info("%s could not be asked about its wait: %s", agent, str(error) or "it takes too long")
            return None
