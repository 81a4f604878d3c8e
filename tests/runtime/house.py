"""A local fleet on a virtual clock, as the watch looks after it; and agents that do not get on."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from typing import TypeVar

from amrita_fleet import Agent, Reply, Tool, tool
from amrita_fleet.protocols.ids import AgentId
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.protocols.providers.base import Draft, Watcher
from amrita_fleet.protocols.providers.script import Move
from amrita_fleet.protocols.providers.scripted import ScriptedProvider, scripted
from amrita_fleet.protocols.restarts import Restart, RestartPolicy
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.config import AmritaConfig, FunctionConfig
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.local import LocalSystem
from amrita_fleet.runtime.supervision.deadlines import Deadlines
from amrita_fleet.runtime.supervision.policy import WatchPolicy
from amrita_fleet.runtime.supervision.restart import USUAL
from amrita_fleet.runtime.system import SpawnOrder

__all__ = ("ANA", "BOB", "LEAD", "LIMITS", "TALKATIVE", "House", "MuteProvider", "hang", "opened")

T = TypeVar("T")

LEAD, ANA, BOB = (AgentId(name) for name in ("lead", "ana", "bob"))
LIMITS = Deadlines()
TALKATIVE = AmritaConfig(function_config=FunctionConfig(agent_tool_call_limit=1000))


@tool
async def hang() -> str:
    """Never return."""
    await asyncio.Event().wait()
    return "never"


class MuteProvider(ScriptedProvider):
    """Takes a request and says nothing."""

    async def call(self, draft: Draft, output: int, watch: Watcher | None = None) -> Reply:
        await asyncio.Event().wait()
        return await super().call(draft, output, watch)


class House:
    """A local fleet on a virtual clock."""

    def __init__(
        self,
        policy: WatchPolicy | None = None,
        journal: MemoryJournal | None = None,
        restarts: RestartPolicy = USUAL,
    ) -> None:
        self.clock = VirtualClock(1_700_000_000.0)
        self.system = LocalSystem("f", None, self.clock, journal, watch=policy, restarts=restarts)

    async def spawn(
        self,
        name: AgentId,
        *moves: Move,
        parent: AgentId | None = None,
        tools: tuple[Tool, ...] = (),
        restart: Restart = "permanent",
    ) -> None:
        agent = Agent(preset=scripted(*moves), tools=tools, config=TALKATIVE, restart=restart)
        await self.system.spawn((SpawnOrder(name, agent, parent),), lambda _ready, _ordered: None)

    async def notices(self, *kinds: str) -> list[Notice]:
        found = await self.system.notices(0, 0)
        return [notice for notice in found if f"{notice.type}.{notice.extra_type}" in kinds]

    async def until(self, asked: Awaitable[T]) -> T:
        """What comes of it, however much time it takes."""
        asking = asyncio.ensure_future(asked)
        while not asking.done():
            await self.clock.advance(1)
        return await asking

    async def watched(self) -> list[str]:
        """What the watch did, in order."""
        return [each.extra_type for each in await self.system.notices(0, 0) if each.type is NoticeType.WATCH]


@asynccontextmanager
async def opened(
    policy: WatchPolicy | None = None, journal: MemoryJournal | None = None, restarts: RestartPolicy = USUAL
) -> AsyncGenerator[House]:
    house = House(policy, journal, restarts)
    await house.system.open()
    try:
        yield house
    finally:
        await house.until(house.system.close())
