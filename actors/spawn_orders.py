"""Children that a fleet's owner is to bring to life, because actors end with the process that made them.

The Supervisor's end keeps an order until the owner says what became of it. The owner's end asks for those that it does
not know yet, so that an answer which got lost costs nothing.
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple
from weakref import WeakValueDictionary

from ..protocols.errors import FleetError
from ..runtime.host import Seat
from ..runtime.supervision.spawn_desk import NotBorn, in_words
from .description import Pieces

__all__ = ("OWNER_PATIENCE", "Ordered", "SpawnOrders", "SpawnService")

log = logging.getLogger(__name__)

OWNER_PATIENCE = 180.0
"""Seconds in which the owner says what became of an order: more than a new actor has to become ready."""


class Ordered(NamedTuple):
    """A child that is let in and does not live yet.

    Attributes:
        order: Names the order: of a child that is asked for again, there is another one.
        description: What it is, for the process in which it lives.
    """

    order: str
    seat: Seat
    description: Pieces


class SpawnOrders:
    """The Supervisor's end. It belongs to one event loop."""

    def __init__(self) -> None:
        """Nothing is ordered."""
        self._open: dict[str, tuple[Ordered, asyncio.Future[str]]] = {}
        self._news = asyncio.Event()

    async def carry_out(self, seat: Seat, description: Pieces) -> None:
        """Wait until the owner has brought a child to life, or has seen that it lives.

        Raises:
            NotBorn: It could not, or says nothing in time; if it makes the child later, it is told to end it.
        """
        told: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        order = secrets.token_hex(8)  # no number: another Supervisor, which begins at the first again, may follow
        self._open[order] = Ordered(order, seat, description), told
        self._news.set()
        try:
            async with asyncio.timeout(OWNER_PATIENCE):
                failure = await told
        except TimeoutError:
            failure = f"the process that owns the fleet has not answered in {OWNER_PATIENCE:g} seconds"
        finally:
            self._open.pop(order, None)
        if failure:
            raise NotBorn(failure)

    async def fresh(self, known: Iterable[str]) -> list[Ordered]:
        """Wait for orders beside those that are known, and give them."""
        known = set(known)
        while not (fresh := [ordered for order, (ordered, _) in self._open.items() if order not in known]):
            self._news.clear()
            await self._news.wait()
        return fresh

    def ended(self, order: str, failure: str) -> bool:
        """An order is carried out, or cannot be for the reason `failure`; gives whether anybody waits for it still."""
        if order not in self._open:
            return False
        _, told = self._open.pop(order)  # at once: the owner forgets it now, and would be given it again
        if not told.done():  # else whoever waited is cancelled
            told.set_result(failure)
        return True


class SpawnService:
    """The owner's end, from `start` to `aclose`. It belongs to one event loop."""

    def __init__(
        self,
        fresh: Callable[[list[str]], Awaitable[list[Ordered]]],
        ended: Callable[[Ordered, str], Awaitable[bool]],
        bear: Callable[[Ordered], Awaitable[None]],
        end: Callable[[Seat], Awaitable[None]],
    ) -> None:
        """Nothing is asked before `start`.

        Args:
            fresh: Asks the Supervisor's end for orders beside those that are known; it may ask twice.
            ended: Tells it what became of one, as `SpawnOrders.ended` does; gives whether the child is to live.
            bear: Brings a child to life, or leaves nothing of it behind.
            end: Ends one that is not wanted any more.
        """
        self._fresh = fresh
        self._ended = ended
        self._bear = bear
        self._end = end
        self._births: dict[str, asyncio.Task[None]] = {}
        self._turns = WeakValueDictionary[Seat, asyncio.Lock]()
        self._serving: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Serve from now on."""
        self._serving = asyncio.create_task(self._serve())

    async def aclose(self) -> None:
        """Serve no more, and end the births that are under way."""
        tasks = [*self._births.values()] if self._serving is None else [self._serving, *self._births.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self) -> None:
        while True:
            try:
                orders = await self._fresh([*self._births])
            except FleetError as error:
                log.warning("agents of this fleet can spawn nobody any more: %s", error)
                return
            for ordered in orders:
                self._births[ordered.order] = asyncio.create_task(self._carry_out(ordered))

    async def _carry_out(self, ordered: Ordered) -> None:
        turn = self._turns.setdefault(ordered.seat, asyncio.Lock())
        try:
            async with turn:  # it may be on its way already, ordered through a Supervisor that has died since
                await self._bring_to_life(ordered)
        except FleetError as error:
            log.warning("nobody was told what became of %s: %s", ordered.seat.name, error)
        finally:
            del self._births[ordered.order]

    async def _bring_to_life(self, ordered: Ordered) -> None:
        failure = ""
        try:
            await self._bear(ordered)
        except Exception as error:  # noqa: BLE001  it is told to whoever waits for the child
            failure = in_words(error)
        if not await self._ended(ordered, failure) and not failure:
            log.warning("%s came to life too late, and is ended again", ordered.seat.name)
            await self._end(ordered.seat)
