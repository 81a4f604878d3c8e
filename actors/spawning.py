"""Bringing agents to life on a cluster: where they go, how many at once, and all of them or none."""

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import count

from ..runtime.host import Seat
from ..runtime.system import Progress, SpawnOrder, with_children
from .description import Pieces, packed, pieces
from .pickling import check_picklable
from .placement import Place, cores
from .room import room
from .steering import Steering

__all__ = ("Spawning", "description_of")


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
        if any(order.agent.spawns is not None for order in orders):
            orders = with_children(orders, await self._rows([]))
        nodes, where = await room(len(orders), self._held)
        newcomers = [order.newcomer for order in orders]
        lives = await self._supervisor.ask(lambda supervisor: supervisor.admit.remote(newcomers, os.getpid()))
        seats = [Seat(order.name, life, order.parent) for order, life in zip(orders, lives, strict=True)]
        try:
            # One more than there are cores: a process that is being forked needs none yet.
            await self._bring_up(seats, orders, where, cores(nodes) + 1, progress)
        except BaseException:
            await self._undo(seats)
            raise

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


def description_of(order: SpawnOrder) -> Pieces:
    """What an agent's process is to be told of it: as it came here, or else made here."""
    return order.carried or pieces(packed(order.agent))
