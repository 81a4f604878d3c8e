"""Actors that their owner makes anew, under the same name, when their process dies: the owner's end."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from anyio import to_thread
from ray.exceptions import RayError

from ..protocols.errors import FleetError
from ..runtime.errors import PeerUnreachable, SystemUnavailable
from ..runtime.journal_errors import JournalUnavailable
from .lifecycle import Lasting, death_of, end, kill, ready
from .replaced import RETRY_PAUSE, Replaced

__all__ = ("Kept",)

log = logging.getLogger(__name__)

A = TypeVar("A", bound=Lasting)


class Kept(Generic[A]):
    """One actor of a fleet, from `open` to `close`. It belongs to one event loop.

    There is no limit to how often it is started again: without it no agent of the fleet can go on.

    Attributes:
        way: The way to it; there once it is open.
    """

    way: Replaced[A]

    def __init__(
        self, name: str, fleet: str, create: Callable[[bool], A], begin: Callable[[A, bool], Awaitable[None]]
    ) -> None:
        """Nothing is made yet.

        Args:
            name: The actor's.
            fleet: Its fleet's.
            create: Makes a process of it, blocking. It is told, as `begin` is, whether that is the first one.
            begin: Has a process begin.
        """
        self._name = name
        self._fleet = fleet
        self._create = create
        self._begin = begin
        self._newest: A | None = None
        self._keeping: asyncio.Task[None] | None = None

    async def open(self, *, again: bool) -> None:
        """Start it; `again`: and anew whenever its process dies.

        Raises:
            SystemUnavailable: Its process did not come, or its name is taken.
            FleetError: What it could not begin with.
        """
        try:
            actor = await to_thread.run_sync(self._make, True)  # noqa: FBT003
            await ready(self._begin(actor, True), self._name)  # noqa: FBT003
        except BaseException:
            await self._end()
            raise
        self.way = Replaced(actor, self._name, self._fleet, again=again)
        if again:
            self._keeping = asyncio.create_task(self._keep())

    async def close(self) -> None:
        """End it."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        await self._end()

    async def _end(self) -> None:
        if self._newest is not None:
            await end(self._newest)

    def _make(self, first: bool) -> A:  # noqa: FBT001  a thread calls it
        """Make a process. Its handle is kept here in the thread, so that `close` finds it if nobody waits any more."""
        self._newest = actor = self._create(first)
        return actor

    async def _keep(self) -> None:
        """Start another process whenever one dies, until it is closed or cannot go on."""
        while self.way.again and (reason := await death_of(self.way.handle, self._name)) is not None:
            log.warning("%s is started again: %s", self._name, reason)
            await self._replace()
        if self.way.again:  # `close` would have cancelled this
            log.error("%s was ended by another process, and its fleet does nothing more", self._name)
            self.way.again = False

    async def _replace(self) -> None:
        while True:
            try:
                actor = await to_thread.run_sync(self._make, False)  # noqa: FBT003
                await ready(self._begin(actor, False), self._name)  # noqa: FBT003
            except (SystemUnavailable, PeerUnreachable, JournalUnavailable, RayError) as error:
                log.warning("%s could not be started again yet: %s", self._name, error)
                await self._give_up_process()
                await asyncio.sleep(RETRY_PAUSE)
            except FleetError:
                log.exception("%s cannot be started again, and its fleet does nothing more", self._name)
                self.way.again = False
                await self._give_up_process()
                return
            else:
                self.way.handle = actor
                return

    async def _give_up_process(self) -> None:
        if self._newest is not None:
            await kill(self._newest)
