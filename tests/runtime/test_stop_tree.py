"""A tree of twenty agents is stopped while it is being spawned: whoever is in it, or comes later, does nothing more."""

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amrita_fleet import Agent, ChannelClosed, Fleet
from amrita_fleet.protocols.ids import USER, AgentId
from amrita_fleet.protocols.mail import Refusal
from amrita_fleet.protocols.presets import ModelConfig, ModelPreset
from amrita_fleet.protocols.providers.scripted import say, scripted
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.local import LocalSystem
from amrita_fleet.runtime.ports import Record
from amrita_fleet.runtime.sender import Sender
from amrita_fleet.runtime.simulator.provider import SimulatedProvider
from amrita_fleet.runtime.simulator.scenario import Rule, Scenario, When
from amrita_fleet.runtime.system import SpawnOrder, Stopped

from .bad_line import LINE, BadLine, Odds

ROOT = AgentId("root")
TREE: dict[AgentId, list[AgentId]] = {
    ROOT: [AgentId(f"lead{number}") for number in range(4)],
    **{
        AgentId(f"lead{number}"): [AgentId(f"leaf{number}-{leaf}") for leaf in range(4 - (number == 3))]
        for number in range(4)
    },
}
NAMES = (ROOT, *(child for children in TREE.values() for child in children))
PAUSE = 0.5
"""Seconds between two spawns, so that the whole tree takes some."""

LATENCY = (0.2, 2.0)

TURNS = 80
"""Turns of the loop within which all spawns of one moment are over."""


class Moment(NamedTuple):
    """When the root is stopped: so many seconds after the first spawn, and then so many turns of the loop later."""

    seconds: float
    turns: int


class Slow(MemoryJournal):
    """A journal that lets others run, as any that is elsewhere."""

    async def open(self, stream: str, incarnation: int) -> tuple[Record, ...]:
        for _ in range(3):
            await asyncio.sleep(0)
        return await super().open(stream, incarnation)


class Tree:
    """The tree, its spawning and its end.

    Attributes:
        stopped: What came of the stop, once it has come.
        flying: Tokens that calls in flight held when it began.
        sent: Calls that had begun when it was over.
        living: Those that lived when it began.
    """

    def __init__(self, *, journaled: bool) -> None:
        self.clock = VirtualClock(1_000.0)
        rules = (Rule(when=When(no_tools=True), say="Done."), Rule(say="So much has been said. " * 20))
        self.simulator = SimulatedProvider((Scenario(name="tree", models=NAMES, rules=rules),))
        self.system = LocalSystem("f", None, self.clock, Slow() if journaled else None)
        self.stopped: Stopped | None = None
        self.flying = self.sent = 0
        self.living = set[AgentId]()
        even = Random(1)  # noqa: S311  no key is made of it
        self.line = BadLine(self.clock, even, self.simulator, Odds(0, 0, 0, 0), LATENCY, lambda: None)
        self.tasks = set[asyncio.Task[None]]()

    def order(self, name: AgentId, parent: AgentId | None) -> SpawnOrder:
        preset = ModelPreset(model=name, base_url="lined://there", protocol="lined", config=ModelConfig(max_tokens=64))
        return SpawnOrder(name, Agent(preset=preset, memory="run"), parent)

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self.tasks.add(task)

    async def grow(self, parent: AgentId) -> None:
        """Spawn the children of an agent, each of which has its own; all work from then on."""
        for child in TREE.get(parent, ()):
            await self.clock.sleep(PAUSE)
            await self.system.spawn((self.order(child, parent),), lambda _ready, _all: None)
            self.begin(self.work(child))
            self.begin(self.grow(child))

    async def work(self, name: AgentId) -> None:
        while True:
            try:
                outcome = await self.system.outcome(name, await self.system.start(name, "Go on.", None))
            except ChannelClosed:
                return
            assert self.stopped is None or not outcome.answered, f"{name} has answered after the stop"

    async def stop(self, moment: Moment) -> None:
        await self.clock.sleep(moment.seconds)
        for _ in range(moment.turns):
            await asyncio.sleep(0)
        fleet, *_ = await self.system.accounts()
        self.flying = fleet.reserved.tokens
        self.living = {row.agent for row in await self.system.statuses()}
        self.stopped = await self.system.stop((ROOT,), "enough")
        self.sent = sum(self.line.fates.values())

    async def live(self, moment: Moment) -> None:
        LINE.set(self.line)
        await self.system.open()
        await self.system.spawn((self.order(ROOT, None),), lambda _ready, _all: None)
        self.begin(self.work(ROOT))
        self.begin(self.grow(ROOT))
        self.begin(self.stop(moment))
        while not all(task.done() for task in self.tasks):
            await self.clock.advance(0.1)
            assert self.clock.monotonic() < 60, "somebody still works"
        for task in self.tasks:
            task.result()
        await self.clock.advance(5.0)
        await self.check()
        closing = asyncio.create_task(self.system.close())
        while not closing.done():
            await self.clock.advance(0.1)

    async def check(self) -> None:
        fleet, *_ = await self.system.accounts()
        rows = await self.system.statuses()
        assert {row.agent for row in rows} == set(NAMES)
        assert {(row.phase, row.run, row.note) for row in rows} == {("stopped", None, "enough")}
        assert sum(self.line.fates.values()) == self.sent, "no call has begun since"
        print(f"{fleet.after_stop.tokens} tokens after the stop; {self.flying} were held by calls in flight")
        assert fleet.after_stop.tokens <= self.flying
        assert fleet.reserved.tokens == 0
        assert self.stopped is not None
        assert {*self.stopped.acknowledged, *self.stopped.silent} == self.living
        sender = Sender(USER, await self.system.admit_user(), self.system.post, self.clock)
        for name in NAMES:
            assert (await sender.send(name, "Hello?")).refusal is Refusal.STOPPED, name
        await sender.aclose()


