"""Bringing agents to life on a cluster: where they go, how many at once, and all of them or none."""

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import count
from typing import cast

import ray
from anyio import to_thread

from ..runtime.host import Seat
from ..runtime.system import Progress, SpawnOrder
from .pickling import check_picklable
from .placement import SLOT, Node, Place, cores, places, slots
from .replaced import RETRY_PAUSE
from .steering import Steering

__all__ = ("Spawning",)


class Spawning(Steering, ABC):
    """The part of a system that spawns. Who makes the actors, and what is done when they die, is its subclass's."""

    async def spawn(self, orders: tuple[SpawnOrder, ...], progress: Progress) -> None:
        """Bring agents to life; all of them or none.

        Raises:
            NameTaken: The fleet has such an agent.
            NameInvalid: No agent can be named so.
            AgentUnknown: There is no such parent.
            Unpicklable: An agent cannot go to another process.
            SystemUnavailable: The cluster has too few slots, or an agent did not become ready.
            ToolServerFailed: An MCP server of an agent cannot be used.
            PeerUnreachable: The Supervisor does not answer now.
            JournalUnavailable: The journal cannot be reached.
        """
        for agent in {id(order.agent): order.agent for order in orders}.values():
            check_picklable(agent, "agent")
        nodes, where = await self._places(len(orders))
        newcomers = [order.newcomer for order in orders]
        lives = await self._supervisor.ask(lambda supervisor: supervisor.admit.remote(newcomers, os.getpid()))
        seats = [Seat(order.name, life, order.parent) for order, life in zip(orders, lives, strict=True)]
        try:
            # One more than there are cores: a process that is being forked needs none yet.
            await self._bring_up(seats, orders, where, cores(nodes) + 1, progress)
        except BaseException:
            await self._undo(seats)
            raise

    async def _places(self, count: int) -> tuple[list[Node], Iterator[Place]]:
        """The cluster's nodes, and where on them further agents go.

        Raises:
            SystemUnavailable: The cluster has too few slots.
        """
        nodes = cast("list[Node]", await to_thread.run_sync(ray.nodes))
        return nodes, places(nodes, count, await self._slots_taken(nodes, count))

    async def _slots_taken(self, nodes: list[Node], wanted: int) -> int:
        """Slots that are held already, by this fleet's agents, which Ray may not have counted yet, or by others too."""
        total, own = slots(nodes), self._held
        if not total:
            return 0
        for pause in (RETRY_PAUSE, 0):  # what was given back a moment ago may not be counted yet
            free = cast("dict[str, float]", await to_thread.run_sync(ray.available_resources)).get(SLOT, 0)
            if not pause or free >= wanted or total - own < wanted:
                break
            await asyncio.sleep(pause)
        return max(own, int(total - free))

    async def _bring_up(
        self,
        seats: list[Seat],
        orders: tuple[SpawnOrder, ...],
        where: Iterator[Place],
        at_once: int,
        progress: Progress,
    ) -> None:
        """Start actors, only so many at once: each takes a core for a second, and Ray itself would start all."""
        turns = asyncio.Semaphore(at_once)
        numbers = count(1)

        async def bring_up(seat: Seat, order: SpawnOrder, place: Place) -> None:
            async with turns:
                await self._bring_to_life(seat, order, place)
            progress(next(numbers), len(orders))

        births = [
            asyncio.create_task(bring_up(seat, order, place))
            for seat, order, place in zip(seats, orders, where, strict=False)
        ]
        try:
            await asyncio.gather(*births)
        finally:
            for birth in births:
                birth.cancel()
            await asyncio.gather(*births, return_exceptions=True)

    @property
    @abstractmethod
    def _held(self) -> int:
        """Slots that agents of this fleet hold, as far as is known here without asking Ray, which may not know yet."""

    @abstractmethod
    async def _bring_to_life(self, seat: Seat, order: SpawnOrder, place: Place) -> None:
        """Make an agent's actor and have it begin."""

    @abstractmethod
    async def _undo(self, seats: list[Seat]) -> None:
        """End those that were to live together with one that could not."""
