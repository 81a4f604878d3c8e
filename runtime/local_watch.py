"""The watch within one process: what it can do to agents.

A loop that is blocked cannot be seen here, since all agents and the watch have the same one; nor is there a process to
be killed: a killed agent is closed, and with a journal another life follows.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from ..protocols.checkin import AgentStatus
from ..protocols.ids import AgentId
from .local_ways import LocalPost

__all__ = ("LocalReach",)

End: TypeAlias = Callable[[AgentId, str], Awaitable[object]]
"""Ends something of an agent, for a reason."""


class LocalReach:
    """The agents of this process, as the watch reaches them: the port `Reach`."""

    def __init__(self, post: LocalPost, kill: End, stop: End) -> None:
        """Keep the way to the hosts, and what the system does itself."""
        self._post = post
        self._kill = kill
        self._stop = stop

    async def status(self, agent: AgentId) -> AgentStatus:
        """How it is now.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It is being spawned or has died.
        """
        return self._post.host(agent).status()

    async def beat(self, agent: AgentId) -> None:  # noqa: ARG002  it is the same loop for all
        """Have the loop answer."""
        await asyncio.sleep(0)

    async def cancel(self, agent: AgentId, reason: str) -> None:
        """End its run.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It is being spawned or has died.
        """
        self._post.host(agent).stop(reason, for_good=False)

    async def kill(self, agent: AgentId, reason: str) -> None:
        """End its life."""
        await self._kill(agent, reason)

    async def stop(self, agent: AgentId, reason: str) -> None:
        """Stop it and those under it."""
        await self._stop(agent, reason)

    async def tell_stopped(self, agent: AgentId, reason: str) -> None:
        """Tell it that it is stopped.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It is being spawned, and will learn of it then, or has died.
        """
        self._post.host(agent).stop(reason)
