"""Mail of an agent that died for good: each sender learns what became of it, once, whoever dies meanwhile."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest

from amrita_fleet import Agent, JournalUnavailable, PeerUnreachable, RecordInvalid
from amrita_fleet.protocols.checkin import DEAD
from amrita_fleet.protocols.codec import encode_batch
from amrita_fleet.protocols.ids import SUPERVISOR, USER, AgentId, Incarnation, MessageId, RunId
from amrita_fleet.protocols.mail import Kind, Receipt, ReceiptState, Refusal
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.protocols.providers.script import Move, say
from amrita_fleet.protocols.providers.scripted import scripted
from amrita_fleet.protocols.restarts import RestartPolicy
from amrita_fleet.runtime.clock import SystemClock, VirtualClock, settle
from amrita_fleet.runtime.config import AmritaConfig, MailConfig
from amrita_fleet.runtime.dead_letters import DeadLetterOffice
from amrita_fleet.runtime.journal.fleet_log import FleetLog
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.local import LocalSystem
from amrita_fleet.runtime.mail.outbox import Outbox
from amrita_fleet.runtime.ports import Record
from amrita_fleet.runtime.records import Unread, decode_record
from amrita_fleet.runtime.supervision.command_log import JournaledCommands
from amrita_fleet.runtime.supervision.commands import Newcomer
from amrita_fleet.runtime.supervision.replay import perform
from amrita_fleet.runtime.supervision.supervisor import Supervisor
from amrita_fleet.runtime.supervision.wording import UNSPAWNED
from amrita_fleet.runtime.system import SpawnOrder
from amrita_fleet.runtime.watching import next_notices

pytestmark = pytest.mark.anyio

ANA, BOB = AgentId("ana"), AgentId("bob")
FIRST = Incarnation(1)
KEEPS = AmritaConfig(mail=MailConfig(on_mail="keep"))


class DoomedJournal(MemoryJournal):
    """Is away for its process for good, from one append on: before that is done, or after."""

    doom: tuple[str, bool] | None = None

    def __init__(self) -> None:
        super().__init__()
        self.struck = asyncio.Event()

    async def append(
        self, stream: str, incarnation: int, first: int, records: tuple[bytes, ...], *, snapshot: bool = False
    ) -> None:
        doomed, after = self.doom or ("", False)
        if stream == doomed and not after:
            self.die()
        await super().append(stream, incarnation, first, records, snapshot=snapshot)
        if stream == doomed:
            self.die()

    def die(self) -> None:
        self.broken = "the process died"
        self.struck.set()


class SlowJournal(MemoryJournal):
    """Opens no stream of a second life before it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()
        self.go.set()

    async def open(self, stream: str, incarnation: int) -> tuple[Record, ...]:
        if incarnation == 2:
            await self.go.wait()
        return await super().open(stream, incarnation)


class Process:
    """A Supervisor of the fleet `f` in a process of its own, as it is on Ray."""

    def __init__(self, journal: MemoryJournal) -> None:
        self.journal = journal
        self.clock = SystemClock()
        self.notes: list[tuple[AgentId, str]] = []

    async def open(self) -> "Process":
        streams = FleetLog(self.journal, "f")
        commands = JournaledCommands(await streams.ledger(self.clock), self.clock)
        state = await commands.open()
        self.supervisor = Supervisor(
            fleet="f",
            limit=None,
            now=self.clock.now,
            post=lambda agent, text: self.notes.append((agent, text)),
            log=commands,
            state=state,
        )
        commands.begin(lambda command: perform(self.supervisor, command))
        self.office = DeadLetterOffice(self.supervisor, streams, self.clock)
        self._commands = commands
        return self

    async def quarantine(self, agent: AgentId, life: int = 1) -> None:
        """Have an agent die once too often."""
        self.supervisor.begin("owner", None, RestartPolicy(intensity=0))
        assert not self.supervisor.died(agent, Incarnation(life), "killed", restart=True)
        await self._commands.written()

    async def told(self, *agents: AgentId) -> list[Notice]:
        """The dead letters that were told of, once all mailboxes of these agents are closed."""
        await self.office.close(agents)
        await self._commands.written()
        return dead(self.supervisor.feed.read(0, 10_000))

    async def end(self) -> None:
        await self.office.aclose()
        await self._commands.aclose()


