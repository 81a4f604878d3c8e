"""A Supervisor whose commands are written down, and the one that another process makes of them."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.ids import USER, Incarnation
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.journal_errors import Fenced, JournalUnavailable, RecordInvalid
from amrita_fleet.runtime.supervision.command_log import Cadence, JournaledCommands
from amrita_fleet.runtime.supervision.commands import Admit, AdmitUser, Command, Newcomer
from amrita_fleet.runtime.supervision.state import BEGINNING, SupervisorState

from .asked import ANA, BOB, NAMES, Process, commands, quiet

pytestmark = pytest.mark.anyio


async def two(asked: list[Command]) -> tuple[Process, Process]:
    """A process that was asked for these, and the one after it."""
    clock = VirtualClock(1_000.0)
    first = await Process(MemoryJournal(clock=clock), clock).open()
    await first.asked(asked, clock)
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
    first, _ = await two([Admit((Newcomer(ANA),), 1), quiet(ANA, Incarnation(1), "thinking")])

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


async def test_a_command_that_no_journal_can_hold_ends_the_record_loudly_and_nobody_waits_for_ever(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("amrita_fleet.runtime.journal.rules.RECORD_LIMIT", 1_000)
    clock = VirtualClock(1_000.0)
    process = await Process(MemoryJournal(clock=clock), clock).open()
    process.supervisor.stop((), "x" * 1_000)

    async with asyncio.timeout(10):
        with pytest.raises(JournalUnavailable, match="a record could not be written: ValueError: A record has at most"):
            await process.log.written()
        process.supervisor.admit(ANA, None, None, 1)
        with pytest.raises(JournalUnavailable, match="a record could not be written"):
            await process.log.written()
        await process.log.aclose()
    assert "f/ledger is written no more" in caplog.text


async def test_a_record_that_has_ended_keeps_nothing_more_and_is_closed_twice_as_well_as_once() -> None:
    clock = VirtualClock(1_000.0)
    process = await Process(MemoryJournal(clock=clock), clock, Cadence(commands=1, growth=0.0)).open()
    process.supervisor.admit(ANA, None, None, 1)
    await process.log.written()
    await process.log.aclose()
    states: list[SupervisorState] = []

    def state() -> SupervisorState:
        states.append(BEGINNING)
        return BEGINNING

    JournaledCommands.note(process.log, AdmitUser(), state)
    await process.log.aclose()

    assert states == [], "what is due is not even made"


async def test_a_record_that_is_none_is_named() -> None:
    clock = VirtualClock(1_000.0)
    journal = MemoryJournal(clock=clock)
    await journal.open("f/ledger", 1)
    await journal.append("f/ledger", 1, 1, (b"?",))

    with pytest.raises(RecordInvalid, match="f/ledger"):
        await Process(journal, clock).open()
