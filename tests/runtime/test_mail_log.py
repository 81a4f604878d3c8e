"""What a mailbox has turned away, its next life turns away too: its sender was told so."""

import pytest

from amrita_fleet.protocols.codec import decode_verdicts, encode_batch
from amrita_fleet.protocols.ids import USER, AgentId, Incarnation, MessageId, RunId
from amrita_fleet.protocols.mail import Envelope, Kind, ReceiptState, Refusal, Verdict
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.config import MailConfig
from amrita_fleet.runtime.inbox import Inbox
from amrita_fleet.runtime.journal.fleet_log import FleetLog
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.life_log import LifeLog
from amrita_fleet.runtime.step.rules import Rules

pytestmark = pytest.mark.anyio

ANA, BOB = AgentId("ana"), AgentId("bob")


@pytest.fixture(params=[1, 1_000], ids=["a snapshot each time", "no snapshot"], autouse=True)
def cadence(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amrita_fleet.runtime.mail_log.SNAPSHOT_RECORDS", request.param)


def letter(seq: int, *, sender: AgentId = BOB, life: int = 1, attempt: int = 0, ttl: float = 0.0) -> Envelope:
    id_ = MessageId(f"{sender}.{life}.{seq}")
    return Envelope(id_, sender, Incarnation(life), seq, ANA, Kind.PEER, "hello", "", 0, 100.0, ttl, "", attempt)


class Life:
    """One life of ana's mailbox, which holds two messages, on a machine whose clock shows `now`."""

    def __init__(self, journal: MemoryJournal, number: int, now: float = 100.0) -> None:
        clock = VirtualClock(now)
        self.inbox = Inbox(ANA, MailConfig(mailbox_messages=2), clock, lambda: None)
        self.log = LifeLog(FleetLog(journal, "f"), ANA, Incarnation(number), self.inbox, clock)

    async def open(self) -> "Life":
        await self.log.open(Rules())
        return self

    async def take(self, *batch: Envelope) -> list[Verdict]:
        return list(decode_verdicts(await self.log.deliver(encode_batch(batch))))

    def read(self) -> None:
        self.inbox.consume(tuple(each.id for each in self.inbox.take(1 << 20)), RunId("r"), 1)


async def test_what_came_too_late_comes_too_late_on_a_machine_with_a_slow_clock() -> None:
    journal = MemoryJournal()
    first = await Life(journal, 1, now=110.0).open()
    assert await first.take(letter(1, ttl=5.0)) == [Refusal.EXPIRED]

    second = await Life(journal, 2, now=90.0).open()

    assert await second.take(letter(1, ttl=5.0)) == [Refusal.EXPIRED]
    receipt = second.inbox.receipt(letter(1).id)
    assert receipt is not None and (receipt.state, receipt.refusal) == (ReceiptState.REFUSED, Refusal.EXPIRED)


async def test_what_was_refused_before_something_that_was_accepted_is_not_taken_for_accepted() -> None:
    journal = MemoryJournal()
    first = await Life(journal, 1, now=110.0).open()
    assert await first.take(letter(1, ttl=5.0), letter(2)) == [Refusal.EXPIRED, None]

    second = await Life(journal, 2, now=110.0).open()

    assert await second.take(letter(1, ttl=5.0), letter(2)) == [Refusal.EXPIRED, None]
    assert second.inbox.counts() == (1, 0)


async def test_what_a_closed_mailbox_refused_is_refused_when_it_is_open_again_and_what_is_new_is_not() -> None:
    journal = MemoryJournal()
    first = await Life(journal, 1).open()
    first.inbox.close(Refusal.LIMIT)
    assert await first.take(letter(1)) == [Refusal.LIMIT]

    second = await Life(journal, 2).open()

    assert await second.take(letter(1), letter(2)) == [Refusal.LIMIT, None]


@pytest.mark.parametrize("sender", [BOB, USER])
async def test_a_late_copy_of_what_met_a_full_mailbox_is_not_taken_in_where_there_is_room(sender: AgentId) -> None:
    journal = MemoryJournal()
    first = await Life(journal, 1).open()
    early, late = letter(1, sender=sender), letter(3, sender=sender)
    assert await first.take(early, letter(2, sender=sender), late) == [None, None, Refusal.FULL]
    first.read()

    second = await Life(journal, 2).open()
    second.read()

    assert await second.take(late) == [Refusal.FULL]
    assert await second.take(late._replace(attempt=1)) == [None]


async def test_a_fenced_sender_is_fenced_in_the_next_life_although_the_newer_one_found_no_room() -> None:
    journal = MemoryJournal()
    first = await Life(journal, 1).open()
    assert await first.take(letter(1), letter(2)) == [None, None]
    assert await first.take(letter(1, life=2)) == [Refusal.FULL]
    assert await first.take(letter(3)) == [Refusal.FENCED]

    second = await Life(journal, 2).open()
    second.read()

    assert await second.take(letter(3)) == [Refusal.FENCED]
    assert await second.take(letter(1, life=2, attempt=1)) == [None]


async def test_a_refusal_that_was_told_before_is_not_written_again() -> None:
    journal = MemoryJournal()
    life = await Life(journal, 1, now=110.0).open()
    await life.take(letter(1, ttl=5.0))
    before = await journal.read("f/mail/ana")
    assert await life.take(letter(1, ttl=5.0)) == [Refusal.EXPIRED]
    assert await journal.read("f/mail/ana") == before
