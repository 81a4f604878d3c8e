"""The agents' actors as the watch reaches them, from the Supervisor's."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

import ray

from ..protocols.checkin import AgentStatus
from ..protocols.codec import decode
from ..protocols.ids import AgentId
from ..runtime.supervision.supervisor import Supervisor
from .agent import AgentActor
from .channel import RayPost

__all__ = ("RayReach",)

T = TypeVar("T")


class RayReach:
    """The port `Reach`. It belongs to one event loop.

    Every method but `stop` raises `AgentUnknown`, `ChannelClosed` (it has died) or `PeerUnreachable`.
    """

    def __init__(self, post: RayPost, supervisor: Supervisor, *, service: bool) -> None:
        """Keep the ways. `service`: Ray starts another process of an actor that is killed, as of one that dies."""
        self._post = post
        self._supervisor = supervisor
        self._service = service

    async def status(self, agent: AgentId) -> AgentStatus:
        """How it is now, from its control group."""
        return decode(await self._ask(agent, lambda actor: actor.status.remote()), AgentStatus)

    async def beat(self, agent: AgentId) -> None:
        """Have its work loop answer, in the default group."""
        await self._ask(agent, lambda actor: actor.beat.remote())

    async def cancel(self, agent: AgentId, reason: str) -> None:
        """End its run."""
        await self._ask(agent, lambda actor: actor.cancel.remote(reason))

    async def kill(self, agent: AgentId, reason: str) -> None:  # noqa: ARG002  the notice has told it
        """Kill its process; whoever watches over it finds it dead."""
        actor = await self._post.handle(agent)
        await asyncio.to_thread(cast("Any", ray.kill), actor, no_restart=not self._service)
        self._post.forget(agent)

    async def stop(self, agent: AgentId, reason: str) -> None:
        """Stop it and those under it. The tombstones hold whether they hear of it now or at their next check-in."""
        named = self._supervisor.stop((agent,), reason)
        told = (self._ask(name, lambda actor: actor.stop.remote(reason)) for name in named)
        await asyncio.gather(*told, return_exceptions=True)

    async def _ask(self, agent: AgentId, call: Callable[[type[AgentActor]], Awaitable[T]]) -> T:
        return await self._post.ask(agent, lambda handle: call(cast("type[AgentActor]", handle)))
