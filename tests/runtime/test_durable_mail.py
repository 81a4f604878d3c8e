"""Mail that is accepted outlives both ends of a channel: nothing is lost, nothing read twice, each sender in its order.

Mail that is turned away stays so: no later life takes in a late copy of it, on whatever machine with whatever clock.

The network loses, repeats, delays and reorders what it carries; either end may die at any record and go on from the
journal, the recipient with its mailbox, the sender by sending again what it was not told about.
"""

import asyncio
from collections import deque
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
from hypothesis import event as seen
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from amrita_fleet.protocols.checkin import Stop
from amrita_fleet.protocols.codec import decode_verdicts, encode_batch
from amrita_fleet.protocols.ids import USER, AgentId, Incarnation, MessageId, RunId
from amrita_fleet.protocols.mail import BODY_LIMIT, ReceiptState, Refusal
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.config import MailConfig
from amrita_fleet.runtime.errors import PeerUnreachable
from amrita_fleet.runtime.inbox import Inbox
from amrita_fleet.runtime.journal.fleet_log import FleetLog
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.journal_errors import Fenced
from amrita_fleet.runtime.left_mail import LeftMail, left_mail
from amrita_fleet.runtime.life_log import LifeLog
from amrita_fleet.runtime.mail.outbox import Outbox
from amrita_fleet.runtime.records import Past, replay
from amrita_fleet.runtime.step.advance import advance
from amrita_fleet.runtime.step.effects import AskLeave, Commit, Effect, Finish, LookForMail, TakeMail
from amrita_fleet.runtime.step.events import Directed, Event, Finished, MailSeen, MailTaken, Woken
from amrita_fleet.runtime.step.phases import Mail
from amrita_fleet.runtime.step.rules import Rules

pytestmark = pytest.mark.slow

T = TypeVar("T")

BOB = AgentId("bob")
AGENTS = ("ana", "cem")
PEOPLE = {"one person": Incarnation(1), "another person": Incarnation(2)}
"""Processes that send for people: all have the same name, each is a life of its own, and they send at the same time."""
CONFIG = MailConfig(mailbox_messages=4)
EVERYTHING = 1 << 40
TTL = 3.0
"""Seconds in which a message must be accepted that has such a limit."""

senders = st.sampled_from((*AGENTS, *PEOPLE))
restarting = st.sampled_from(AGENTS)
kills = st.sampled_from(["", "", "", "", "before", "after"])


class Killed(BaseException):
    """The process died."""


class MortalJournal(MemoryJournal):
    """Kills who appends: `before` it is done, or `after` that."""

    kill = ""

    async def append(
        self, stream: str, incarnation: int, first: int, records: tuple[bytes, ...], *, snapshot: bool = False
    ) -> None:
        if self.kill == "before":
            raise Killed
        await super().append(stream, incarnation, first, records, snapshot=snapshot)
        if self.kill == "after":
            raise Killed


@dataclass
class Letter:
    """A message as its sender knows it; `told` is None while nothing final is recorded of it."""

    id: MessageId
    body: str
    told: ReceiptState | None = None
    ttl: float = 0.0


@dataclass
class Peer:
    """One sender: its present life, its letters in order, and its last life with what that wrote after its end."""

    outbox: Outbox
    letters: list[Letter] = field(default_factory=list[Letter])
    overtaken: Outbox | None = None
    strays: list[Letter] = field(default_factory=list[Letter])

    def letter(self, message: MessageId) -> Letter:
        return next(letter for letter in self.letters if letter.id == message)

    def undecided(self) -> list[Letter]:
        return [letter for letter in self.letters if letter.told is None]

    def post(self, letter: Letter, now: float) -> None:
        _, refusal = self.outbox.put(BOB, letter.body, now=now, ttl=letter.ttl, message=letter.id)
        if refusal is not None:
            letter.told = ReceiptState.REFUSED


