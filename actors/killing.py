"""How an actor is killed: until Ray says that it is dead, its name is taken."""

import asyncio
from contextlib import suppress
from functools import partial
from typing import Any, cast

import ray
from anyio import to_thread
from ray.exceptions import ActorDiedError, ActorUnavailableError

from ..protocols.ids import AgentId
from .channel import RayPost

__all__ = ("end_process", "kill")

DEATH_PATIENCE = 10.0
"""Seconds to wait until Ray says that what was killed is dead."""

DEATH_PAUSE = 0.02
"""Seconds between two looks whether it is."""


async def kill(actor: Any) -> None:  # noqa: ANN401  any of ours: all have a `ping`
    """Kill an actor, and wait until it is dead."""
    await to_thread.run_sync(cast("Any", ray.kill), actor)
    with suppress(TimeoutError):
        async with asyncio.timeout(DEATH_PATIENCE):
            await dead(actor)


async def end_process(post: RayPost, agent: AgentId, *, service: bool) -> None:
    """Kill an agent's process; whoever watches over it finds it dead.

    Args:
        post: The way to it.
        agent: Whose.
        service: Ray starts another process of an actor that is killed, as of one that dies.

    Raises:
        AgentUnknown: There is no such agent.
        ChannelClosed: It has died.
        PeerUnreachable: It has no process now.
    """
    actor = await post.handle(agent)
    await to_thread.run_sync(partial(cast("Any", ray.kill), actor, no_restart=not service))
    post.forget(agent)


async def dead(actor: Any) -> None:  # noqa: ANN401
    """Wait until Ray says that an actor is dead."""
    while True:
        try:
            await actor.ping.remote()
        except ActorDiedError:
            return
        except ActorUnavailableError:  # it is being found out
            pass
        await asyncio.sleep(DEATH_PAUSE)