async def told_by(notices: Callable[[int, float], Awaitable[tuple[Notice, ...]]]) -> Notice:
    """The first dead letter that is told of."""
    after = 0
    async with asyncio.timeout(10):
        while True:
            for notice in await notices(after, 10):
                after = notice.number
                if dead((notice,)):
                    return notice


def dead(notices: tuple[Notice, ...]) -> list[Notice]:
    return [each for each in notices if (each.type, each.extra_type) == (NoticeType.MAIL, "dead")]


async def opened(journal: MemoryJournal | None) -> LocalSystem:
    system = LocalSystem("f", None, SystemClock(), journal)
    await system.open()
    return system


async def spawn(system: LocalSystem, name: AgentId = ANA, *moves: Move) -> None:
    agent = Agent(preset=scripted(*(moves or (say("hi"),))), config=KEEPS)
    await system.spawn((SpawnOrder(name, agent),), lambda _ready, _ordered: None)


async def write(system: LocalSystem, count: int, first: int = 1, sender: AgentId = BOB) -> list[MessageId]:
    """Have ana accept messages; gives their ids."""
    outbox = Outbox(sender, Incarnation(first))
    for number in range(count):
        kind = Kind.NOTE if sender == SUPERVISOR else Kind.PEER
        outbox.put(ANA, f"letter {number}", now=0.0, kind=kind)
    batch = outbox.next_batch(ANA)
    await system.post.deliver(ANA, encode_batch(batch))
    return [each.id for each in batch]


async def read(system: LocalSystem) -> RunId:
    """Have ana read what has come."""
    run = await system.start(ANA, "Read.", None)
    await system.outcome(ANA, run)
    return run


@asynccontextmanager
async def left_behind(journal: MemoryJournal) -> AsyncGenerator[LocalSystem, None]:
    """A process of the fleet that never notices that it was followed; bob and ana live there."""
    system = await opened(journal)
    await spawn(system, BOB)
    await spawn(system)
    try:
        yield system
    finally:
        await system.close()


def state(receipt: Receipt | None) -> tuple[ReceiptState, Refusal | None] | None:
    return None if receipt is None else (receipt.state, receipt.refusal)


# --- with a journal ---------------------------------------------------------------------------------------------------


async def test_the_senders_of_a_quarantined_agents_mail_are_told_and_receipts_say_what_became_of_each() -> None:
    journal = MemoryJournal()
    async with left_behind(journal) as first:
        (old,) = await write(first, 1)
        run = await read(first)
        one, two = await write(first, 2, first=2)
        (mine,) = await write(first, 1, sender=USER)
        await write(first, 1, sender=SUPERVISOR)
        process = await Process(journal).open()

        await process.quarantine(ANA)
        told = await process.told(ANA)

        assert [(each.agent, dict(each.data)) for each in told] == [
            (ANA, {"id": id_, "sender": sender, "refusal": "died"})
            for id_, sender in ((one, BOB), (two, BOB), (mine, USER))
        ]
        assert process.notes == [(BOB, f"ana never read your message {id_}: died.") for id_ in (one, two)]
        receipts = [await process.office.receipt(ANA, id_) for id_ in (old, one, mine)]
        died = (ReceiptState.DEAD, Refusal.DIED)
        assert [*map(state, receipts)] == [(ReceiptState.CONSUMED, None), died, died]
        assert receipts[0] is not None and receipts[0].run == run
        assert await process.office.receipt(ANA, MessageId("never sent")) is None
        await process.end()


async def test_the_mailbox_is_closed_without_anybody_asking_for_it() -> None:
    journal = MemoryJournal()
    async with left_behind(journal) as first:
        (one,) = await write(first, 1)
        process = await Process(journal).open()
        await process.quarantine(ANA)
        assert (await told_by(partial(next_notices, process.supervisor.feed))).data["id"] == one
        await process.end()


