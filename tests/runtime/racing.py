"""Agents that race for the tokens of one fleet while they are killed and begin anew."""

import asyncio
import random as shared
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from random import Random
from typing import NamedTuple, ParamSpec, TypeVar

from amrita_fleet import Agent, AgentUnknown, ChannelClosed, PeerUnreachable, RunUnknown, tool
from amrita_fleet.protocols.checkin import AgentStatus, CheckIn, Directive, Settlement, WindDown
from amrita_fleet.protocols.ids import AgentId
from amrita_fleet.protocols.limits import Limits
from amrita_fleet.protocols.notices import Notice
from amrita_fleet.protocols.outcome import Limit
from amrita_fleet.protocols.presets import ModelConfig, ModelPreset
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.host import AgentHost, Seat
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.local import LocalSystem
from amrita_fleet.runtime.local_ways import LocalLink
from amrita_fleet.runtime.simulator.provider import SimulatedProvider
from amrita_fleet.runtime.simulator.scenario import CallTemplate, Rule, Scenario, When
from amrita_fleet.runtime.supervision.account import Account
from amrita_fleet.runtime.system import SpawnOrder

from .bad_line import LINE, BadLine, Odds

__all__ = ("Course", "Race")

P = ParamSpec("P")
T = TypeVar("T")

OUTPUT = 320
"""Output tokens that a call asks for; more than the fewest it accepts, so that the last grants are smaller."""

MOST = 20
"""A limit is large beside a call if it is so many times its bound."""

SPENT = (Limit.TOKENS, Limit.FLEET_TOKENS)


class Course(NamedTuple):
    """What one race is like.

    Attributes:
        limit: Tokens of the fleet.
        own: Tokens of some agents, by number.
        kills: Seconds at which somebody is killed.
        latency: Seconds that an answer takes, from and to.
        journaled: Who is killed goes on with its run, else it begins a new one.
    """

    limit: int
    own: Mapping[int, int]
    kills: tuple[float, ...]
    latency: tuple[float, float]
    odds: Odds
    journaled: bool

    @classmethod
    def drawn(cls, random: Random, agents: int, *, own: bool) -> "Course":
        limit = random.randint(80_000, 140_000)
        limits = {number: random.choice((3_000, 6_000, 12_000, 70_000)) for number in range(agents)} if own else {}
        return cls(
            limit,
            {number: each for number, each in limits.items() if random.random() < 0.7},
            tuple(sorted(random.uniform(0, 12) for _ in range(random.randint(3, 12)))),
            random.choice(((0.05, 0.4), (0.3, 1.5), (1.0, 4.0))),
            Odds(random.randint(0, 5), random.randint(0, 5), random.randint(0, 5), random.randint(0, 15)),
            random.random() < 0.25,
        )


@dataclass(eq=False)
class Life:
    """One life of an agent, as the system knows its process."""

    runs: bool = True


LIFE: ContextVar[Life] = ContextVar("life")


class Wound(NamedTuple):
    """An account when somebody was first told to wind down because of it; `largest` is the largest call asked for."""

    limit: int
    settled: int
    largest: int

    @property
    def large(self) -> bool:
        """Whether the limit is large beside any call, so that most of it can be used."""
        return self.limit >= MOST * self.largest

    @property
    def used(self) -> float:
        """The part of the limit that was used by then."""
        return self.settled / self.limit


@dataclass
class Books:
    """What must be true of the accounts whenever anything happens, and what is worth a look.

    Attributes:
        largest: Tokens of the largest call that was asked for, by the name of who asked; of all under the fleet's.
        wound: Accounts because of which somebody was told to wind down, as they were then.
        seen: How often the accounts were looked at.
        flaws: What was not true.
    """

    fleet: str
    simulator: SimulatedProvider
    largest: dict[str, int] = field(default_factory=dict[str, int])
    wound: dict[str, Wound] = field(default_factory=dict[str, Wound])
    seen: int = 0
    flaws: list[str] = field(default_factory=list[str])

    def look(self, accounts: tuple[Account, ...]) -> None:
        """What the provider has counted is set aside or spent, and all of that is within the limits."""
        self.seen += 1
        for account in accounts:
            held, counted = account.settled.tokens + account.reserved.tokens, self.counted(account.name)
            if account.limit is not None and max(held, counted) > account.limit.most.tokens:
                self.flaws.append(f"{account} passes its limit; {counted:,} are counted")
            if counted > held + account.overshoot.tokens:
                self.flaws.append(f"{account} holds less than the {counted:,} that are counted")

    def counted(self, name: str) -> int:
        """What the simulator has counted for an agent, or for all."""
        totals = self.simulator.totals
        count = totals.answered if name == self.fleet else totals.by_model.get(name)
        return count.prompt_tokens + count.completion_tokens if count else 0

    def asked(self, asked: CheckIn) -> None:
        for name in (self.fleet, asked.agent):
            self.largest[name] = max(self.largest.get(name, 0), asked.bound + asked.output)

    def told(self, asked: CheckIn, directive: Directive, accounts: tuple[Account, ...]) -> None:
        if isinstance(directive, WindDown) and directive.limit in SPENT:
            name = self.fleet if directive.limit == Limit.FLEET_TOKENS else asked.agent
            (account,) = [each for each in accounts if each.name == name]
            assert account.limit is not None
            self.wound.setdefault(name, Wound(account.limit.most.tokens, account.settled.tokens, self.largest[name]))


