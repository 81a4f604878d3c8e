"""Processes that Ray starts for an actor after the first one died.

Ray calls the constructor with the first one's arguments, and nothing else. What an actor has to do beyond that it does
in its default group, whose event loop its work belongs to, by a call to itself.
"""

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from typing import Any, NoReturn, cast

import ray

from .channel import CONTROL
from .replaced import give_way

__all__ = ("Reborn", "end_for_good", "myself")

log = logging.getLogger(__name__)


class Reborn(ABC):
    """An actor whose processes may be started again; `_born` ends its constructor."""

    _lives_again = False

    def _born(self, *, service: bool) -> None:
        """End the constructor: begin again, unless this is the actor's first process.

        `service`: it outlives the process that made it, and so do the other actors of its fleet.
        """
        self._since = time.monotonic() if service else None
        if ray.get_runtime_context().was_current_actor_reconstructed:
            myself().again.remote()

    # Without retries the call would fail at once: Ray takes the actor for unavailable until the constructor is through.
    # With them it was seen to be carried out a second time, long after the first.
    @ray.method(max_task_retries=-1)
    async def again(self) -> None:
        """Begin in a further process. Nothing happens when it is asked for again.

        What cannot begin gives way to yet another process, which may do better: nobody else hears of this call.
        """
        if self._lives_again:
            return
        self._lives_again = True
        try:
            await self._again()
        except Exception as error:
            log.exception("a process that follows one that died cannot begin")
            give_way(f"{type(error).__name__}: {error}")

    @ray.method(concurrency_group=CONTROL)
    async def age(self) -> float:
        """For how many seconds this process of a service's actor has lived; 0: it is of no service."""
        return 0.0 if self._since is None else time.monotonic() - self._since

    @abstractmethod
    async def _again(self) -> None:
        """Begin in a further process."""


async def end_for_good() -> NoReturn:
    """End the actor that runs this: no further process follows."""
    await asyncio.to_thread(cast("Any", ray.kill), myself())
    await asyncio.Event().wait()  # until that has come through
    raise AssertionError


def myself() -> Any:  # noqa: ANN401  Ray's, untyped
    """The handle of the actor that runs this."""
    return cast("Any", ray.get_runtime_context()).current_actor
