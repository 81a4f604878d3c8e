"""Control of a live agent over Ray: the end that is in every agent's actor, and the way to it."""

from typing import cast

import ray

from ..protocols.ids import AgentId, RunId
from ..runtime.suspension import Stand
from .channel import RayPost, Receiver

__all__ = ("Controlled", "RayControl")


class Controlled(Receiver):
    """The agent's end, in the work loop: where the agent's points are."""

    @ray.method
    async def suspend(self, run: RunId, stand: Stand, timeout: float | None) -> str:  # noqa: ASYNC109
        """Wait until a run stands at a point; gives which."""
        return await self._living.control.suspend(run, stand, timeout)

    @ray.method
    async def resume_point(self, token: str) -> None:
        """Let it go on from there, if it stands for the request with this token."""
        await self._living.control.resume_point(token)


class RayControl:
    """The way to one agent. It belongs to one event loop."""

    def __init__(self, post: RayPost, agent: AgentId) -> None:
        """Reach the agent as mail does."""
        self._post = post
        self._agent = agent

    async def suspend(self, run: RunId, stand: Stand, timeout: float | None) -> str:  # noqa: ASYNC109
        """Wait until the agent stands at a point; see `AgentControl`. It does not learn by itself who is gone."""
        return await self._post.ask(
            self._agent, lambda handle: cast("type[Controlled]", handle).suspend.remote(run, stand, timeout)
        )

    async def resume_point(self, token: str) -> None:
        """Let it go on from there; see `AgentControl`."""
        await self._post.ask(self._agent, lambda handle: cast("type[Controlled]", handle).resume_point.remote(token))