class RacingLink(LocalLink):
    """A way to the Supervisor that ends with the process of whoever uses it; everything on it is looked at."""

    books: Books

    async def check_in(self, asked: CheckIn) -> Directive:
        await alive()
        self.books.asked(asked)
        directive = await super().check_in(asked)
        accounts = self._supervisor.accounts()
        self.books.told(asked, directive, accounts)
        self.books.look(accounts)
        return directive

    async def settle(self, settlement: Settlement) -> None:
        if LIFE.get().runs:
            await super().settle(settlement)
            self.books.look(self._supervisor.accounts())

    async def report(self, status: AgentStatus, notices: tuple[Notice, ...]) -> None:
        if LIFE.get().runs:
            await super().report(status, notices)


async def alive() -> None:
    """Go on, if this life's process runs."""
    if not LIFE.get().runs:
        await asyncio.get_running_loop().create_future()


class RacingSystem(LocalSystem):
    """A local system whose agents can be killed."""

    def race(self, books: Books) -> None:
        """Have everything looked at."""
        link = RacingLink(self.fleet, self._supervisor, self._watch.desk, self._watchdog)
        link.books = books
        self._around = replace(self._around, link=link)
        self.lives: dict[AgentId, Life] = {}
        self.left: list[AgentHost] = []

    async def _bring_to_life(self, seat: Seat, agent: Agent) -> None:
        self.lives[seat.name] = life = Life()
        LIFE.set(life)
        await super()._bring_to_life(seat, agent)

    async def crash(self, agent: AgentId) -> None:
        """End an agent's process, as a crash would; nobody knows yet."""
        if (host := self._hosts.pop(agent, None)) is not None:
            life = self.lives[agent]
            life.runs = False
            LIFE.set(life)
            await host.close()

    def bury(self, agent: AgentId) -> None:
        """Have the Supervisor know that an agent is dead, whether that is so or not: then it does no more harm."""
        if (host := self._hosts.get(agent)) is not None:
            self.left.append(host)
        self._supervisor.died(agent, self._supervisor.find(agent).incarnation, "it was killed")

    def over(self, agent: AgentId) -> bool:
        """Whether an agent lives and may do nothing more."""
        return agent in self._hosts and self._hosts[agent].status().phase == "stopped"

    def look(self) -> tuple[Account, ...]:
        return self._supervisor.accounts()

    async def close(self) -> None:
        await super().close()
        for host in self.left:
            await host.close()


@tool(replay="safe")
async def note(number: int) -> str:
    """Note a number."""
    return f"noted {number}"


def scenario(models: tuple[str, ...]) -> Scenario:
    """What all agents say: two notes, a word to a peer, and a text that is cut where little is left."""
    notes = tuple(CallTemplate(name="note", arguments={"number": number}) for number in (1, 2))
    word = CallTemplate(name="send_message", arguments={"to": "{peer}", "body": "Go on, {peer}."})
    rules = (
        Rule(when=When(no_tools=True), say="All that I have. " * 20),
        Rule(when=When(rounds=0, user="Begin"), calls=notes),  # type: ignore[arg-type]
        Rule(when=When(rounds=1, user="tell (?P<peer>[a-z0-9]+)"), calls=(word,)),  # type: ignore[arg-type]
        Rule(say="So much has been said. " * 40),
    )
    return Scenario(name="race", models=models, rules=rules)


