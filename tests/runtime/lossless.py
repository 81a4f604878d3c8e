"""Has the conversation take place in as many processes as it takes, and sees that nothing is lost or done twice."""

import asyncio
from collections.abc import Iterator
from itertools import chain

from amrita_fleet.protocols.ids import AgentId, MessageId, RunId
from amrita_fleet.protocols.notices import Notice
from amrita_fleet.protocols.outcome import Outcome
from amrita_fleet.runtime.errors import PeerUnreachable
from amrita_fleet.runtime.journal_errors import JournalUnavailable
from amrita_fleet.runtime.ports import Record
from amrita_fleet.runtime.records import Happened, Past, Queued, decode_record, replay
from amrita_fleet.runtime.step.events import Asked, MailTaken, Replied, Woken
from amrita_fleet.runtime.supervision.account import Account

from .conversation import ANA, BOB, BODIES, NAMES, agents, part
from .doomed import FLEET, Dead, DoomedSystem, Strike, World, process
from .step.pairing import flaw, messages_flaw

__all__ = ("Conversation", "agents_own", "around", "snapshots_of_accounts", "unheard")


class Conversation:
    """The conversation, in as many processes as it takes.

    Attributes:
        outcomes: What the last process told of the runs that were asked for.
        accounts: The Supervisor's, in the end.
        notices: All that the fleet's log has, in the end.
        appends: The streams of the last process's appends.
    """

    def __init__(self) -> None:
        self.world = World(part)
        self.outcomes: dict[AgentId, Outcome] = {}
        self.accounts: tuple[Account, ...] = ()
        self.notices: tuple[Notice, ...] = ()
        self.appends: tuple[str, ...] = ()

    def live(self, *strikes: Strike) -> "Conversation":
        """A process for each strike, if it comes to that, and one that ends the conversation."""
        for strike in (*strikes, None):
            appends = process(self.world, self.go_on, strike)
            if appends is not None:
                self.appends = appends
                break
        return self

    def live_with_a_death(self, strike: Strike) -> "Conversation":
        """One process, in which the agent whose record it is dies at the strike and lives again at once."""
        self.appends = process(self.world, self.go_on, strike, self.live_again) or ()
        return self

    async def live_again(self, system: DoomedSystem, dead: Dead) -> None:
        agent = AgentId(dead.stream.rpartition("/")[2])
        system.bury(agent)
        await system.spawn(tuple(order for order in agents(self.world) if order.name == agent), unheard)

    async def go_on(self, system: DoomedSystem) -> None:
        """Begin, or go on, until all is quiet."""
        await self.spawn(system)
        runs = {agent: await self.begun(system, agent) for agent in (ANA, BOB)}
        while any(row.run or row.phase == "dead" or row.waiting for row in await system.statuses()):
            await self.world.clock.sleep(0.05)
        self.outcomes = {agent: await system.outcome(agent, run) for agent, run in runs.items()}
        self.accounts = await system.accounts()
        while news := await system.notices(self.notices[-1].number if self.notices else 0, 0.05):
            self.notices += news

    async def spawn(self, system: DoomedSystem) -> None:
        """Bring all three to life, as soon as the journal lets them be read."""
        while True:
            try:
                return await system.spawn(agents(self.world), unheard)
            except JournalUnavailable:
                await self.world.clock.sleep(1.0)

    async def begun(self, system: DoomedSystem, agent: AgentId) -> RunId:
        """The agent's run, asked for unless it was accepted by an earlier process."""
        while True:
            try:
                records = await self.world.journal.read(f"{FLEET}/agent/{agent}")
                accepted = [each.asked.run for each in map(decoded, records) if isinstance(each, Queued)]
                return accepted[0] if accepted else await system.start(agent, "Begin.", None)
            except (JournalUnavailable, PeerUnreachable):
                await self.world.clock.sleep(1.0)

    # --- what is written ----------------------------------------------------------------------------------------------

    def records(self, agent: AgentId) -> list[Record]:
        """All records of an agent but snapshots, which say nothing new."""
        records = asyncio.run(self.world.journal.read(f"{FLEET}/agent/{agent}"))
        return [record for record in records if not record.snapshot]

    def past(self, agent: AgentId) -> Past:
        """What they come to."""
        [rules] = [order.agent.rules for order in agents(self.world) if order.name == agent]
        return replay(agent, self.records(agent), agent, rules)

    def events(self, agent: AgentId) -> Iterator[object]:
        """Everything that happened to an agent."""
        happened = [each for each in map(decoded, self.records(agent)) if isinstance(each, Happened)]
        return chain.from_iterable(each.events for each in happened)

    def check(self, kills: int) -> None:
        """Nothing was lost, nothing done twice."""
        for agent in NAMES:
            self.check_history(agent)
            self.check_mail(agent)
            self.check_notices(agent)
            again = sum(times - 1 for (by, _), times in self.world.served.items() if by == agent)
            assert again <= kills, f"{agent} made {again} model calls more"
        self.check_tools()
        self.check_ledger(kills)

    def check_history(self, agent: AgentId) -> None:
        past = self.past(agent)
        turns = past.state.transcript.turns
        assert (flaw(turns), messages_flaw(turns)) == (None, None)
        began = [event.run for event in self.events(agent) if isinstance(event, Asked | Woken)]
        assert [outcome.run for outcome in past.outcomes] == began, "each run has one outcome"
        assert {str(outcome) for outcome in past.outcomes} == {"answered"}
        if agent in self.outcomes:
            assert self.outcomes[agent] in past.outcomes
        assert self.world.flaws == []

    def check_mail(self, agent: AgentId) -> None:
        taken = [event for event in self.events(agent) if isinstance(event, MailTaken)]
        letters: dict[MessageId, tuple[AgentId, str]] = {
            mail.id: (mail.sender, mail.body) for event in taken for mail in event.mails
        }
        read = [letters[one.message] for one in self.past(agent).taken]
        for sender in NAMES:
            assert [body for by, body in read if by == sender] == BODIES.get((sender, agent), []), (sender, agent)

    def check_notices(self, agent: AgentId) -> None:
        """What is written of the agent was told once, in order, whichever of its lives was to tell it."""
        mine = [notice for notice in self.notices if notice.agent == agent]

        def told(kind: str) -> list[Notice]:
            return [notice for notice in mine if f"{notice.type}.{notice.extra_type}" == kind]

        past = self.past(agent)
        assert [notice.data["id"] for notice in told("mail.consumed")] == [one.message for one in past.taken]
        assert [notice.run for notice in told("run.started")] == [outcome.run for outcome in past.outcomes]
        assert [notice.run for notice in told("run.finished")] == [outcome.run for outcome in past.outcomes]
        replied = sum(isinstance(event, Replied) for event in self.events(agent))
        assert len(told("model.replied")) == replied, "also what is told before the rest that follows"

    def check_tools(self) -> None:
        looks = {name for name in self.world.ran if name.startswith("look")}
        assert looks == {f"look {number}" for number in range(1, 6)}
        assert all(times == 1 for name, times in self.world.ran.items() if name not in looks), self.world.ran

    def check_ledger(self, kills: int) -> None:
        fleet = self.accounts[0]
        assert fleet.reserved.tokens == fleet.overshoot.tokens == 0
        assert fleet.spent.tokens - fleet.unknown.tokens <= self.world.tokens <= fleet.spent.tokens
        assert kills or not fleet.unknown.tokens


def unheard(_ready: int, _ordered: int) -> None:
    """Progress that nobody asked for."""


def decoded(record: Record) -> object:
    return decode_record(record.data)


def around(appends: tuple[str, ...]) -> list[Strike]:
    """Right before and right after each."""
    return [Strike(number, after) for number in range(1, len(appends) + 1) for after in (False, True)]


def agents_own(appends: tuple[str, ...]) -> list[Strike]:
    """Right before and right after those of agents and their mailboxes."""
    return [strike for strike in around(appends) if "/ledger" not in appends[strike.number - 1]]


def snapshots_of_accounts(appends: tuple[str, ...]) -> list[Strike]:
    """Right before and right after each snapshot of the Supervisor's record."""
    return [strike for strike in around(appends) if appends[strike.number - 1] == f"{FLEET}/ledger as a whole"]
