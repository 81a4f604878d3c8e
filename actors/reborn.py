"""Processes that Ray starts for an actor after the first one died.

Ray calls the constructor with the first one's arguments, and nothing else. What an actor has to do beyond that it does
in its default group, whose event loop its work belongs to, by a call to itself.
"""

import asyncio
from abc import ABC, abstractmethod
from typing import Any, NoReturn, cast

import ray

__all__ = ("Reborn", "end_for_good")


class Reborn(ABC):
    """An actor whose processes may be started again; `_called_again` ends its constructor."""

    _lives_again = False

    def _called_again(self) -> None:
        """Have it begin again; nothing happens in its first process."""
        if ray.get_runtime_context().was_current_actor_reconstructed:
            myself().again.remote()

    # Without retries the call would fail at once: Ray takes the actor for unavailable until the constructor is through.
    # With them it was seen to be carried out a second time, long after the first.
    @ray.method(max_task_retries=-1)
    async def again(self) -> None:
        """Begin in a further process. Nothing happens when it is asked for again."""
        if not self._lives_again:
            self._lives_again = True
            await self._again()

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