async def test_spawned_anew_the_agent_reads_what_is_new_and_nothing_that_was_declared_dead() -> None:
    journal = MemoryJournal()
    async with left_behind(journal) as first:
        (one,) = await write(first, 1)
        process = await Process(journal).open()
        await process.quarantine(ANA)
        await process.end()  # at once: whoever comes next closes the mailbox

    second = await opened(journal)
    await spawn(second)
    (two,) = await write(second, 1, first=3)
    await read(second)

    receipts = [await second.post.receipt(ANA, each) for each in (one, two)]
    assert [*map(state, receipts)] == [(ReceiptState.DEAD, Refusal.DIED), (ReceiptState.CONSUMED, None)]
    assert [each.data["id"] for each in dead(await second.notices(0, 0))] == [one]
    rows = {row.agent: row for row in await second.statuses()}
    assert rows[ANA].incarnation == 3, "the mailbox was closed under the number between"
    await second.close()


async def test_nobody_is_admitted_while_the_mailbox_of_the_dead_one_is_being_closed() -> None:
    journal = SlowJournal()
    async with left_behind(journal) as first:
        (one,) = await write(first, 1)
        process = await Process(journal).open()
        journal.go.clear()
        await process.quarantine(ANA)
        await process.end()
        second = await opened(journal)
        spawning = asyncio.create_task(spawn(second))
        await settle()
        assert [row.phase for row in await second.statuses() if row.agent == ANA] == [DEAD]
        journal.go.set()
        await spawning
        assert [row.incarnation for row in await second.statuses() if row.agent == ANA] == [3]
        assert state(await second.post.receipt(ANA, one)) == (ReceiptState.DEAD, Refusal.DIED)
        await second.close()


async def test_what_is_left_of_the_dead_life_can_accept_and_read_nothing_more() -> None:
    journal = MemoryJournal()
    async with left_behind(journal) as first:
        (one,) = await write(first, 1)
        process = await Process(journal).open()
        await process.quarantine(ANA)
        await process.told(ANA)

        with pytest.raises(PeerUnreachable):
            await write(first, 1, first=2)
        with pytest.raises((PeerUnreachable, JournalUnavailable)):
            await read(first)

        assert state(await process.office.receipt(ANA, one)) == (ReceiptState.DEAD, Refusal.DIED)
        await process.end()


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("stream", ["f/agent/ana", "f/ledger"])
async def test_wherever_a_supervisor_dies_each_letter_is_told_once(
    monkeypatch: pytest.MonkeyPatch, stream: str, after: bool
) -> None:
    monkeypatch.setattr("amrita_fleet.runtime.supervision.command_log.LAST_WORDS", 0.01)
    journal = DoomedJournal()
    async with left_behind(journal) as first:
        ids = await write(first, 3)
        process = await Process(journal).open()
        await process.office.aclose()  # it closes nothing by itself, so that the test says when
        await process.quarantine(ANA)
        journal.doom = stream, after
        closing = asyncio.create_task(process.told(ANA))
        await journal.struck.wait()
        closing.cancel()
        await asyncio.gather(closing, return_exceptions=True)
        await process.end()
        journal.doom, journal.broken = None, ""

        following = await Process(journal).open()
        told = await following.told(ANA)

        assert [each.data["id"] for each in told] == ids
        records = [decode_record(record.data) for record in await journal.read("f/agent/ana")]
        assert [len(each.lost) for each in records if isinstance(each, Unread)] == [3]
        assert await following.told(ANA) == told, "nothing more is told when it is asked again"
        await following.end()


