"""Providers that allow only so many requests a second or at a time, and a fleet that asks more of them."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from random import Random
from typing import NamedTuple

from amrita_fleet import Agent
from amrita_fleet.protocols.checkin import AgentStatus, CheckIn, Directive
from amrita_fleet.protocols.errors import ProviderBusy
from amrita_fleet.protocols.ids import AgentId
from amrita_fleet.protocols.messages import Finish, Message, Reply, Role, Turn, Usage
from amrita_fleet.protocols.outcome import Outcome
from amrita_fleet.protocols.presets import ModelConfig, ModelPreset
from amrita_fleet.protocols.providers.base import Draft, Provider, ToolSchema, Watcher
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.local import LocalSystem
from amrita_fleet.runtime.local_ways import LocalLink
from amrita_fleet.runtime.system import SpawnOrder

__all__ = ("Crowd", "Site", "Storm", "preset")

REFUSED = 0.05
"""Seconds that a refusal takes."""


@dataclass
class Site:
    """One provider.

    Attributes:
        rate: Requests that it answers within any second; 0: any number.
        at_once: Requests that it answers at a time; 0: any number.
        answers: Seconds that an answer takes, from and to.
        says_when: Whether a refusal says when to come again.
        away: Until when it refuses everything.
        sent: When requests came.
        answered: How often each agent was answered.
        refused: How many requests were refused.
        flight: Requests that are being answered.
        allowed: When those came that were not refused.
    """

    rate: int = 0
    at_once: int = 0
    answers: tuple[float, float] = (0.4, 1.2)
    says_when: bool = True
    away: float = 0.0
    sent: list[float] = field(default_factory=list[float])
    answered: Counter[AgentId] = field(default_factory=Counter[AgentId])
    refused: int = 0
    flight: int = 0
    allowed: list[float] = field(default_factory=list[float])

    def refusal(self, now: float) -> ProviderBusy | None:
        """Take a request, or say why not."""
        self.sent.append(now)
        recent = [at for at in self.allowed if at > now - 1.0]
        full = self.at_once and self.flight >= self.at_once
        if now < self.away or full or (self.rate and len(recent) >= self.rate):
            self.refused += 1
            after = max(self.away - now, recent[-self.rate] + 1.0 - now if recent and self.rate else 0.0)
            return ProviderBusy(sentence="too many", status=429, after=after if self.says_when else None)
        self.allowed.append(now)
        return None

    def __str__(self) -> str:
        """The figures."""
        sent, allowed = len(self.sent), len(self.allowed)
        return f"{sent} sent, {allowed} allowed, {self.ratio:.3f}, {allowed / self.seconds:.2f} a second"

    @property
    def ratio(self) -> float:
        """Requests sent for each that was allowed."""
        return len(self.sent) / len(self.allowed)

    @property
    def seconds(self) -> float:
        """From the first request that was allowed to the last."""
        return self.allowed[-1] - self.allowed[0]


class Crowd(NamedTuple):
    """What the providers of a test live in."""

    clock: VirtualClock
    random: Random
    sites: Mapping[str, Site]


CROWD: ContextVar[Crowd] = ContextVar("crowd")


class Crowded(OpenAIChat):
    """The protocol `crowded`: the host of the address names the site."""

    @staticmethod
    def get_adapter_protocol() -> tuple[str, ...]:
        return ("crowded",)

    @classmethod
    def direct(cls, preset: ModelPreset) -> Provider:
        return CrowdedProvider(preset, CROWD.get())


class CrowdedProvider:
    """Answers, in time, what its site allows."""

    def __init__(self, preset: ModelPreset, crowd: Crowd) -> None:
        self._agent = AgentId(preset.model)
        self._writer = OpenAIChat(preset)
        self._crowd = crowd
        self._site = crowd.sites[preset.base_url.partition("://")[2]]

    def draft(self, turns: tuple[Turn, ...], tools: tuple[ToolSchema, ...], before: Draft | None) -> Draft:
        return self._writer.draft(turns, tools, before)

    async def call(self, draft: Draft, output: int, watch: Watcher | None = None) -> Reply:  # noqa: ARG002
        clock, site = self._crowd.clock, self._site
        if (refusal := site.refusal(clock.now())) is not None:
            await clock.sleep(REFUSED)
            raise refusal
        site.flight += 1
        try:
            await clock.sleep(self._crowd.random.uniform(*site.answers))
        finally:
            site.flight -= 1
        site.answered[self._agent] += 1
        return Reply(Message(Role.ASSISTANT, "Done."), Usage(100, 1), Finish.STOP, "r")

    async def aclose(self) -> None:
        """There is nothing to close."""


def preset(agent: str, site: str) -> ModelPreset:
    """A model of a site."""
    return ModelPreset(model=agent, base_url=f"crowded://{site}", protocol="crowded", config=ModelConfig(max_tokens=64))


class CountingLink(LocalLink):
    """A way to the Supervisor that counts check-ins."""

    asked = 0

    async def check_in(self, asked: CheckIn) -> Directive:
        self.asked += 1
        return await super().check_in(asked)


class CountingSystem(LocalSystem):
    """A local system that counts check-ins."""

    async def open(self) -> None:
        await super().open()
        self.link = CountingLink.__new__(CountingLink)
        vars(self.link).update(vars(self._around.link))
        self._around = replace(self._around, link=self.link)


class Storm:
    """Agents of several sites that all begin at once, each with some tasks one after the other, of one call each."""

    def __init__(self, sites: Mapping[str, Site], agents: int, tasks: int, seed: int) -> None:
        self.clock = VirtualClock(1_000.0)
        self.crowd = Crowd(self.clock, Random(seed), sites)  # noqa: S311  no key is made of it
        self.names = {AgentId(f"{site}-{number}"): site for site in sites for number in range(agents)}
        self.tasks = tasks
        self.outcomes: list[Outcome] = []
        self.rows: list[tuple[AgentStatus, ...]] = []
        self.ended: dict[AgentId, float] = {}
        self.asked = 0

    def __str__(self) -> str:
        """The figures."""
        ends = f"agents ended from {min(self.ended.values()):.1f} s to {max(self.ended.values()):.1f} s"
        sites = (f"{name}: {site}" for name, site in self.crowd.sites.items())
        return "; ".join((*sites, ends, f"{self.asked} check-ins"))

    def run(self, seconds: float = 600.0) -> "Storm":
        """Let it happen, for so many seconds at most."""
        asyncio.run(self._run(seconds))
        return self

    async def _run(self, seconds: float) -> None:
        CROWD.set(self.crowd)
        system = CountingSystem("f", None, self.clock)
        await system.open()
        orders = [SpawnOrder(name, Agent(preset=preset(name, site))) for name, site in self.names.items()]
        await system.spawn(tuple(orders), lambda _ready, _all: None)
        working = [asyncio.ensure_future(self._work(system, name)) for name in self.names]
        while not all(work.done() for work in working) and self.clock.monotonic() < seconds:
            await self.clock.advance(0.25)
            self.rows.append(await system.statuses())
        for work in working:
            work.cancel()
        self.asked = system.link.asked
        closing = asyncio.ensure_future(system.close())
        while not closing.done():
            await self.clock.advance(0.25)

    async def _work(self, system: LocalSystem, name: AgentId) -> None:
        for _ in range(self.tasks):
            self.outcomes.append(await system.outcome(name, await system.start(name, "Go.", None)))
        self.ended[name] = self.clock.monotonic()
