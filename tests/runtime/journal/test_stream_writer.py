"""One life's hand on one stream: numbers, waiting for a journal that is away, and callers who are cancelled."""

import asyncio

import pytest

from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.journal.fleet_log import FleetLog
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.journal.stream_writer import PAUSE, StreamWriter
from amrita_fleet.runtime.journal_errors import Fenced, JournalUnavailable

pytestmark = pytest.mark.anyio

STREAM = "f/agent/ana"


class House:
    """A journal, a clock, and the writers of one stream."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.journal = MemoryJournal(clock=self.clock)

    async def life(self, incarnation: int) -> StreamWriter:
        writer = StreamWriter(self.journal, STREAM, incarnation, self.clock)
        await writer.open()
        return writer

    async def written(self) -> list[bytes]:
        return [record.data for record in await self.journal.read(STREAM)]


async def test_records_are_numbered_on_from_those_of_earlier_lives() -> None:
    house = House()
    first = await house.life(1)
    await first.append(b"a", b"b")
    second = StreamWriter(house.journal, STREAM, 2, house.clock)

    assert [record.data for record in await second.open()] == [b"a", b"b"]
    await second.append(b"c")
    assert [(record.number, record.incarnation) for record in await house.journal.read(STREAM)] == [
        (1, 1),
        (2, 1),
        (3, 2),
    ]


async def test_after_a_snapshot_a_new_life_reads_nothing_older() -> None:
    house = House()
    first = await house.life(1)
    await first.append(b"a")
    await first.append(b"whole", snapshot=True)
    await first.append(b"b")

    second = StreamWriter(house.journal, STREAM, 2, house.clock)
    assert [record.data for record in await second.open()] == [b"whole", b"b"]


async def test_a_life_that_another_one_followed_writes_nothing_more() -> None:
    house = House()
    first, _ = await house.life(1), await house.life(2)

    with pytest.raises(Fenced):
        await first.append(b"late")
    assert await house.written() == []


async def test_while_the_journal_is_away_a_writer_waits_and_says_why_and_then_goes_on_in_order() -> None:
    house = House()
    writer = await house.life(1)
    house.journal.broken = "the disk is full"

    appends = [asyncio.ensure_future(writer.append(data)) for data in (b"a", b"b")]
    await house.clock.advance(10 * PAUSE)
    assert not any(append.done() for append in appends)
    assert "the disk is full" in writer.note

    house.journal.broken = ""
    await house.clock.advance(PAUSE)
    await asyncio.gather(*appends)
    assert await house.written() == [b"a", b"b"]
    assert writer.note == ""


async def test_who_is_cancelled_while_an_append_is_under_way_leaves_no_hole_and_no_conflict() -> None:
    house = House()
    writer = await house.life(1)
    house.journal.broken = "away"
    append = asyncio.ensure_future(writer.append(b"a"))
    await house.clock.advance(PAUSE)
    append.cancel()
    with pytest.raises(asyncio.CancelledError):
        await append

    house.journal.broken = ""
    after = asyncio.ensure_future(writer.append(b"b"))
    await house.clock.advance(PAUSE)
    await after
    assert await house.written() == [b"a", b"b"]


async def test_a_writer_that_is_closed_waits_for_nothing() -> None:
    house = House()
    writer = await house.life(1)
    house.journal.broken = "away"
    append = asyncio.ensure_future(writer.append(b"a"))
    await house.clock.advance(PAUSE)
    writer.close()

    with pytest.raises(JournalUnavailable):
        await append
    house.journal.broken = ""
    with pytest.raises(JournalUnavailable):
        await writer.append(b"b")
    assert await house.written() == []


async def test_a_fleet_has_one_stream_for_each_agent_one_for_each_mailbox_and_a_ledger() -> None:
    house = House()
    log = FleetLog(house.journal, "f")
    ledger = await log.ledger(house.clock)

    assert log.agent("ana", 1, house.clock).stream == "f/agent/ana"  # type: ignore[arg-type]
    assert log.mail("ana", 1, house.clock).stream == "f/mail/ana"  # type: ignore[arg-type]
    assert (ledger.stream, ledger.incarnation) == ("f/ledger", 1)


async def test_each_process_that_goes_on_with_the_accounts_is_newer_than_all_before() -> None:
    house = House()
    log = FleetLog(house.journal, "f")
    first = await log.ledger(house.clock)
    await first.open()

    second = await log.ledger(house.clock)

    assert second.incarnation == 2, "though the first has written nothing"
    with pytest.raises(Fenced):
        await first.append(b"a")


async def test_of_two_processes_that_go_on_with_the_accounts_at_once_one_may_write() -> None:
    house = House()
    log = FleetLog(house.journal, "f")
    first, second = await asyncio.gather(log.ledger(house.clock), log.ledger(house.clock))

    opened = await asyncio.gather(second.open(), first.open(), return_exceptions=True)

    assert opened[0] == () and isinstance(opened[1], Fenced)
    await second.append(b"a")
    with pytest.raises(Fenced):
        await first.append(b"a")
