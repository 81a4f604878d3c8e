"""What a fleet asks of a system."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from amrita_fleet import (
    Agent,
    AmritaConfig,
    Fleet,
    FleetClosed,
    FleetTaken,
    MailConfig,
    NamesInvalid,
    PeerUnreachable,
    RecordInvalid,
    SystemUnavailable,
)
from amrita_fleet.protocols.mail import ReceiptState
from amrita_fleet.protocols.providers.scripted import say, scripted
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.journal.sql import SqlJournal

pytestmark = pytest.mark.anyio


async def test_one_text_is_no_list_of_names() -> None:
    async with Fleet(system="local") as fleet:
        with pytest.raises(NamesInvalid, match=r"names='ana' is one text, not several names: write names=\['ana'\]"):
            await fleet.spawn(Agent(preset=scripted(say("x"))), "ana")
        assert await fleet.statuses() == ()


async def test_a_stop_needs_somebody_to_stop() -> None:
    async with Fleet(system="local") as fleet:
        (ana,) = await fleet.spawn(Agent(preset=scripted(say("hi"))), ["ana"])
        nobody: list[str] = []
        with pytest.raises(TypeError, match="agent"):
            await fleet.stop(*nobody)
        assert (await ana.run("?")).text == "hi"


async def test_notices_can_be_read_from_the_end() -> None:
    async with Fleet(system="local") as fleet:
        (ana,) = await fleet.spawn(Agent(preset=scripted(say("hi"))), ["ana"])
        run = await ana.start("?")
        before = [notice async for notice in run]
        async for notice in fleet.notices(after=-1):
            assert notice == before[-1]
            break


async def test_a_fleet_that_was_left_says_so_even_to_who_has_written_before() -> None:
    async with Fleet(system="local") as fleet:
        await fleet.spawn(Agent(preset=scripted(say("hi"))), ["ana"])
        await fleet.send("ana", "hello")
    with pytest.raises(FleetClosed, match="make a new Fleet"):
        await fleet.send("ana", "hello?")


async def test_first_messages_that_are_sent_at_once_come_from_one_sender_and_all_arrive() -> None:
    keeps = Agent(preset=scripted(say("hi")), config=AmritaConfig(mail=MailConfig(on_mail="keep")))
    async with Fleet(system="local", journal=MemoryJournal()) as fleet:
        (ana,) = await fleet.spawn(keeps, ["ana"])
        receipts = await asyncio.gather(*(ana.send(body) for body in ("one", "two", "three")))
        assert [receipt.state for receipt in receipts] == [ReceiptState.ACCEPTED] * 3
        assert [receipt.id for receipt in receipts] == ["user.1.ana.1", "user.1.ana.2", "user.1.ana.3"]
        [row] = await fleet.statuses()
        assert row.waiting == 3


async def test_who_gave_up_the_first_message_keeps_nobody_from_sending_the_next() -> None:
    async with Fleet(system="local", journal=MemoryJournal()) as fleet:
        (ana,) = await fleet.spawn(Agent(preset=scripted(say("hi"))), ["ana"])
        first = asyncio.ensure_future(ana.send("one"))
        await asyncio.sleep(0)
        second = asyncio.ensure_future(ana.send("two"))
        first.cancel()
        assert (await second).state is ReceiptState.ACCEPTED


@pytest.mark.parametrize("same_life", [False, True], ids=["a-newer-life", "the-same-life"])
async def test_a_fleet_that_another_process_has_opened_says_so_whatever_it_is_asked_for(same_life: bool) -> None:
    journal, agent = MemoryJournal(), Agent(preset=scripted(say("never")))
    async with Fleet("t", system="local", journal=journal) as fleet:
        (ana,) = await fleet.spawn(agent, ["ana"])
        if same_life:  # as where a journal was put back from a copy
            last = (await journal.read("t/ledger"))[-1].number
            await journal.append("t/ledger", 1, last + 1, (b"of somebody else",))
        else:
            await journal.claim("t/ledger")
        run = await ana.start("hello?")
        with pytest.raises(PeerUnreachable, match="this life is over"):
            await run.outcome()
        for ask in (partial(ana.send, "hello"), partial(fleet.spawn, agent, ["bob"]), ana.pause, ana.resume, ana.stop):
            with pytest.raises(FleetTaken, match=r"'t' was opened by another process .* give each fleet a name"):
                await ask()


async def test_a_fleet_that_cannot_be_opened_lets_go_of_its_journal(tmp_path: Path) -> None:
    path = tmp_path / "f.sqlite"
    journal = SqlJournal(path)
    await journal.open("f/ledger", 1)
    await journal.append("f/ledger", 1, 1, (b"something else",))
    await journal.aclose()

    with pytest.raises(RecordInvalid):
        await Fleet("f", system="local", journal=path).__aenter__()

    journal = SqlJournal(path, create=False)
    assert not await journal.in_use()
    await journal.aclose()


def test_a_fleet_is_not_entered_without_a_wait() -> None:
    with pytest.raises(FleetClosed, match="use it inside `async with`"), Fleet(system="local"):
        pass


def test_a_fleet_in_this_process_has_no_address() -> None:
    with pytest.raises(SystemUnavailable, match="has no address"):
        Fleet(system="local", address="10.0.0.1:6379")
