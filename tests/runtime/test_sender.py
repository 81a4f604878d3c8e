"""The pump around the outbox, over a transport that leads to real mailboxes."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from amrita_fleet.protocols.codec import decode_batch, encode_verdicts
from amrita_fleet.protocols.errors import DecodeError, VersionMismatch
from amrita_fleet.protocols.ids import AgentId, Incarnation, MessageId, RunId
from amrita_fleet.protocols.mail import BODY_LIMIT, Envelope, Kind, Receipt, ReceiptState, Refusal
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.errors import AgentUnknown, ChannelClosed, PeerUnreachable, SelfAddressed
from amrita_fleet.runtime.mail.mailbox import Mailbox
from amrita_fleet.runtime.sender import Sender

ANA = AgentId("ana")
BOB = AgentId("bob")
CEM = AgentId("cem")
RUN = RunId("run-1")
DEADLINE = 30.0
EVERYTHING = 1 << 30

Answer = Callable[[AgentId, bytes], bytes]


class Post:
    """A transport that leads to mailboxes in this process.

    `gate` holds calls back while it is clear; `loses_calls` and `loses_answers` are how many of the next ones fail.
    """

    def __init__(self, clock: VirtualClock, *mailboxes: Mailbox) -> None:
        self.clock = clock
        self.mailboxes = {mailbox.owner: mailbox for mailbox in mailboxes}
        self.batches: list[tuple[float, tuple[Envelope, ...]]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.loses_calls = 0
        self.loses_answers = 0

    async def deliver(self, recipient: AgentId, batch: bytes) -> bytes:
        envelopes = decode_batch(batch)
        self.batches.append((self.clock.monotonic(), envelopes))
        await self.gate.wait()
        if recipient not in self.mailboxes:
            raise AgentUnknown(name=recipient, near=("bob",))
        if self.loses_calls:
            self.loses_calls -= 1
            raise PeerUnreachable(agent=recipient, reason="the call was lost")
        verdicts = self.mailboxes[recipient].accept(envelopes, self.clock.now())
        if self.loses_answers:
            self.loses_answers -= 1
            raise PeerUnreachable(agent=recipient, reason="the answer was lost")
        return encode_verdicts(verdicts)

    def times(self) -> list[float]:
        return [round(moment, 6) for moment, _ in self.batches]

    def sizes(self) -> list[int]:
        return [len(batch) for _, batch in self.batches]


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(now=1_000.0)


@pytest.fixture
def bob() -> Mailbox:
    return Mailbox(BOB, messages=3)


@pytest.fixture
async def post(clock: VirtualClock, bob: Mailbox) -> Post:
    return Post(clock, bob, Mailbox(CEM))


@pytest.fixture
async def sender(post: Post, clock: VirtualClock) -> AsyncIterator[Sender]:
    sender = Sender(ANA, Incarnation(1), post, clock, deadline=DEADLINE)
    yield sender
    await sender.aclose()


def bodies(mailbox: Mailbox) -> list[str]:
    return [envelope.body for envelope in mailbox.take(EVERYTHING)]


def empty(mailbox: Mailbox) -> None:
    mailbox.consume([envelope.id for envelope in mailbox.take(EVERYTHING)], RUN, 1)


def sending(sender: Sender, *texts: str, to: AgentId = BOB) -> list[asyncio.Task[Receipt]]:
    return [asyncio.create_task(sender.send(to, text)) for text in texts]


# --- what is accepted -------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_message_is_accepted_and_its_sender_told(sender: Sender, bob: Mailbox) -> None:
    receipt = await sender.send(BOB, "hello", reply_to="x", kind=Kind.NOTE, hops=2, ttl=60.0, trace="00-1-2-01")
    assert receipt == Receipt(MessageId("ana.1.bob.1"), BOB, ReceiptState.ACCEPTED)
    (envelope,) = bob.take(EVERYTHING)
    assert envelope.id == receipt.id
    assert (envelope.sender, envelope.kind, envelope.body, envelope.created) == (ANA, Kind.NOTE, "hello", 1_000.0)
    assert (envelope.reply_to, envelope.hops, envelope.ttl, envelope.trace) == ("x", 2, 60.0, "00-1-2-01")
    assert sender.sent == 1


@pytest.mark.anyio
async def test_what_is_sent_while_a_batch_is_on_its_way_is_the_next_batch(
    sender: Sender, post: Post, clock: VirtualClock, bob: Mailbox
) -> None:
    post.gate.clear()
    first = sending(sender, "a")
    await clock.advance(0)
    rest = sending(sender, "b", "c")
    await clock.advance(0)
    assert post.sizes() == [1]
    post.gate.set()
    await asyncio.gather(*first, *rest)
    assert post.sizes() == [1, 2]
    assert bodies(bob) == ["a", "b", "c"]


@pytest.mark.anyio
async def test_one_slow_recipient_holds_up_no_other(sender: Sender, post: Post, clock: VirtualClock) -> None:
    post.gate.clear()
    slow = sending(sender, "a")
    await clock.advance(0)
    assert list(sender.waiting_for) == [BOB]
    other = sending(sender, "b", to=CEM)
    await clock.advance(0)
    assert list(sender.waiting_for) == [BOB, CEM]
    assert post.sizes() == [1, 1]
    post.gate.set()
    await asyncio.gather(*slow, *other)
    assert list(sender.waiting_for) == []


@pytest.mark.anyio
async def test_many_callers_share_batches(sender: Sender, post: Post) -> None:
    receipts = await asyncio.gather(*sending(sender, *(str(number) for number in range(600)), to=CEM))
    assert all(receipt.state is ReceiptState.ACCEPTED for receipt in receipts)
    assert post.sizes() == [256, 256, 88]
    assert bodies(post.mailboxes[CEM]) == [str(number) for number in range(600)]
    assert sender.sent == 600


@pytest.mark.anyio
async def test_a_given_id_makes_the_next_lifes_message_the_same_one(
    sender: Sender, post: Post, clock: VirtualClock, bob: Mailbox
) -> None:
    given = MessageId("ana.run-1.2.0")
    await sender.send(BOB, "a", message=given)
    reborn = Sender(ANA, Incarnation(2), post, clock)
    receipt = await reborn.send(BOB, "a", message=given)
    assert receipt == Receipt(given, BOB, ReceiptState.ACCEPTED)
    assert bodies(bob) == ["a"]
    await reborn.aclose()


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_what_is_too_large_is_refused_without_being_sent(sender: Sender, post: Post) -> None:
    receipt = await sender.send(BOB, "x" * (BODY_LIMIT + 1))
    assert (receipt.state, receipt.refusal) == (ReceiptState.REFUSED, Refusal.TOO_LARGE)
    assert post.batches == []
    assert sender.sent == 0


@pytest.mark.anyio
async def test_a_refusal_for_good_is_told(sender: Sender, bob: Mailbox) -> None:
    bob.close(Refusal.LIMIT)
    receipt = await sender.send(BOB, "hello")
    assert receipt == Receipt(MessageId("ana.1.bob.1"), BOB, ReceiptState.REFUSED, Refusal.LIMIT)


@pytest.mark.anyio
async def test_a_message_to_oneself_is_an_error(sender: Sender) -> None:
    with pytest.raises(SelfAddressed, match="'ana' cannot send a message to itself"):
        await sender.send(ANA, "hello")


@pytest.mark.anyio
async def test_more_than_the_outbox_holds_is_refused_at_once(sender: Sender, post: Post, clock: VirtualClock) -> None:
    post.gate.clear()
    waiting = sending(sender, *("x" for _ in range(1024)))
    await clock.advance(0)
    receipt = await sender.send(BOB, "one more")
    assert (receipt.state, receipt.refusal) == (ReceiptState.REFUSED, Refusal.FULL)
    for task in waiting:
        task.cancel()


# --- full and unreachable recipients ----------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_full_recipient_is_asked_again_after_pauses_that_double_up_to_a_second(
    sender: Sender, post: Post, clock: VirtualClock, bob: Mailbox
) -> None:
    await asyncio.gather(*sending(sender, "a", "b", "c"))
    (waiting,) = sending(sender, "d")
    await clock.advance(4.0)
    assert post.times() == [0.0, 0.0, 0.05, 0.15, 0.35, 0.75, 1.55, 2.55, 3.55]
    empty(bob)
    await clock.advance(1.0)
    assert (await waiting).state is ReceiptState.ACCEPTED
    assert bodies(bob) == ["d"]


@pytest.mark.anyio
async def test_after_progress_the_pauses_begin_anew(
    sender: Sender, post: Post, clock: VirtualClock, bob: Mailbox
) -> None:
    waiting = sending(sender, "a", "b", "c", "d", "e")
    await clock.advance(0.4)
    assert post.times() == [0.0, 0.05, 0.15, 0.35]
    bob.consume([bob.take(EVERYTHING)[0].id], RUN, 1)
    await clock.advance(0.45)
    assert post.times() == [0.0, 0.05, 0.15, 0.35, 0.75, 0.8]
    empty(bob)
    await clock.advance(1.0)
    await asyncio.gather(*waiting)
    assert bodies(bob) == ["e"]


@pytest.mark.anyio
@pytest.mark.parametrize(("calls", "answers"), [(2, 0), (0, 2)], ids=["lost calls", "lost answers"])
async def test_a_batch_whose_outcome_is_unknown_goes_again_and_arrives_once(
    sender: Sender, post: Post, clock: VirtualClock, bob: Mailbox, calls: int, answers: int
) -> None:
    post.loses_calls, post.loses_answers = calls, answers
    waiting = sending(sender, "a", "b")
    await clock.advance(0)
    waiting += sending(sender, "c")
    await clock.advance(1.0)
    receipts = await asyncio.gather(*waiting)
    assert [receipt.state for receipt in receipts] == [ReceiptState.ACCEPTED] * 3
    assert post.times() == [0.0, 0.05, 0.15, 0.15]
    assert post.sizes() == [2, 2, 2, 1]
    assert bodies(bob) == ["a", "b", "c"]


# --- deadlines --------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_at_the_deadline_a_message_that_met_a_full_mailbox_is_withdrawn(
    sender: Sender, clock: VirtualClock, bob: Mailbox
) -> None:
    await asyncio.gather(*sending(sender, "a", "b", "c"))
    (waiting,) = sending(sender, "d")
    await clock.advance(DEADLINE)
    receipt = await waiting
    assert receipt == Receipt(MessageId("ana.1.bob.4"), BOB, ReceiptState.REFUSED, Refusal.FULL)
    empty(bob)
    await clock.advance(DEADLINE)
    assert bodies(bob) == []


@pytest.mark.anyio
async def test_at_the_deadline_a_message_on_its_way_is_pending_and_may_still_arrive(
    sender: Sender, post: Post, clock: VirtualClock, bob: Mailbox
) -> None:
    post.gate.clear()
    (on_its_way,) = sending(sender, "a")
    await clock.advance(10.0)
    (behind,) = sending(sender, "b")
    await clock.advance(DEADLINE - 10.0)
    assert (await on_its_way).state is ReceiptState.PENDING
    assert not behind.done()
    await clock.advance(10.0)
    assert (await behind).refusal is Refusal.FULL
    post.gate.set()
    await clock.advance(0)
    assert bodies(bob) == ["a"]
    assert sender.sent == 1


@pytest.mark.anyio
async def test_at_the_deadline_a_message_whose_fate_is_unknown_is_pending(
    sender: Sender, post: Post, clock: VirtualClock
) -> None:
    post.loses_answers = 1_000
    (waiting,) = sending(sender, "a")
    await clock.advance(DEADLINE)
    assert await waiting == Receipt(MessageId("ana.1.bob.1"), BOB, ReceiptState.PENDING)


@pytest.mark.anyio
async def test_deadlines_are_kept_again_after_a_quiet_time(sender: Sender, post: Post, clock: VirtualClock) -> None:
    await sender.send(BOB, "a")
    await clock.advance(10 * DEADLINE)
    post.gate.clear()
    (waiting,) = sending(sender, "b")
    await clock.advance(DEADLINE)
    assert (await waiting).state is ReceiptState.PENDING


@pytest.mark.anyio
async def test_a_cancelled_caller_takes_its_message_back_unless_it_is_on_its_way(
    sender: Sender, post: Post, clock: VirtualClock, bob: Mailbox
) -> None:
    post.gate.clear()
    (on_its_way,) = sending(sender, "a")
    await clock.advance(0)
    (behind,) = sending(sender, "b")
    await clock.advance(0)
    on_its_way.cancel()
    behind.cancel()
    await asyncio.wait([on_its_way, behind])
    post.gate.set()
    await clock.advance(0)
    assert bodies(bob) == ["a"]


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_an_unknown_recipient_is_an_error_for_everybody_who_waits_for_it(sender: Sender) -> None:
    outcomes = await asyncio.gather(*sending(sender, "a", "b", to=AgentId("bop")), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [AgentUnknown, AgentUnknown]
    assert "Did you mean bob?" in str(outcomes[0])


class Failing:
    """A transport that fails or answers as it is told."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    async def deliver(self, recipient: AgentId, batch: bytes) -> bytes:
        return self.answer(recipient, batch)