class AtOnce(ThreadPoolExecutor):
    """Does what threads would do right away: virtual time does not wait for threads."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        done: Future[T] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


class Race:
    """One race."""

    def __init__(self, seed: int, agents: int = 50, *, own: bool = False) -> None:
        self.random = Random(seed)  # noqa: S311  no key is made of it
        self.course = Course.drawn(self.random, agents, own=own)
        self.clock = VirtualClock(1_000.0)
        self.names = tuple(AgentId(f"a{number}") for number in range(agents))
        self.simulator = SimulatedProvider((scenario(self.names),))
        self.books = Books("race", self.simulator)
        self.system = RacingSystem(
            "race", Limits(tokens=self.course.limit), self.clock, MemoryJournal() if self.course.journaled else None
        )
        self.line = BadLine(
            self.clock,
            self.random,
            self.simulator,
            self.course.odds,
            self.course.latency,
            lambda: self.books.look(self.system.look()),
        )
        self.killed = 0
        self.dying = set[AgentId]()
        self.accounts: tuple[Account, ...] = ()

    def __str__(self) -> str:
        fleet, counted = self.accounts[0], self.books.counted("race")
        spent, unknown = fleet.settled.tokens, fleet.unknown.tokens
        return (
            f"{counted:,} counted of {self.course.limit:,}, {spent:,} spent, {unknown:,} unknown; "
            f"{self.simulator.totals.answered.requests} answers, {self.killed} killed, {self.line.fates}; "
            f"{self.clock.monotonic():.0f} s"
        )

    def run(self, seconds: float = 1_200.0) -> "Race":
        """Let it happen, for so many seconds at most."""
        shared.seed(self.random.random())  # what spreads pauses, so that a seed tells all
        asyncio.run(self._run(seconds))
        return self

    def order(self, name: AgentId) -> SpawnOrder:
        preset = ModelPreset(
            model=name, base_url="lined://there", protocol="lined", config=ModelConfig(max_tokens=OUTPUT)
        )
        own = self.course.own.get(int(name[1:]))
        limit = None if own is None else Limits(tokens=own)
        return SpawnOrder(name, Agent(preset=preset, tools=(note,)), limit=limit)

    async def _run(self, seconds: float) -> None:
        LINE.set(self.line)
        asyncio.get_running_loop().set_default_executor(AtOnce())
        await self.system.open()
        self.system.race(self.books)
        await self.system.spawn(tuple(map(self.order, self.names)), unheard)
        work = [asyncio.ensure_future(self._work(name)) for name in self.names]
        work.append(asyncio.ensure_future(self._reap()))
        whole = asyncio.gather(*work)
        while not whole.done() and self.clock.monotonic() < seconds and not self.books.flaws:
            await self.clock.advance(0.25)
        assert not self.books.flaws, self.books.flaws[0]
        assert whole.done(), "somebody hangs"
        await whole
        closing = asyncio.ensure_future(self._close())
        while not closing.done():
            await self.clock.advance(0.25)
        await closing

    async def _close(self) -> None:
        await self.line.idle()
        await self.clock.sleep(1.0)
        over = self.clock.monotonic() + 60.0  # whoever mail woke at the last moment is through by then
        while any(each.reserved for each in self.system.look()) and self.clock.monotonic() < over:
            await self.clock.sleep(1.0)
        self.books.look(self.system.look())
        self.accounts = self.system.look()
        await self.system.close()

    async def _work(self, name: AgentId) -> None:
        """Begin one run after the other, until the agent may spend no more."""
        while True:
            peer = self.random.choice(self.names)
            try:
                run = await self.system.start(name, f"Begin, then tell {peer}.", None)
                outcome = await self.system.outcome(name, run)
            except (AgentUnknown, ChannelClosed, PeerUnreachable, RunUnknown):
                if self.system.over(name):
                    return
                await self.clock.sleep(0.2)
            else:
                if outcome.limit in SPENT:
                    return
                await self.clock.sleep(0.1)

    async def _reap(self) -> None:
        """Kill agents; what is found dead begins anew, also where it was not so."""
        begun = list[asyncio.Task[None]]()
        for at in self.course.kills:
            await self.clock.sleep(at - self.clock.monotonic())
            name = self.random.choice([name for name in self.names if name not in self.dying])
            self.dying.add(name)
            begun.append(asyncio.create_task(self._kill(name)))
        await asyncio.gather(*begun)

    async def _kill(self, name: AgentId) -> None:
        if self.random.random() < 0.7:
            await self.system.crash(name)
            await self.clock.sleep(self.random.uniform(0.0, 2.0))
        self.system.bury(name)
        self.killed += 1
        await self.clock.sleep(self.random.uniform(0.0, 1.0))
        await self.system.spawn((self.order(name),), unheard)
        self.dying.discard(name)


def unheard(_ready: int, _ordered: int) -> None:
    """Progress that nobody asked for."""
