"""Agents ask each other, wait for each other and for tokens, stop and die: no run hangs, and the fleet never stands."""

import asyncio
import json
from collections.abc import Callable
from random import Random

import pytest

from amrita_fleet import Agent
from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.protocols.ids import AgentId
from amrita_fleet.protocols.limits import limit_of
from amrita_fleet.protocols.messages import Json, ToolCall
from amrita_fleet.protocols.outcome import Outcome
from amrita_fleet.runtime.errors import ChannelClosed
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.local import LocalSystem
from amrita_fleet.runtime.supervision.wait_watch import LOOK_PAUSE
from amrita_fleet.runtime.system import SpawnOrder

from .doomed import WORLD, Act, Asked, World, preset

NAMES = tuple(AgentId(name) for name in ("ana", "bob", "cyd", "dan", "eve", "fay"))
TASKS = 2
LATENCY = 2.0

STILL = 4 * LOOK_PAUSE
"""Seconds without any event after which a fleet stands still: who looks after waits ends them after two looks."""

LONG = 3_000.0
"""Seconds that nobody would want to wait; as many as a wait may have."""


def call(name: str, **arguments: Json) -> ToolCall:
    return ToolCall("call_0", name, json.dumps(arguments))


def chatter(random: Random) -> Callable[[Asked], Act]:
    """An agent that does anything: most of it has it wait for others."""

    def part(asked: Asked) -> Act:
        others = [name for name in NAMES if name != asked.agent]
        peer, seconds = random.choice(others), random.choice((5.0, 60.0, LONG, LONG))
        senders: list[Json] = [*random.sample(others, random.randint(0, 3))]
        match random.randrange(10):
            case 0 | 1 | 2:
                return Act("I ask.", (call("ask_peer", to=peer, question="What of it?", seconds=seconds),))
            case 3 | 4:
                return Act("I wait.", (call("wait_for_messages", seconds=seconds, from_agents=senders),))
            case 5 | 6:
                return Act("I tell.", (call("send_message", to=peer, body="That of it."),))
            case _:
                return Act("That is all.")

    return part


class Mortal(LocalSystem):
    """A local system whose agents can be killed; none begins anew."""

    async def bury(self, agent: AgentId) -> None:
        if (host := self._hosts.pop(agent, None)) is not None:
            await host.close()
            self._supervisor.died(agent, self._supervisor.find(agent).incarnation, "it was killed")


class Life:
    """Some time of a fleet.

    Attributes:
        outcomes: Of the runs that were asked for; None: the agent took it no more.
        longest: Seconds in which nothing happened although a run was under way.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311  no key is made of it
        self.world = World(chatter(self.random), LATENCY)
        self.journal = MemoryJournal() if self.random.random() < 0.3 else None
        self.limit = limit_of(self.random.choice((None, 6_000, 9_000, 15_000, 30_000)))
        self.outcomes: list[Outcome | None] = []
        self.longest = 0.0

    def order(self, name: AgentId) -> SpawnOrder:
        own = self.random.choice((None, None, 3_000, 6_000))
        return SpawnOrder(
            name, Agent(preset=preset(name), memory=self.random.choice(("agent", "run"))), limit=limit_of(own)
        )

    async def live(self) -> None:
        WORLD.set(self.world)
        self.system = Mortal("f", self.limit, self.world.clock, self.journal)
        await self.system.open()
        await self.system.spawn(tuple(map(self.order, NAMES)), lambda _ready, _all: None)
        work = [asyncio.create_task(self.work(name)) for name in NAMES]
        trouble = asyncio.create_task(self.trouble())
        await self.watch(work)
        trouble.cancel()
        closing = asyncio.create_task(self.system.close())
        while not closing.done():
            await self.world.clock.advance(1.0)

    async def work(self, name: AgentId) -> None:
        for _ in range(TASKS):
            try:
                self.outcomes.append(await self.system.outcome(name, await self.system.start(name, "Go on.", None)))
            except ChannelClosed:
                self.outcomes.append(None)

    async def trouble(self) -> None:
        """Now and then somebody is stopped or dies."""
        for _ in range(self.random.randint(0, 3)):
            await self.world.clock.sleep(self.random.uniform(0.0, 40.0))
            name = self.random.choice(NAMES)
            if self.random.random() < 0.5:
                await self.system.bury(name)
            else:
                await self.system.stop((name,), "enough")

    async def watch(self, work: list[asyncio.Task[None]]) -> None:
        """Let time pass until all is done, and see that something happens all the time."""
        seen, since = (0, 0), 0.0
        while not all(task.done() for task in work):
            await self.world.clock.advance(1.0)
            now, happened = self.world.clock.monotonic(), await self.happened()
            if happened != seen:
                seen, since = happened, now
            self.longest = max(self.longest, now - since)
            assert now - since <= STILL, [shown(row) for row in await self.system.statuses()]
        await asyncio.gather(*work)

    async def happened(self) -> tuple[int, int]:
        """Changes whenever a model has answered, or anybody has told anything."""
        newest = await self.system.notices(-1, 0)
        return sum(self.world.served.values()), newest[-1].number


def shown(row: AgentStatus) -> str:
    return f"{row.agent}: {row.phase} {row.note}"


def check(seed: int) -> Life:
    life = Life(seed)
    asyncio.run(life.live())
    said = [str(outcome) for outcome in life.outcomes if outcome is not None]
    print(f"seed {seed}: {said}, {life.world.clock.monotonic():.0f} s, at most {life.longest:.0f} s of them still")
    assert len(life.outcomes) == TASKS * len(NAMES)
    assert life.world.flaws == []
    return life


@pytest.mark.parametrize("seed", range(3))
def test_who_waits_for_others_or_for_tokens_goes_on_or_is_told(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("tens", range(20))
def test_in_two_hundred_fleets_no_run_hangs(tens: int) -> None:
    lives = [check(seed) for seed in range(100 + 10 * tens, 110 + 10 * tens)]
    ends = {str(outcome) for life in lives for outcome in life.outcomes if outcome is not None}
    assert "answered" in ends
    assert max(life.longest for life in lives) > LOOK_PAUSE, "else nobody has had to be told"