class Recipient:
    """One life of bob, on a machine with a clock of its own: he reads his mail in runs that end at once."""

    def __init__(self, journal: MemoryJournal, incarnation: int, now: float = 0.0) -> None:
        self.incarnation = Incarnation(incarnation)
        self.clock = clock = VirtualClock(now)
        self.inbox = Inbox(BOB, CONFIG, clock, lambda: None)
        self.log = LifeLog(FleetLog(journal, "f"), BOB, self.incarnation, self.inbox, clock)
        self.runs = 0
        self.stopped = False

    async def open(self) -> None:
        self.past = await self.log.open(Rules())
        self.state = self.past.state

    async def go_on(self) -> None:
        if self.log.recorder.lived:
            await self.live(self.past.revived(0.0))

    async def read(self) -> None:
        """Have a run read what one boundary takes."""
        self.runs += 1
        await self.live(Woken(RunId(f"bob.{self.incarnation}.{self.runs}"), None))

    async def live(self, event: Event) -> None:
        """Apply an event and all that follow from it."""
        events = deque([event])
        while events:
            happens = events.popleft()
            moved = advance(self.state, happens)
            self.log.recorder.happened(happens, moved)
            self.state, effects = moved
            for effect in effects:
                events.extend(await self.perform(effect))

    async def perform(self, effect: Effect) -> tuple[Event, ...]:
        match effect:
            case TakeMail(op=op, size=size):
                taken = self.inbox.take(size)
                return (MailTaken(op, tuple(Mail(each.id, each.sender, each.body) for each in taken)),)
            case LookForMail(op=op):
                return (MailSeen(op, waits=False),)
            case AskLeave(op=op):
                return (Directed(op, Stop("that is all")),)
            case Finish(op=op):
                return (Finished(op),)
            case Commit(consumed=ids):
                await self.log.recorder.commit()
                if not ids:
                    return ()
                self.inbox.consume(ids, self.state.current.id, self.state.step)
                self.log.consumed(ids, self.state.current.id, self.state.step)
            case _:
                pass
        return ()

    async def stop(self) -> None:
        """Close the mailbox: what waits is a dead letter once that is written."""
        self.stopped = True
        await self.log.gave_up(self.inbox.close(Refusal.STOPPED), Refusal.STOPPED, (), "stopped")


