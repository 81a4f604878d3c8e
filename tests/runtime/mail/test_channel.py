"""Mailbox and outboxes over a network that loses, repeats, delays and reorders what it carries."""

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum, auto

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from amrita_fleet.protocols.codec import decode_batch, decode_verdicts, encode_batch, encode_verdicts
from amrita_fleet.protocols.ids import AgentId, Incarnation, MessageId, RunId
from amrita_fleet.protocols.mail import BODY_LIMIT, HOPS_LIMIT, Envelope, Kind, ReceiptState, Refusal
from amrita_fleet.runtime.mail.mailbox import Mailbox
from amrita_fleet.runtime.mail.outbox import BATCH_BYTES, BATCH_MESSAGES, Outbox

BOB = AgentId("bob")
RUN = RunId("run-1")
SENDERS = (AgentId("ana"), AgentId("cem"))
MAILBOX_MESSAGES = 3
MAILBOX_BYTES = 100_000
OUTBOX_MESSAGES = 8
CALLS_BEFORE_CLOSING = 4
EVERYTHING = 1 << 40

senders = st.sampled_from(SENDERS)
bodies = st.sampled_from(["short", "short", "ä" * 20_000, "x" * BODY_LIMIT, "x" * (BODY_LIMIT + 1)])


class Luck(Enum):
    """What happens to one call."""

    GOOD = auto()
    COPIED = auto()  # heard, but a copy is still on its way
    UNANSWERED = auto()  # arrived, and the answer is lost
    LOST = auto()  # never arrives
    OVERTAKEN = auto()  # given up while it is still on its way
    DELAYED = auto()  # still on its way, and waited for


@dataclass
class Letter:
    """A message as its sender knows it; `told` is None while nobody told it anything final."""

    id: MessageId
    body: str
    hops: int
    ttl: float
    kind: Kind
    told: ReceiptState | None = None
    abandoned: bool = False
    again: bool = False


@dataclass
class Peer:
    """One sender: its present life, its letters in order, and the call it waits for."""

    outbox: Outbox
    letters: list[Letter] = field(default_factory=list[Letter])
    call: int | None = None

    def letter(self, message: MessageId) -> Letter:
        return next(letter for letter in self.letters if letter.id == message)

    def undecided(self) -> list[Letter]:
        return [letter for letter in self.letters if letter.told is None and not letter.abandoned]


@dataclass(frozen=True)
class Copy:
    """A batch somewhere in the network."""

    call: int
    batch: bytes


