"""Calls that wait for a person, over Ray: the end that is in every agent's actor, and the way to all of them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import ray

from ..protocols.approval import Approval, agent_of
from ..protocols.codec import decode, encode
from ..protocols.ids import AgentId
from ..runtime.errors import ChannelClosed, PeerUnreachable
from .channel import CONTROL, RayPost, Receiver

__all__ = ("ApprovalHolder", "RayApprovals")

PATIENCE = 5.0
"""Seconds an agent has to say which calls it holds."""


class ApprovalHolder(Receiver):
    """The agent's end, which answers while a tool blocks the work loop."""

    @ray.method(concurrency_group=CONTROL)
    async def pending(self) -> bytes:
        """The calls that wait for a person, `Approval`s; an agent that is being started has none."""
        return encode(() if self._host is None else self._host.approvals.pending())

    @ray.method(concurrency_group=CONTROL)
    async def answer(self, approval: str, allowed: bool, reason: str) -> None:  # noqa: FBT001  Ray's calls are positional
        """Answer one."""
        self._living.approvals.answer(approval, allowed=allowed, reason=reason)


class RayApprovals:
    """The way to the calls of all agents of a fleet. It belongs to one event loop."""

    def __init__(self, post: RayPost, living: Callable[[], Awaitable[tuple[AgentId, ...]]]) -> None:
        """Reach agents as mail does; `living` gives those that may hold something."""
        self._post = post
        self._living = living

    async def pending(self) -> tuple[Approval, ...]:
        """All calls that wait, agent by agent.

        Raises:
            PeerUnreachable: Some agents did not say what they hold; what others hold can still be answered.
        """
        agents = await self._living()
        said = await asyncio.gather(*map(self._pending, agents))
        silent = [agent for agent, held in zip(agents, said, strict=True) if held is None]
        if silent:
            reason = f"it did not say within {PATIENCE:g} seconds which calls wait there for approval"
            raise PeerUnreachable(agent=", ".join(silent), reason=reason)
        return tuple(each for held in said for each in held or ())

    async def _pending(self, agent: AgentId) -> tuple[Approval, ...] | None:
        """What one agent holds; None when it does not say."""
        try:
            await self._post.handle(agent)
        except (ChannelClosed, PeerUnreachable):  # it has no process, which could hold something
            return ()
        try:
            async with asyncio.timeout(PATIENCE):
                held = await self._post.ask(agent, lambda handle: holder(handle).pending.remote())
        except ChannelClosed:  # it has just died, and with it what it held
            return ()
        except (TimeoutError, PeerUnreachable):
            return None
        return decode(held, tuple[Approval, ...])

    async def answer(self, approval: str, *, allowed: bool, reason: str) -> None:
        """Answer one.

        Raises:
            AgentUnknown: There is no agent that it could be about.
            ApprovalUnknown: It does not wait for an answer.
            ChannelClosed: Its agent is dead.
            PeerUnreachable: Its agent does not answer now; it may have got the answer or not.
        """
        await self._post.ask(agent_of(approval), lambda handle: holder(handle).answer.remote(approval, allowed, reason))


def holder(handle: type[Receiver]) -> type[ApprovalHolder]:
    """An agent's handle, as one that holds approvals."""
    return cast("type[ApprovalHolder]", handle)
