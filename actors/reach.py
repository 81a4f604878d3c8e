"""The watch over Ray: the end that is in every agent's actor, and the way to it from the Supervisor's."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias, TypeVar, cast

import ray

from ..protocols.checkin import AgentStatus
from ..protocols.codec import decode, encode
from ..protocols.errors import FleetError
from ..protocols.ids import AgentId
from .channel import CONTROL, RayPost, Receiver
from .killing import end_process

__all__ = ("RayReach", "Watched")

log = logging.getLogger(__name__)

T = TypeVar("T")

Stop: TypeAlias = Callable[[tuple[AgentId, ...], str], tuple[AgentId, ...]]
"""Puts tombstones on agents, for a reason; gives those that must be told."""


class Watched(Receiver):
    """The agent's end."""

    _stopped = ""
    """Why it was stopped, perhaps before it lived."""

    @ray.method(concurrency_group=CONTROL)
    async def status(self) -> bytes:
        """How it is now: an `AgentStatus`."""
        return encode(self._living.status())

    @ray.method
    async def beat(self) -> None:
        """Answer: the work loop is not blocked."""

    @ray.method(concurrency_group=CONTROL)
    async def cancel(self, reason: str) -> None:
        """End the run, and nothing else."""
        self._living.stop(reason, for_good=False)

    @ray.method(concurrency_group=CONTROL)
    async def stop(self, reason: str) -> None:
        """Stop for good; one that does not live yet will be stopped when it does, and cannot say so now."""
        self._stopped = reason
        self._living.stop(reason)


class RayReach:
    """The port `Reach`. It belongs to one event loop.

    Every method but `stop` raises `AgentUnknown`, `ChannelClosed` (it has died) or `PeerUnreachable`.
    """

    def __init__(self, post: RayPost, stop: Stop, *, service: bool) -> None:
        """Keep the ways. `service`: Ray starts another process of an actor that is killed, as of one that dies."""
        self._post = post
        self._stop = stop
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
        await end_process(self._post, agent, service=self._service)

    async def stop(self, agent: AgentId, reason: str) -> None:
        """Stop it and those under it. The tombstones hold whether they hear of it now or at their next check-in."""
        await asyncio.gather(*(self._tell_stop(name, reason) for name in self._stop((agent,), reason)))

    async def _tell_stop(self, agent: AgentId, reason: str) -> None:
        try:
            await self._ask(agent, lambda actor: actor.stop.remote(reason))
        except FleetError as error:
            log.debug("%s will be told at its next check-in that it is stopped: %s", agent, error)

    async def tell_stopped(self, agent: AgentId, reason: str) -> None:
        """Tell it that it is stopped."""
        await self._ask(agent, lambda actor: actor.stop.remote(reason))

    async def _ask(self, agent: AgentId, call: Callable[[type[Watched]], Awaitable[T]]) -> T:
        return await self._post.ask(agent, lambda handle: call(cast("type[Watched]", handle)))