class Channel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.mailbox = Mailbox(BOB, messages=MAILBOX_MESSAGES, size=MAILBOX_BYTES)
        self.peers = {name: Peer(Outbox(name, Incarnation(1), messages=OUTBOX_MESSAGES)) for name in SENDERS}
        self.calls = 0
        self.network: list[Copy] = []
        self.answers: dict[int, bytes] = {}
        self.consumed: list[MessageId] = []
        self.dead: list[MessageId] = []
        self.closed: Refusal | None = None

    # --- what senders do ------------------------------------------------------------------------------------------

    @rule(
        name=senders,
        body=bodies,
        hops=st.sampled_from([0, 0, 0, HOPS_LIMIT + 1]),
        ttl=st.sampled_from([0.0, 0.0, 3.0]),
        kind=st.sampled_from(Kind),
        count=st.integers(1, 4),
    )
    def write(self, name: AgentId, body: str, hops: int, ttl: float, kind: Kind, count: int) -> None:
        peer = self.peers[name]
        for _ in range(count):
            self.post(peer, Letter(MessageId(f"{name}-{len(peer.letters)}"), body, hops, ttl, kind))

    def post(self, peer: Peer, letter: Letter) -> None:
        envelope, refusal = peer.outbox.put(
            BOB, letter.body, now=self.now, kind=letter.kind, hops=letter.hops, ttl=letter.ttl, message=letter.id
        )
        assert envelope.id == letter.id
        if not letter.again:
            peer.letters.append(letter)
        if refusal is not None:
            letter.told = ReceiptState.REFUSED

    @rule(name=senders, luck=st.sampled_from(Luck))
    def call(self, name: AgentId, luck: Luck) -> None:
        peer = self.peers[name]
        batch = peer.outbox.next_batch(BOB)
        if peer.call is not None:
            assert batch == (), "two batches on their way to one recipient"
        elif batch:
            assert len(batch) <= BATCH_MESSAGES
            assert len(batch) == 1 or sum(envelope.size for envelope in batch) <= BATCH_BYTES
            self.calls += 1
            peer.call = self.calls
            self.carry(peer, Copy(self.calls, encode_batch(batch)), luck)

    def carry(self, peer: Peer, copy: Copy, luck: Luck) -> None:
        if luck in {Luck.GOOD, Luck.COPIED, Luck.UNANSWERED}:
            self.receive(copy)
        if luck in {Luck.COPIED, Luck.DELAYED, Luck.OVERTAKEN}:
            self.network.append(copy)
        if luck is not Luck.DELAYED:
            self.end_call(peer, heard=luck in {Luck.GOOD, Luck.COPIED})

    def end_call(self, peer: Peer, *, heard: bool) -> None:
        if not heard:
            peer.outbox.lost(BOB)
        else:
            for envelope, refusal in peer.outbox.answered(BOB, decode_verdicts(self.answers[peer.call or 0])):
                told = ReceiptState.ACCEPTED if refusal is None else ReceiptState.REFUSED
                peer.letter(envelope.id).told = told
        peer.call = None

    @rule(name=senders)
    def end_delayed_call(self, name: AgentId) -> None:
        peer = self.peers[name]
        if peer.call is not None:
            self.end_call(peer, heard=peer.call in self.answers)

    @rule(name=senders, which=st.integers(0, OUTBOX_MESSAGES))
    def withdraw(self, name: AgentId, which: int) -> None:
        peer = self.peers[name]
        # What an earlier life sent cannot be called back by a later one.
        own = [letter for letter in peer.undecided() if not letter.again]
        if own:
            letter = own[which % len(own)]
            if peer.outbox.withdraw(BOB, letter.id):
                letter.told = ReceiptState.REFUSED

    @rule(name=senders, resends=st.booleans())
    def restart(self, name: AgentId, *, resends: bool) -> None:
        peer = self.peers[name]
        peer.outbox = Outbox(name, Incarnation(peer.outbox.incarnation + 1), messages=OUTBOX_MESSAGES)
        peer.call = None
        for letter in peer.undecided():
            letter.again = True
            letter.abandoned = not resends
            if resends:
                self.post(peer, letter)

    # --- what the network does ------------------------------------------------------------------------------------

    @precondition(lambda self: self.network)
    @rule(which=st.integers(0, 10), stays=st.booleans())
    def arrive_late(self, which: int, *, stays: bool) -> None:
        copy = self.network[which % len(self.network)]
        if not stays:
            self.network.remove(copy)
        self.receive(copy)

    def receive(self, copy: Copy) -> None:
        self.answers[copy.call] = encode_verdicts(self.mailbox.accept(decode_batch(copy.batch), self.now))

    @rule(seconds=st.sampled_from([0.5, 5.0]))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    # --- what the recipient does ----------------------------------------------------------------------------------

    @rule(size=st.sampled_from([0, 1_000, 50_000, EVERYTHING]), only=st.sampled_from([(), SENDERS[:1], SENDERS]))
    def step(self, size: int, only: tuple[AgentId, ...]) -> None:
        taken = self.mailbox.take(size, only)
        assert bool(taken) == self.mailbox.has(only)
        assert len(taken) <= 1 or sum(envelope.size for envelope in taken) <= size
        self.mailbox.consume([envelope.id for envelope in taken], RUN, 7)
        self.consumed += [envelope.id for envelope in taken]

    @precondition(lambda self: self.calls > CALLS_BEFORE_CLOSING)
    @rule(refusal=st.sampled_from([Refusal.CLOSED, Refusal.STOPPED, Refusal.LIMIT]))
    def close(self, refusal: Refusal) -> None:
        waiting = self.waiting()
        dead = self.mailbox.close(refusal)
        assert dead == tuple(envelope for envelope in waiting if envelope.kind is not Kind.NOTE)
        self.closed = self.closed or refusal
        self.dead += [envelope.id for envelope in waiting]

    def waiting(self) -> tuple[Envelope, ...]:
        return self.mailbox.take(EVERYTHING)

    # --- what always holds ----------------------------------------------------------------------------------------

    @invariant()
    def the_mailbox_is_within_its_bounds(self) -> None:
        assert self.mailbox.waiting == len(self.waiting()) <= MAILBOX_MESSAGES
        assert sum(envelope.size for envelope in self.waiting()) <= MAILBOX_BYTES
        assert self.mailbox.accepted == len(self.consumed) + len(self.dead) + self.mailbox.waiting
        assert self.mailbox.consumed == len(self.consumed)

    @invariant()
    def nothing_is_there_twice(self) -> None:
        places = Counter([*self.consumed, *self.dead, *(envelope.id for envelope in self.waiting())])
        assert all(count == 1 for count in places.values())

    @invariant()
    def each_senders_mail_is_in_its_order(self) -> None:
        for peer in self.peers.values():
            written = [letter.id for letter in peer.letters]
            places = [written.index(message) for message in self.consumed if message in written]
            assert places == sorted(places)

    @invariant()
    def what_senders_were_told_is_true(self) -> None:
        waiting = {envelope.id for envelope in self.waiting()}
        for letter in self.letters():
            receipt = self.mailbox.receipt(letter.id)
            state = receipt.state if receipt else None
            arrived = letter.id in waiting or letter.id in self.consumed or letter.id in self.dead
            assert arrived == (state in {ReceiptState.ACCEPTED, ReceiptState.CONSUMED, ReceiptState.DEAD})
            if letter.told is not None:
                assert arrived == (letter.told is ReceiptState.ACCEPTED), letter

    @invariant()
    def receipts_say_what_happened(self) -> None:
        for message in self.consumed:
            receipt = self.mailbox.receipt(message)
            assert receipt and (receipt.state, receipt.run, receipt.step) == (ReceiptState.CONSUMED, RUN, 7)
        for message in self.dead:
            receipt = self.mailbox.receipt(message)
            assert receipt and (receipt.state, receipt.refusal) == (ReceiptState.DEAD, self.closed)

    def letters(self) -> list[Letter]:
        return [letter for peer in self.peers.values() for letter in peer.letters]

    def teardown(self) -> None:
        """The network heals: everything is decided, and late copies change nothing that was told."""
        for name, peer in self.peers.items():
            self.end_delayed_call(name)
            for _ in range(2 * len(peer.letters)):
                self.step(EVERYTHING, ())
                self.call(name, Luck.GOOD)
            assert peer.undecided() == []
        for copy in self.network:
            self.receive(copy)
        self.step(EVERYTHING, ())
        self.what_senders_were_told_is_true()
        self.each_senders_mail_is_in_its_order()
        self.nothing_is_there_twice()


def test_every_accepted_message_is_consumed_once_or_is_a_dead_letter_whatever_the_network_does() -> None:
    run_state_machine_as_test(Channel, settings=settings(stateful_step_count=40))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_that_holds_over_many_long_histories() -> None:
    run_state_machine_as_test(Channel, settings=settings(max_examples=1000, stateful_step_count=60, deadline=None))
