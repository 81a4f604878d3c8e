"""A fleet of three whose process can be killed at any record, and what outlives it.

A process is an event loop: killed, all its tasks are cancelled where they are, and nothing is closed. The `World` keeps
what a crash does not take: the journal, what tools did, what the provider has served. Agents say what they have to say
however often they begin anew: an answer follows from the request alone.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple

from amrita_fleet.protocols.ids import AgentId
from amrita_fleet.protocols.limits import Limits
from amrita_fleet.protocols.messages import Finish, Message, Reply, Role, ToolCall, Turn, Usage
from amrita_fleet.protocols.presets import ModelConfig, ModelPreset
from amrita_fleet.protocols.providers.base import Draft, Provider, ToolSchema, Watcher
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.local import LocalSystem
from amrita_fleet.runtime.ports import Record, Stored

from .step.pairing import flaw, messages_flaw

__all__ = ("FLEET", "Act", "Asked", "Dead", "DoomedSystem", "Part", "Strike", "World", "preset", "process")

FLEET = "f"

LIMIT = 1_000_000
"""Tokens that the fleet may spend."""

LABEL = re.compile(r"#(\w+)")


class Asked(NamedTuple):
    """What a model is asked: by whom, and with what before it."""

    agent: AgentId
    turns: tuple[Turn, ...]

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(turn.content for turn in self.turns)

    @property
    def labels(self) -> set[str]:
        """The labels of what was said before, also where only a summary is left of it."""
        return set(LABEL.findall(self.text))


@dataclass(frozen=True)
class Act:
    """One thing that an agent does: it says `label`, and calls tools."""

    label: str
    calls: tuple[ToolCall, ...] = ()


Part = Callable[[Asked], Act]
"""What an agent says to a request."""


def said(act: Act, asked: Asked) -> Reply:
    """The provider's answer. It counts as many tokens as the request has words, and some for the answer."""
    usage = Usage(len(asked.text.split()) + 1, 7)
    message = Message(Role.ASSISTANT, act.label, act.calls)
    return Reply(message, usage, Finish.CALLS if act.calls else Finish.STOP, "req-1")


class World:
    """What outlives a process.

    Attributes:
        part: What the agents say.
        served: How often the provider has answered each request that it should be asked once.
        tokens: What it has counted.
        flaws: Why it would have refused a request.
        ran: How often each tool call has begun.
    """

    def __init__(self, part: Part, latency: float = 0.03) -> None:
        """Nothing has happened. A model call takes `latency` seconds."""
        self.part = part
        self.latency = latency
        self.journal = MemoryJournal()
        self.clock = VirtualClock(1_000.0)
        self.served: Counter[tuple[AgentId, str]] = Counter()
        self.tokens = 0
        self.flaws: list[str] = []
        self.ran: Counter[str] = Counter()

    def serve(self, asked: Asked) -> Reply:
        """Answer, and count it."""
        self.flaws += filter(None, (flaw(asked.turns), messages_flaw(asked.turns)))
        act = self.part(asked)
        reply = said(act, asked)
        self.tokens += reply.usage.total
        # What has a label is said once; a request that has none is known by its words.
        self.served[asked.agent, act.label if act.label.startswith("#") else repr(asked.turns)] += 1
        return reply


WORLD: ContextVar[World] = ContextVar("world")


@dataclass(frozen=True)
class Conversing(OpenAIChat):
    """The protocol `conversing`: answers come from the world's part."""

    @staticmethod
    def get_adapter_protocol() -> tuple[str, ...]:
        return ("conversing",)

    @classmethod
    def direct(cls, preset: ModelPreset) -> Provider:
        return ConversingProvider(preset, WORLD.get())


class ConversingProvider:
    """Answers in the process that it was made in."""

    def __init__(self, preset: ModelPreset, world: World) -> None:
        self._agent = AgentId(preset.model)
        self._writer = OpenAIChat(preset)
        self._world = world

    def draft(self, turns: tuple[Turn, ...], tools: tuple[ToolSchema, ...], before: Draft | None) -> Draft:
        return self._writer.draft(turns, tools, before)

    async def call(self, draft: Draft, output: int, watch: Watcher | None = None) -> Reply:  # noqa: ARG002
        await self._world.clock.sleep(self._world.latency / 2)
        reply = self._world.serve(Asked(self._agent, draft.turns))
        await self._world.clock.sleep(self._world.latency / 2)
        return reply

    async def aclose(self) -> None:
        """There is nothing to close."""