async def test_who_closes_a_mailbox_after_somebody_else_for_another_reason_tells_what_is_written() -> None:
    journal = MemoryJournal()
    async with left_behind(journal) as first:
        (one,) = await write(first, 1)
        process = await Process(journal).open()
        await process.quarantine(ANA)
        await process.told(ANA)
        ledger = await journal.read("f/ledger")
        await process.end()
        again = MemoryJournal()
        await again.open("f/ledger", 1)
        await again.append("f/ledger", 1, 1, tuple(record.data for record in ledger[:-1]))
        for stream in ("f/agent/ana", "f/mail/ana"):
            for record in await journal.read(stream):
                await again.open(stream, record.incarnation)
                await again.append(stream, record.incarnation, record.number, (record.data,), snapshot=record.snapshot)
        following = await Process(again).open()
        following.supervisor.stop((ANA,), "enough")

        (told,) = await following.told(ANA)

        assert (told.data["id"], told.data["refusal"]) == (one, "died")
        assert state(await following.office.receipt(ANA, one)) == (ReceiptState.DEAD, Refusal.DIED)
        await following.end()


async def test_mail_of_one_that_may_be_spawned_to_go_on_waits_for_that() -> None:
    journal = MemoryJournal()
    async with left_behind(journal) as first:
        (one,) = await write(first, 1)
        second = await opened(journal)
        assert state(await second.post.receipt(ANA, one)) == (ReceiptState.ACCEPTED, None)
        await spawn(second)
        await read(second)
        assert state(await second.post.receipt(ANA, one)) == (ReceiptState.CONSUMED, None)
        assert dead(await second.notices(0, 0)) == []
        await second.close()


async def test_an_undone_spawn_leaves_the_mail_as_it_was() -> None:
    journal = MemoryJournal()
    async with left_behind(journal) as first:
        (one,) = await write(first, 1)
        process = await Process(journal).open()
        process.supervisor.died(ANA, FIRST, UNSPAWNED)
        assert await process.told(ANA) == []
        assert state(await process.office.receipt(ANA, one)) == (ReceiptState.ACCEPTED, None)
        assert process.supervisor.admit(ANA, None, None, 1) == 2
        await process.end()


async def test_mail_of_one_that_was_stopped_and_is_not_spawned_again_is_dead() -> None:
    journal = MemoryJournal()
    async with left_behind(journal) as first:
        (one,) = await write(first, 1)
        process = await Process(journal).open()
        process.supervisor.stop((ANA,), "enough")  # and dies before the agent has heard of it
        await process.end()
        second = await opened(journal)
        assert (await told_by(second.notices)).data["refusal"] == "stopped"
        assert state(await second.post.receipt(ANA, one)) == (ReceiptState.DEAD, Refusal.STOPPED)
        await second.close()


async def test_while_the_journal_is_away_a_mailbox_waits_to_be_closed() -> None:
    journal, clock = MemoryJournal(), VirtualClock()
    async with left_behind(journal) as first:
        (one,) = await write(first, 1)
        supervisor = Supervisor(fleet="f", limit=None, now=clock.now, post=lambda _agent, _text: None)
        supervisor.admit_all([Newcomer(ANA), Newcomer(BOB)], 1)
        journal.broken = "away"
        office = DeadLetterOffice(supervisor, FleetLog(journal, "f"), clock)
        supervisor.died(ANA, FIRST, "killed")
        await clock.advance(10)
        assert dead(supervisor.feed.read(0, 100)) == []
        journal.broken = ""
        await clock.advance(10)
        assert [each.data["id"] for each in dead(supervisor.feed.read(0, 100))] == [one]
        await office.aclose()


async def test_an_agent_whose_records_cannot_be_read_holds_up_no_other_one(caplog: pytest.LogCaptureFixture) -> None:
    journal = MemoryJournal()
    async with left_behind(journal) as first:
        (one,) = await write(first, 1)
        await journal.open("f/agent/bob", 1)
        last = (await journal.read("f/agent/bob") or (None,))[-1]
        await journal.append("f/agent/bob", 1, 1 if last is None else last.number + 1, (b"\xff",))
        process = await Process(journal).open()
        process.supervisor.died(BOB, FIRST, "killed")
        await process.quarantine(ANA)
        assert (await told_by(partial(next_notices, process.supervisor.feed))).data["id"] == one
        for asked in (process.office.close([BOB]), process.office.receipt(BOB, one)):
            with pytest.raises(RecordInvalid, match="f/agent/bob"):
                await asked
        await process.end()
    assert "the mailbox of bob is not closed" in caplog.text


