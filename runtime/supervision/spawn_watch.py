"""Looks after spawns: agents that were admitted, and that nobody brings to life because whoever began to is gone.

A spawn of many agents may take long. But they come to life one after the other, and each takes only so long, or the
whole spawn is undone. So one in which nothing happens for longer than that has nobody who goes on with it.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol, TypeAlias

from ...protocols.ids import AgentId
from ..ports import Clock
from ..standing_work import StandingWork
from .admissions import Unheard
from .member import ABANDONED
from .supervisor import Supervisor

__all__ = ("Births", "SpawnWatch")

log = logging.getLogger(__name__)

LOOKS = 10
"""How often it is looked while the patience lasts."""

Spawn: TypeAlias = tuple[int, float]
"""What a spawn is known by: the process that began it, and when (Unix seconds)."""


class Births(Protocol):
    """Knows the agents' processes."""

    async def ended(self, agent: AgentId) -> bool:
        """Whether an agent that nobody goes on with has no process; one that was begun, and waits for that, is ended.

        False: it lives, or is coming to life.
        """
        ...


class Standstill(NamedTuple):
    """A spawn at one moment: those of its agents that were not heard, and since when it is so (monotonic seconds)."""

    unheard: frozenset[Unheard]
    since: float


class SpawnWatch:
    """Buries the agents of spawns that nobody goes on with. It belongs to one event loop."""

    def __init__(self, supervisor: Supervisor, births: Births, clock: Clock, patience: float) -> None:
        """Begin, in the running loop.

        Args:
            supervisor: Who admits.
            births: Who knows processes.
            clock: Time.
            patience: Seconds without news of a spawn, more than there can be while somebody goes on with it. A
                Supervisor that follows one that died begins to count anew.
        """
        self._supervisor = supervisor
        self._births = births
        self._clock = clock
        self._patience = patience
        self._watching = StandingWork(self._watch(), "nobody looks after spawns any more")

    async def aclose(self) -> None:
        """Look no more."""
        await self._watching.aclose()

    async def _watch(self) -> None:
        spawns: Mapping[Spawn, Standstill] = {}
        while True:
            now = self._clock.monotonic()
            spawns = standing(spawns, self._supervisor.unheard, now)
            for each in spawns.values():
                if now - each.since >= self._patience:
                    await asyncio.gather(*map(self._give_up, each.unheard))
            await self._clock.sleep(self._patience / LOOKS)

    async def _give_up(self, unheard: Unheard) -> None:
        """Bury one that has no process, whatever was heard of it while that was found out."""
        if await self._births.ended(unheard.agent):
            log.warning("%s was admitted and does not live: %s", unheard.agent, ABANDONED)
            self._supervisor.died(unheard.agent, unheard.incarnation, ABANDONED)


def standing(before: Mapping[Spawn, Standstill], unheard: Iterable[Unheard], now: float) -> dict[Spawn, Standstill]:
    """How all spawns stand: one of which something was heard since the last look stands still since now."""
    spawns: defaultdict[Spawn, set[Unheard]] = defaultdict(set)
    for each in unheard:
        spawns[each.pid, each.since].add(each)
    found: dict[Spawn, Standstill] = {}
    for spawn, members in spawns.items():
        stands = Standstill(frozenset(members), now)
        was = before.get(spawn, stands)
        found[spawn] = was if was.unheard == stands.unheard else stands
    return found