def preset(agent: str) -> ModelPreset:
    """The model of an agent."""
    return ModelPreset(model=agent, protocol="conversing", config=ModelConfig(max_tokens=64))


class Strike(NamedTuple):
    """Where somebody dies: right before the `number`-th append, or right after it."""

    number: int
    after: bool = False


class Dead(NamedTuple):
    """Who has been struck, at which append."""

    stream: str
    incarnation: int


class DoomedJournal:
    """A journal in the hands of one process. Who is struck at an append waits there, until it is over for him.

    Attributes:
        appends: The streams of those that were asked for, in order, and which were snapshots.
        struck: Who was to die, once he has come there.
        over: The dead may find out that they are.
    """

    def __init__(self, inner: MemoryJournal, strike: Strike | None) -> None:
        self.appends: list[str] = []
        self.struck: asyncio.Future[Dead] = asyncio.get_running_loop().create_future()
        self.over = asyncio.Event()
        self._inner = inner
        self._strike = strike

    async def append(
        self, stream: str, incarnation: int, first: int, records: tuple[bytes, ...], *, snapshot: bool = False
    ) -> None:
        self.appends.append(f"{stream} as a whole" if snapshot else stream)
        now = len(self.appends)
        await self._die_at(Strike(now), stream, incarnation)
        await asyncio.sleep(0)  # as any real journal, it lets others run
        await self._inner.append(stream, incarnation, first, records, snapshot=snapshot)
        await self._die_at(Strike(now, after=True), stream, incarnation)
        await asyncio.sleep(0)

    async def _die_at(self, point: Strike, stream: str, incarnation: int) -> None:
        if point == self._strike:
            self.struck.set_result(Dead(stream, incarnation))
            await self.over.wait()

    async def claim(self, stream: str) -> int:
        return await self._inner.claim(stream)

    async def open(self, stream: str, incarnation: int) -> tuple[Record, ...]:
        return await self._inner.open(stream, incarnation)

    async def read(self, stream: str, after: int = 0) -> tuple[Record, ...]:
        return await self._inner.read(stream, after)

    async def streams(self, prefix: str = "") -> tuple[str, ...]:
        return await self._inner.streams(prefix)

    async def stored(self, prefix: str = "") -> tuple[Stored, ...]:
        return await self._inner.stored(prefix)

    async def drop(self, stream: str) -> None:
        await self._inner.drop(stream)

    async def drop_all(self, prefix: str, *, before: float | None = None) -> int:
        return await self._inner.drop_all(prefix, before=before)

    async def aclose(self) -> None:
        await self._inner.aclose()


class DoomedSystem(LocalSystem):
    """A local system in which one agent can be found dead."""

    def bury(self, agent: AgentId) -> None:
        """Note that its life is over and another one follows; whatever is left of it goes on, and must do no harm."""
        self._supervisor.died(agent, self._supervisor.find(agent).incarnation, "it was killed", restart=True)


Life = Callable[[DoomedSystem], Awaitable[None]]
Death = Callable[[DoomedSystem, Dead], Awaitable[None]]


def process(
    world: World, life: Life, strike: Strike | None = None, death: Death | None = None, tick: float = 0.05
) -> tuple[str, ...] | None:
    """Live through one process; gives the streams of its appends, or None when it was killed.

    Args:
        world: What outlives it.
        life: What is done in it.
        strike: At which append somebody dies.
        death: What follows then; None: the process is over.
        tick: Seconds that pass before it is looked again who was struck.
    """

    async def main() -> tuple[str, ...] | None:
        WORLD.set(world)
        journal = DoomedJournal(world.journal, strike)
        system = DoomedSystem(FLEET, Limits(tokens=LIMIT), world.clock, journal)
        living = asyncio.ensure_future(lived(system, life))
        while not living.done():
            await world.clock.advance(tick)
            if journal.struck.done() and not journal.over.is_set():
                if death is None:
                    await killed()
                    return None
                await death(system, journal.struck.result())
                journal.over.set()
        await living
        return tuple(journal.appends)

    return asyncio.run(main())


async def lived(system: DoomedSystem, life: Life) -> None:
    await system.open()
    await life(system)
    await system.close()


async def killed() -> None:
    """Cancel every task but this one, until there is none."""
    while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
