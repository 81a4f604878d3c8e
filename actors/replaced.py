"""Actors that their owner makes anew, under the same name, when their process dies: the way to them."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from typing import Generic, NoReturn, TypeVar, cast

import ray
from ray.exceptions import ActorDiedError

from ..runtime.errors import PeerUnreachable
from .channel import namespace
from .errors import translated

__all__ = ("RETRY_PAUSE", "Replaced", "give_way")

log = logging.getLogger(__name__)

H = TypeVar("H")
T = TypeVar("T")

RETRY_PAUSE = 0.5
"""Seconds between two tries to hear from an actor that does not answer."""

GONE = "its process died, and another one is being started"
"""Why an actor that is replaced does not answer."""


class Replaced(Generic[H]):
    """The way to such an actor. Any loop of any process may use it.

    Attributes:
        handle: Of the newest process that is known here.
        again: Whether another process follows one that died. Else its death is the end, and nothing is looked for.
    """

    def __init__(self, handle: H, name: str, fleet: str, *, again: bool) -> None:
        """Know the actor's first process, and under which name its fleet has the next ones."""
        self.handle = handle
        self.again = again
        self._name = name
        self._fleet = fleet

    async def ask(self, call: Callable[[H], Awaitable[T]]) -> T:
        """Make one call, a second time if the process that was known is dead.

        Raises:
            PeerUnreachable: It does not answer now; nobody knows whether it did what it was asked.
            ChannelClosed: It died, and no other follows.
            FleetError: What the call raised there.
        """
        with translated(self._name):
            try:
                return await call(self.handle)
            except ActorDiedError:
                if not self.again:
                    raise
            try:
                self.handle = await self._look()
                return await call(self.handle)
            except (ActorDiedError, ValueError):  # Ray knows the dead one still, or none
                raise PeerUnreachable(agent=self._name, reason=GONE) from None

    async def _look(self) -> H:
        """The handle that Ray has under the name; a thread asks, for it blocks."""
        look_up = cast("Callable[[str, str], H]", ray.get_actor)
        return await asyncio.to_thread(look_up, self._name, namespace(self._fleet))


def give_way(reason: str) -> NoReturn:
    """End this process at once: another one has taken over what it does."""
    log.warning("this process ends: %s", reason)
    os._exit(1)