class DurableChannel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = VirtualClock()
        self.journal = MortalJournal(clock=self.clock)
        self.peers = {name: Peer(Outbox(AgentId(name), Incarnation(1))) for name in AGENTS}
        self.peers |= {name: Peer(Outbox(USER, life)) for name, life in PEOPLE.items()}
        self.network: list[tuple[str, bytes]] = []
        self.older: list[Recipient] = []
        self.bob = Recipient(self.journal, 1)
        self.do(self.bob.open())

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    # --- what the senders do ------------------------------------------------------------------------------------------

    @rule(
        name=senders,
        count=st.integers(1, 4),
        size=st.sampled_from([10, 20_000, BODY_LIMIT + 1]),
        ttl=st.sampled_from([0.0, 0.0, TTL]),
    )
    def write(self, name: str, count: int, size: int, ttl: float) -> None:
        peer = self.peers[name]
        for _ in range(count):
            letter = Letter(MessageId(f"{name}-{len(peer.letters)}"), "x" * size, ttl=ttl)
            peer.letters.append(letter)
            peer.post(letter, self.clock.now())

    @rule(name=st.sampled_from(sorted(PEOPLE)), which=st.integers(0, 20))
    def withdraw(self, name: str, which: int) -> None:
        """Give up on a letter that cannot have arrived, as who waits too long at a full mailbox does.

        An agent's next life may not know that its last one did.
        """
        peer = self.peers[name]
        if undecided := peer.undecided():
            letter = undecided[which % len(undecided)]
            if peer.outbox.withdraw(BOB, letter.id):
                letter.told = ReceiptState.REFUSED

    @rule(seconds=st.sampled_from([1.0, TTL + 1]))
    def pass_time(self, seconds: float) -> None:
        for clock in (self.clock, self.bob.clock):
            self.do(clock.advance(seconds))

    @rule(
        name=senders,
        fate=st.sampled_from(["heard", "heard", "heard", "lost", "late", "copied", "unanswered"]),
        kill=kills,
    )
    def send(self, name: str, fate: str, kill: str) -> None:
        peer = self.peers[name]
        batch = peer.outbox.next_batch(BOB)
        if not batch:
            return
        data = encode_batch(batch)
        if fate in {"late", "copied"}:
            self.network.append((name, data))
        answer = self.receive(data, kill) if fate in {"heard", "copied", "unanswered"} else None
        if answer is None or fate == "unanswered":
            peer.outbox.lost(BOB)
            return
        for envelope, refusal in peer.outbox.answered(BOB, decode_verdicts(answer)):
            peer.letter(envelope.id).told = ReceiptState.ACCEPTED if refusal is None else ReceiptState.REFUSED

    @rule(name=restarting, forgotten=st.integers(0, 2))
    def restart_sender(self, name: str, forgotten: int) -> None:
        """Its next life sends again what it has no record of; that may have been answered already."""
        peer = self.peers[name]
        answered = [letter for letter in peer.letters if letter.told is not None]
        for letter in answered[len(answered) - forgotten :]:
            letter.told = None
        peer.overtaken = peer.outbox
        peer.outbox = Outbox(AgentId(name), Incarnation(peer.outbox.incarnation + 1))
        for letter in peer.undecided():
            peer.post(letter, self.clock.now())

    @rule(name=restarting, heard=st.booleans(), copied=st.booleans(), kill=kills)
    def overtaken_life_sends(self, name: str, heard: bool, copied: bool, kill: str) -> None:
        """It has not noticed that it is over. What it is told must be true; only its next life's records count."""
        peer = self.peers[name]
        if (old := peer.overtaken) is None:
            return
        stray = Letter(MessageId(f"{name}-stray-{len(peer.strays)}"), "stray")
        peer.strays.append(stray)
        old.lost(BOB)
        old.put(BOB, stray.body, now=self.clock.now(), message=stray.id)
        data = encode_batch(old.next_batch(BOB))
        if copied:
            self.network.append((name, data))
        answer = self.receive(data, kill)
        if answer is None or not heard:
            old.lost(BOB)
            return
        told = {envelope.id: refusal for envelope, refusal in old.answered(BOB, decode_verdicts(answer))}
        for letter in peer.strays:
            if letter.id in told:
                letter.told = ReceiptState.ACCEPTED if told[letter.id] is None else ReceiptState.REFUSED
                seen(f"a stray letter: {told[letter.id] or 'accepted'}")

    # --- what the network does ----------------------------------------------------------------------------------------

    @precondition(lambda self: self.network)
    @rule(which=st.integers(0, 20), stays=st.booleans(), kill=kills)
    def arrive_late(self, which: int, stays: bool, kill: str) -> None:
        copy = self.network[which % len(self.network)]
        if not stays:
            self.network.remove(copy)
        self.receive(copy[1], kill)

    @precondition(lambda self: self.network and self.older)
    @rule(which=st.integers(0, 20), whom=st.integers(0, 20))
    def arrive_at_an_older_life(self, which: int, whom: int) -> None:
        """What it says is believed: so it may accept nothing that is not written."""
        name, data = self.network[which % len(self.network)]
        life, peer = self.older[whom % len(self.older)], self.peers[name]
        batch = peer.outbox.next_batch(BOB)
        try:
            answer = self.do(life.log.deliver(encode_batch(batch) if batch else data))
        except (Fenced, PeerUnreachable):
            peer.outbox.lost(BOB)
            return
        if batch:
            for envelope, refusal in peer.outbox.answered(BOB, decode_verdicts(answer)):
                peer.letter(envelope.id).told = ReceiptState.ACCEPTED if refusal is None else ReceiptState.REFUSED

    def receive(self, data: bytes, kill: str) -> bytes | None:
        with self.killing(kill):
            return self.do(self.bob.log.deliver(data))
        return None

    # --- what the recipient does --------------------------------------------------------------------------------------

    @rule(kill=kills)
    def read(self, kill: str) -> None:
        if self.bob.inbox.waits():
            with self.killing(kill):
                self.do(self.bob.read())

    @rule(kill=kills)
    def stop(self, kill: str) -> None:
        """From now on this life refuses what comes; a later one may take in what is new."""
        with self.killing(kill):
            self.do(self.bob.stop())

    @rule(slow=st.sampled_from([0.0, 100.0]))
    def live_again(self, slow: float) -> None:
        self.older.append(self.bob)
        streams = FleetLog(self.journal, "f")
        left = left_mail(streams, BOB, *self.do(streams.left(BOB)))
        self.bob = Recipient(self.journal, self.bob.incarnation + 1, self.clock.now() - slow)
        self.do(self.bob.open())
        self.compare(left)
        self.do(self.bob.go_on())

    def compare(self, left: LeftMail) -> None:
        """Whoever only reads what a dead life has left knows of its mail what the next life does."""
        assert left.unread == self.bob.inbox.take(EVERYTHING)
        for letter in (letter for peer in self.peers.values() for letter in (*peer.letters, *peer.strays)):
            known = self.bob.inbox.receipt(letter.id)
            looked_up = left.mailbox.receipt(letter.id)
            assert (known and known._replace(step=None)) == (looked_up and looked_up._replace(step=None))

    @contextmanager
    def killing(self, kill: str) -> Generator[None]:
        """Do something during which the recipient may die at its first record."""
        self.journal.kill = kill
        try:
            yield
        except Killed:
            self.journal.kill = ""
            self.live_again(0.0)
        finally:
            self.journal.kill = ""

    # --- what holds in the end ----------------------------------------------------------------------------------------

    def teardown(self) -> None:
        """The network heals, and everything is decided."""
        try:
            self.heal()
        finally:
            self.loop.close()

    def heal(self) -> None:
        if self.bob.stopped:
            self.live_again(0.0)
        for name, peer in self.peers.items():
            peer.outbox.lost(BOB)
            for _ in range(2 * len(peer.letters) + 2):
                self.read("")
                self.send(name, "heard", "")
            assert peer.undecided() == []
        for _, data in self.network:
            self.receive(data, "")
        while self.bob.inbox.waits():
            self.read("")
        self.check(self.past())

    def past(self) -> Past:
        """What all records of bob come to, whatever snapshots say."""
        records = self.do(self.journal.read(f"f/agent/{BOB}"))
        return replay("bob", [record for record in records if not record.snapshot], BOB, Rules())

    def check(self, past: Past) -> None:
        read = [one.message for one in past.taken]
        dead = [one.message for one in past.lost]
        assert len(read) == len(set(read)), "read twice"
        assert len(dead) == len(set(dead)), "dead twice"
        assert not set(read) & set(dead), "read and dead"
        for peer in self.peers.values():
            ids = [letter.id for letter in peer.letters]
            accepted = {letter.id for letter in peer.letters if letter.told is ReceiptState.ACCEPTED}
            assert accepted == {*read, *dead} & set(ids), "what a sender was told"
            places = [ids.index(message) for message in read if message in ids]
            assert places == sorted(places), "out of order"
            for letter in peer.strays:
                if letter.told is not None:
                    assert (letter.told is ReceiptState.ACCEPTED) == (letter.id in {*read, *dead}), (
                        "what a stray was told"
                    )
        seen(f"lives of the recipient: {self.bob.incarnation}")
        seen(f"dead letters: {bool(dead)}")


@pytest.mark.usefixtures("snapshots_come_often")
def test_accepted_mail_is_read_once_or_is_one_dead_letter_whoever_dies() -> None:
    run_state_machine_as_test(DurableChannel, settings=settings(stateful_step_count=30))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("snapshots_come_often")
def test_that_holds_over_thousands_of_histories() -> None:
    run_state_machine_as_test(
        DurableChannel, settings=settings(max_examples=2_000, stateful_step_count=30, deadline=None, print_blob=True)
    )