# --- without a journal ------------------------------------------------------------------------------------------------


class Bare:
    """A fleet without a journal: bob wrote to ana twice, who read one, and once to somebody else."""

    def __init__(self) -> None:
        self.notes: list[tuple[AgentId, str]] = []
        self.clock = VirtualClock()
        self.supervisor = Supervisor(
            fleet="f", limit=None, now=lambda: 1.0, post=lambda who, text: self.notes.append((who, text))
        )
        self.supervisor.admit_all([Newcomer(ANA), Newcomer(BOB)], 1)
        for id_, to in (("b1", ANA), ("b2", ANA), ("b3", "cem")):
            self.sent(id_, to)
        self.consumed("b1")
        self.office = DeadLetterOffice(self.supervisor, None, self.clock)

    def sent(self, id_: str, to: str = ANA) -> None:
        """Bob tells that he sent a message."""
        notice = Notice(NoticeType.MAIL, "sent", BOB, "", data={"id": id_, "recipient": to, "refusal": ""})
        self.supervisor.report(self.supervisor.find(BOB), (notice,))

    def consumed(self, id_: str) -> None:
        """Ana tells that she read one."""
        notice = Notice(NoticeType.MAIL, "consumed", ANA, "", RunId("r"), 3, {"id": id_, "sender": BOB})
        self.supervisor.report(self.supervisor.find(ANA), (notice,))

    async def ana_dies(self, life: int = 1) -> list[Notice]:
        """Have ana die; gives the dead letters."""
        self.supervisor.died(ANA, Incarnation(life), "killed")
        await self.clock.advance(10)
        return dead(self.supervisor.feed.read(0, 100))


@pytest.fixture
async def bare() -> AsyncGenerator[Bare, None]:
    made = Bare()
    yield made
    await made.office.aclose()


async def test_without_a_journal_what_is_known_to_be_sent_and_not_to_be_read_is_lost_with_the_process(
    bare: Bare,
) -> None:
    (told,) = await bare.ana_dies()
    assert (told.text, told.data["refusal"]) == ("b2 from bob was lost when its recipient died: lost", "lost")
    assert bare.notes == [(BOB, "ana died with your message b2, and may not have read it: lost.")]


async def test_without_a_journal_receipts_say_what_is_known_and_that_the_rest_is_lost(bare: Bare) -> None:
    await bare.ana_dies()
    receipts = [await bare.office.receipt(ANA, MessageId(id_)) for id_ in ("b1", "b2", "the user's")]
    assert receipts[0] == Receipt(MessageId("b1"), ANA, ReceiptState.CONSUMED, None, RunId("r"), 3)
    assert [*map(state, receipts[1:])] == [(ReceiptState.DEAD, Refusal.LOST)] * 2


async def test_without_a_journal_of_one_that_is_being_spawned_nothing_is_lost(bare: Bare) -> None:
    assert await bare.office.receipt(BOB, MessageId("m")) is None


async def test_what_the_dead_read_is_not_lost_although_its_sender_tells_of_it_only_later(bare: Bare) -> None:
    bare.consumed("b4")
    bare.sent("b4")
    assert [each.data["id"] for each in await bare.ana_dies()] == ["b2"]


async def test_what_a_sender_tells_of_a_moment_after_the_death_is_lost_too(bare: Bare) -> None:
    bare.supervisor.died(ANA, FIRST, "killed")
    await bare.clock.advance(0.5)
    bare.sent("b4")
    await bare.clock.advance(10)
    assert [each.data["id"] for each in dead(bare.supervisor.feed.read(0, 100))] == ["b2", "b4"]


async def test_a_lost_message_is_told_once_however_often_its_recipient_dies(bare: Bare) -> None:
    await bare.ana_dies()
    assert bare.supervisor.admit(ANA, None, None, 1) == 2
    assert [each.data["id"] for each in await bare.ana_dies(2)] == ["b2"]
