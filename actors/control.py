"""Control of a live agent over Ray: the end that is in every agent's actor, and the way to it."""

import asyncio
import logging
from typing import cast

import ray

from ..protocols.errors import FleetError
from ..protocols.ids import AgentId
from .channel import RayPost, Receiver

__all__ = ("Controlled", "RayControl")

log = logging.getLogger(__name__)


class Controlled(Receiver):
    """The agent's end, in the work loop: where the agent's points are."""

    @ray.method
    async def suspend(self, tags: list[str], timeout: float | None) -> str:  # noqa: ASYNC109
        """Wait until the agent stands at a point with one of the tags; gives which."""
        return await self._living.control.suspend(tuple(tags), timeout)

    @ray.method
    async def resume_point(self) -> None:
        """Let it go on from there."""
        await self._living.control.resume_point()


class RayControl:
    """The way to one agent. It belongs to one event loop."""

    def __init__(self, post: RayPost, agent: AgentId) -> None:
        """Reach the agent as mail does."""
        self._post = post
        self._agent = agent

    async def suspend(self, tags: tuple[str, ...], timeout: float | None) -> str:  # noqa: ASYNC109
        """Wait until the agent stands at a point; see `AgentControl`."""
        try:
            return await self._post.ask(
                self._agent, lambda handle: cast("type[Controlled]", handle).suspend.remote(list(tags), timeout)
            )
        except asyncio.CancelledError:  # who asked is gone, and the agent does not learn of that by itself
            await self._withdraw()
            raise

    async def resume_point(self) -> None:
        """Let it go on from there; see `AgentControl`."""
        await self._post.ask(self._agent, lambda handle: cast("type[Controlled]", handle).resume_point.remote())

    async def _withdraw(self) -> None:
        try:
            await self.resume_point()
        except FleetError as error:
            log.warning("%s may still stand where it was suspended: %s", self._agent, error)