def closed(recipient: AgentId, batch: bytes) -> bytes:
    raise ChannelClosed(agent=recipient, reason="it has stopped")


def broken(recipient: AgentId, batch: bytes) -> bytes:
    raise ZeroDivisionError


def of_another_version(recipient: AgentId, batch: bytes) -> bytes:
    return b"\x63"


def too_short(recipient: AgentId, batch: bytes) -> bytes:
    return encode_verdicts(())


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        pytest.param(closed, ChannelClosed, id="closed"),
        pytest.param(broken, ZeroDivisionError, id="a bug in the transport"),
        pytest.param(of_another_version, VersionMismatch, id="another version"),
        pytest.param(too_short, DecodeError, id="too few verdicts"),
    ],
)
async def test_a_failure_of_the_transport_reaches_the_caller(
    clock: VirtualClock, answer: Answer, failure: type[Exception]
) -> None:
    sender = Sender(ANA, Incarnation(1), Failing(answer), clock)
    for _ in range(2):
        with pytest.raises(failure):
            await sender.send(BOB, "hello")
    await sender.aclose()


@pytest.mark.anyio
async def test_a_recipient_that_was_unknown_can_be_sent_to_once_it_is_there(
    sender: Sender, post: Post, clock: VirtualClock
) -> None:
    dan = AgentId("dan")
    with pytest.raises(AgentUnknown):
        await sender.send(dan, "too early")
    post.mailboxes[dan] = Mailbox(dan)
    await sender.send(dan, "now")
    assert bodies(post.mailboxes[dan]) == ["now"]


# --- closing ----------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_closing_tells_everybody_who_waits(sender: Sender, post: Post, clock: VirtualClock) -> None:
    post.gate.clear()
    waiting = sending(sender, "a", "b") + sending(sender, "c", to=CEM)
    await clock.advance(0)
    await sender.aclose()
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [ChannelClosed] * 3
    with pytest.raises(ChannelClosed, match="'ana' is closed: it has stopped sending"):
        await sender.send(BOB, "d")


@pytest.mark.anyio
async def test_closing_twice_or_unused_is_harmless(clock: VirtualClock, post: Post) -> None:
    sender = Sender(ANA, Incarnation(1), post, clock)
    await sender.aclose()
    await sender.aclose()
