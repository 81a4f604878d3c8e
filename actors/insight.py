"""Looking into a live agent over Ray: the end that is in every agent's actor, and the way to it."""

from typing import cast

import ray

from ..protocols.codec import decode, encode
from ..protocols.ids import AgentId
from ..protocols.insight import Heard, Insight, Spoken
from .channel import CONTROL, RayPost, Receiver

__all__ = ("LookedInto", "RaySight")


class LookedInto(Receiver):
    """The agent's end."""

    @ray.method(concurrency_group=CONTROL)
    async def look(self) -> bytes:
        """Its `Insight`, also while a tool blocks the work loop."""
        return encode(await self._living.insight.look())

    @ray.method
    async def listen(self, reply: str, pieces: int, over: bool, wait: float) -> bytes:  # noqa: FBT001  positional
        """What its model says beyond that, a `Spoken`; in the work loop, where it is said."""
        return encode(await self._living.insight.listen(Heard(reply, pieces, over), wait))


class RaySight:
    """The way into one agent. It belongs to one event loop."""

    def __init__(self, post: RayPost, agent: AgentId) -> None:
        """Reach the agent as mail does."""
        self._post = post
        self._agent = agent

    async def look(self) -> Insight:
        """How it is now; see `AgentSight`."""
        said = await self._post.ask(self._agent, lambda handle: cast("type[LookedInto]", handle).look.remote())
        return decode(said, Insight)

    async def listen(self, heard: Heard, wait: float) -> Spoken:
        """What its model says beyond that; see `AgentSight`."""
        said = await self._post.ask(
            self._agent, lambda handle: cast("type[LookedInto]", handle).listen.remote(*heard, wait)
        )
        return decode(said, Spoken)