SPAWNING = 4.0
"""Seconds that the whole tree takes."""

MOMENTS = st.builds(Moment, st.floats(0.0, SPAWNING), st.integers(0, TURNS))


@given(moment=MOMENTS, journaled=st.booleans())
@example(moment=Moment(2.0, 59), journaled=True)  # one has looked for a tombstone, and is not there yet to be told
@example(moment=Moment(SPAWNING + 1.0, 0), journaled=False)  # all are there
def test_whenever_the_root_is_stopped_nobody_goes_on(moment: Moment, *, journaled: bool) -> None:
    asyncio.run(Tree(journaled=journaled).live(moment))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("journaled", [False, True], ids=["no journal", "journal"])
def test_the_root_is_stopped_at_every_turn_of_a_spawn(*, journaled: bool) -> None:
    for turns in range(TURNS):
        print(turns)
        asyncio.run(Tree(journaled=journaled).live(Moment(SPAWNING / 2, turns)))


class Held(MemoryJournal):
    """A journal that lets nobody begin to live until it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go_on = asyncio.Event(), asyncio.Event()

    async def open(self, stream: str, incarnation: int) -> tuple[Record, ...]:
        if stream.endswith("/agent/ana"):
            self.asked.set()
            await self.go_on.wait()
        return await super().open(stream, incarnation)


@pytest.mark.anyio
async def test_one_who_comes_to_life_while_it_is_stopped_takes_neither_tasks_nor_mail() -> None:
    journal = Held()
    async with Fleet(system="local", journal=journal) as fleet:
        spawning = asyncio.create_task(fleet.spawn(Agent(preset=scripted(say("never"))), ["ana"]))
        await journal.asked.wait()
        assert (await fleet.stop("ana", reason="enough")).silent == ("ana",)
        journal.go_on.set()
        (ana,) = await spawning
        with pytest.raises(ChannelClosed, match="enough"):
            await ana.start("Go on.")
        assert (await ana.send("Hello?")).refusal is Refusal.STOPPED
        assert [(row.phase, row.note) for row in await fleet.statuses()] == [("stopped", "enough")]
