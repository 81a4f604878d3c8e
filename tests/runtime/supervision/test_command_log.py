"""A Supervisor whose commands are written down, and the one that another process makes of them."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.checkin import AgentStatus, CheckIn, Settlement
from amrita_fleet.protocols.ids import USER, AgentId, Incarnation, RunId
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.errors import Fenced, JournalUnavailable, RecordInvalid
from amrita_fleet.runtime.journal.fleet_log import FleetLog
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.supervision.command_log import JournaledCommands
from amrita_fleet.runtime.supervision.commands import (
    Admit,
    AdmitUser,
    Bury,
    Check,
    Command,
    Newcomer,
    PauseAgents,
    Settle,
    StopAgents,
    Tell,
)
from amrita_fleet.runtime.supervision.replay import perform
from amrita_fleet.runtime.supervision.supervisor import Supervisor

pytestmark = pytest.mark.anyio

ANA, BOB, CEM = NAMES = AgentId("ana"), AgentId("bob"), AgentId("cem")
LIMIT = 2_000

names = st.sampled_from(NAMES)
lives = st.integers(1, 3).map(Incarnation)
attempts = st.integers(1, 4)
tokens = st.none() | st.integers(-1, 900)


@st.composite
def check_ins(draw: st.DrawFn) -> Command:
    bound, output = draw(st.integers(-1, 900)), draw(st.integers(0, 500))
    return Check(
        CheckIn(draw(names), draw(lives), RunId("r"), 1, "thinking", draw(attempts), "p", bound, output, floor=50)
    )


def reservation(agent: AgentId, life: int, attempt: int) -> str:
    return CheckIn(agent, Incarnation(life), RunId("r"), 1, "thinking", attempt, "p", 0, 0, 0).reservation


def told(agent: AgentId, life: Incarnation, phase: str) -> Tell:
    notice = Notice(NoticeType.RUN, "finished", agent, "done", RunId("r"), data={"outcome": "failed"})
    return Tell(AgentStatus(agent, life, phase, since=1.0), (notice,))


@st.composite
def admissions(draw: st.DrawFn) -> Command:
    newcomer = Newcomer(draw(names), draw(st.none() | names), draw(st.sampled_from([None, 700])))
    return Admit((newcomer,), 1)


@st.composite
def settlements(draw: st.DrawFn) -> Command:
    agent, life = draw(names), draw(lives)
    return Settle(Settlement(agent, life, reservation(agent, life, draw(attempts)), draw(tokens)))


commands = st.one_of(
    admissions(),
    st.just(AdmitUser()),
    st.builds(Bury, names, lives, st.just("gone"), st.booleans()),
    check_ins(),
    settlements(),
    st.builds(told, names, lives, st.sampled_from(["idle", "thinking"])),
    st.builds(StopAgents, st.sampled_from([(), (ANA,), (BOB, CEM)]), st.just("enough")),
    st.builds(PauseAgents, st.sampled_from([(), (ANA,)]), st.sampled_from([None, "a look"])),
)


class Process:
    """A Supervisor that writes its commands into a journal."""

    def __init__(self, journal: MemoryJournal, clock: VirtualClock) -> None:
        self.journal = journal
        self.clock = clock
        self.notes: list[tuple[AgentId, str]] = []

    async def open(self) -> "Process":
        self.log = JournaledCommands(await FleetLog(self.journal, "f").ledger(self.clock), self.clock)
        self.supervisor = Supervisor(
            fleet="f",
            limit=LIMIT,
            now=self.clock.now,
            post=lambda agent, text: self.notes.append((agent, text)),
            log=self.log,
        )
        await self.log.open(lambda command: perform(self.supervisor, command))
        return self

    def facts(self) -> tuple[object, ...]:
        """All that can be seen of the Supervisor."""
        return self.supervisor.statuses(), self.supervisor.accounts(), self.supervisor.feed.read(0, 1_000)


async def two(asked: list[Command]) -> tuple[Process, Process]:
    """A process that was asked for these, and the one after it."""
    clock = VirtualClock(1_000.0)
    first = await Process(MemoryJournal(clock=clock), clock).open()
    for number, command in enumerate(asked):
        perform(first.supervisor, command)
        if number % 3 == 0:
            await clock.advance(1.0)
    await first.log.written()
    return first, await Process(first.journal, clock).open()


@given(asked=st.lists(commands, max_size=25))
def test_the_same_commands_make_the_same_supervisor(asked: list[Command]) -> None:
    async def main() -> None:
        first, second = await two([Admit((Newcomer(ANA), Newcomer(BOB, ANA)), 1), *asked])
        assert second.facts() == first.facts()
        assert second.notes == [], "whom it concerns was told then"
        assert second.supervisor.admit(USER, None, None, 1) == first.supervisor.admit(USER, None, None, 1)

    asyncio.run(main())


async def test_nobody_is_told_before_it_is_written() -> None:
    clock = VirtualClock(1_000.0)
    process = await Process(MemoryJournal(clock=clock), clock).open()
    process.journal.broken = "the disk is full"
    process.supervisor.admit(ANA, None, None, 1)

    written = asyncio.ensure_future(process.log.written())
    await clock.advance(30.0)
    assert not written.done()
    assert "the disk is full" in process.log.waits
    process.journal.broken = ""
    await clock.advance(1.0)
    await written
    assert process.log.waits == ""
    await process.log.aclose()


async def test_commands_that_come_together_are_one_append() -> None:
    clock = VirtualClock(1_000.0)
    process = await Process(MemoryJournal(clock=clock), clock).open()
    for name in NAMES:
        process.supervisor.admit(name, None, None, 1)
    assert await process.journal.read("f/ledger") == ()

    await process.log.written()

    assert len(await process.journal.read("f/ledger")) == len(NAMES)
    await process.log.aclose()


async def test_a_report_without_news_is_not_written() -> None:
    first, _ = await two([Admit((Newcomer(ANA),), 1), Tell(AgentStatus(ANA, Incarnation(1), "thinking", 1.0), ())])

    assert len(await first.journal.read("f/ledger")) == 1


async def test_a_process_that_another_one_has_followed_answers_nobody() -> None:
    first, _ = await two([Admit((Newcomer(ANA),), 1)])
    first.supervisor.admit(BOB, None, None, 1)

    with pytest.raises(Fenced):
        await first.log.written()
    with pytest.raises(Fenced):
        await first.log.written()
    await first.log.aclose()


async def test_after_its_end_nobody_waits_for_what_was_not_written() -> None:
    clock = VirtualClock(1_000.0)
    process = await Process(MemoryJournal(clock=clock), clock).open()
    await process.log.aclose()
    process.supervisor.admit(ANA, None, None, 1)

    with pytest.raises(JournalUnavailable):
        await process.log.written()


async def test_a_record_that_is_none_is_named() -> None:
    clock = VirtualClock(1_000.0)
    journal = MemoryJournal(clock=clock)
    await journal.open("f/ledger", 1)
    await journal.append("f/ledger", 1, 1, (b"?",))

    with pytest.raises(RecordInvalid, match="f/ledger"):
        await Process(journal, clock).open()
