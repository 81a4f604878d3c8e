"""An agent's channel: what was sent, what became of it, what watchers are told, and what its calls see of it."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.checkin import AgentStatus, CheckIn, Directive, Settlement, Stop
from amrita_fleet.protocols.codec import decode_batch, encode_verdicts
from amrita_fleet.protocols.ids import AgentId, Incarnation, MessageId
from amrita_fleet.protocols.mail import Receipt, ReceiptState, Refusal
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.protocols.waits import WaitRefusal, WaitRequest
from amrita_fleet.runtime.agent_channel import AgentChannel, Seat
from amrita_fleet.runtime.call_channel import CallChannel
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.config import MailConfig
from amrita_fleet.runtime.errors import AgentUnknown
from amrita_fleet.runtime.inbox import Inbox
from amrita_fleet.runtime.mail.mailbox import Mailbox
from amrita_fleet.runtime.mail.outbox import Outbox
from amrita_fleet.runtime.peers import Peers
from amrita_fleet.runtime.sender import Sender
from amrita_fleet.runtime.surroundings import Surroundings

pytestmark = pytest.mark.anyio

ANA, BOB = AgentId("ana"), AgentId("bob")


class Town:
    """A post office with one mailbox, and a Supervisor that knows one agent."""

    def __init__(self, peers: tuple[str, ...] | None = None, parent: AgentId | None = None) -> None:
        self.mailbox = Mailbox(BOB)
        self.rows: dict[AgentId, AgentId | None] = {BOB: None}
        self.asked = 0
        self.told: list[tuple[str, str]] = []
        clock = VirtualClock()
        seat, sender = Seat(ANA, Incarnation(1), parent), Sender(ANA, Incarnation(1), self, clock)
        self.inbox = Inbox(ANA, MailConfig(), clock, lambda: None)
        self.channel = AgentChannel(seat, sender, Surroundings(self, self, clock), self.inbox, peers, self.tell)

    def tell(self, _kind: NoticeType, how: str, text: str, _data: dict[str, str]) -> None:
        self.told.append((how, text))

    async def deliver(self, recipient: AgentId, batch: bytes) -> bytes:
        if recipient != BOB:
            raise AgentUnknown(name=recipient, near=("bob",))
        return encode_verdicts(self.mailbox.accept(decode_batch(batch), 0.0))

    async def receipt(self, recipient: AgentId, message: MessageId) -> Receipt | None:  # noqa: ARG002
        return self.mailbox.receipt(message)

    async def check_in(self, asked: CheckIn) -> Directive:  # noqa: ARG002
        return Stop("nobody asks here")

    async def settle(self, settlement: Settlement) -> None:
        """Nothing."""

    async def report(self, status: AgentStatus, notices: tuple[Notice, ...]) -> None:
        """Nothing."""

    async def wait(self, asked: WaitRequest) -> WaitRefusal | None:  # noqa: ARG002
        """Nobody waits here."""
        return None

    async def renew(self, agent: AgentId, incarnation: Incarnation) -> bool:  # noqa: ARG002
        return True

    async def peers(self, agent: AgentId, incarnation: Incarnation) -> tuple[AgentStatus, ...]:
        self.asked += 1
        seen = f"seen by {agent}"
        return tuple(AgentStatus(one, incarnation, seen, 0.0, parent=above) for one, above in self.rows.items())


async def test_what_is_accepted_is_told_and_can_be_asked_for() -> None:
    town = Town()

    receipt = await town.channel.send(BOB, "Hello.", message=MessageId("ana.1.1.4.bob"))

    assert (receipt.id, receipt.state) == ("ana.1.1.4.bob", ReceiptState.ACCEPTED)
    assert town.told == [("sent", "to bob: Hello.")]
    town.mailbox.close(Refusal.STOPPED)
    later = await town.channel.receipt(receipt.id)
    assert later is not None
    assert (later.state, later.refusal) == (ReceiptState.DEAD, Refusal.STOPPED)


async def test_what_is_refused_is_told_as_that() -> None:
    town = Town()
    town.mailbox.close(Refusal.STOPPED)

    receipt = await town.channel.send(BOB, "Hello.")

    assert receipt.refusal is Refusal.STOPPED
    assert town.told == [("refused", "to bob: Hello.")]


async def test_of_what_was_not_sent_from_here_nothing_is_known() -> None:
    assert await Town().channel.receipt(MessageId("cem.1.bob.1")) is None


async def test_an_unknown_recipient_is_an_error_and_nobody_is_told_of_a_message() -> None:
    town = Town()

    with pytest.raises(AgentUnknown):
        await town.channel.send(AgentId("bbo"), "Hello.")
    assert town.told == []


async def test_it_sees_its_peers_as_who_it_is() -> None:
    [row] = await Town().channel.peers()

    assert row.phase == "seen by ana"


async def test_a_message_to_one_who_is_no_peer_never_leaves_and_watchers_see_that() -> None:
    town = Town(peers=("eve",))

    first, second = [await town.channel.send(BOB, "Hello.") for _ in range(2)]

    assert (first.state, first.refusal) == (ReceiptState.REFUSED, Refusal.NOT_A_PEER)
    assert first.id != second.id
    assert await town.channel.receipt(first.id) == first
    assert town.told == [("refused", "to bob: Hello.")] * 2
    assert (town.mailbox.accepted, town.channel.outgoing) == (0, 0)
    assert await town.channel.peers() == ()


async def test_peers_are_written_to_without_asking_anybody() -> None:
    town = Town(peers=("bob",))

    assert (await town.channel.send(BOB, "Hello.")).state is ReceiptState.ACCEPTED
    assert town.asked == 0


async def test_who_has_written_may_be_answered_also_in_a_later_life() -> None:
    town = Town(peers=())
    outbox = Outbox(BOB, Incarnation(1))
    question, _ = outbox.put(ANA, "How is it?", now=0.0)

    assert (await town.channel.send(BOB, "Hello.")).refusal is Refusal.NOT_A_PEER
    town.inbox.accept((question,))
    with town.inbox.opened() as mailbox:
        state = mailbox.state()
    later = Town(peers=())
    with later.inbox.opened() as mailbox:
        mailbox.restore(state)
    for each in (town, later):
        assert (await each.channel.send(BOB, "Good.")).state is ReceiptState.ACCEPTED
        assert [row.agent for row in await each.channel.peers()] == [BOB]


async def test_a_parent_and_those_below_are_always_peers() -> None:
    cem = AgentId("cem")
    town = Town(peers=(), parent=BOB)
    assert (await town.channel.send(BOB, "Hello.")).state is ReceiptState.ACCEPTED
    town = Town(peers=())
    town.rows = {BOB: cem, cem: ANA, AgentId("eve"): None}
    assert (await town.channel.send(BOB, "Hello.")).state is ReceiptState.ACCEPTED
    assert [row.agent for row in await town.channel.peers()] == [BOB, cem]


names = st.sampled_from([AgentId(name) for name in "abcdef"])


@given(st.none() | st.sets(names), st.none() | names, st.sets(names), st.dictionaries(names, st.none() | names))
async def test_whom_it_lists_it_may_write_to_and_nobody_else(
    named: set[AgentId] | None, parent: AgentId | None, wrote: set[AgentId], above: dict[AgentId, AgentId | None]
) -> None:
    rows = tuple(AgentStatus(one, Incarnation(1), "idle", 0.0, parent=over) for one, over in above.items())

    async def others() -> tuple[AgentStatus, ...]:
        return rows

    peers = Peers(ANA, parent, named, wrote.__contains__, others)
    listed = {row.agent for row in await peers.rows()}
    assert listed == {row.agent for row in rows if await peers.include(row.agent)}
    for one in above:
        known = named is None or one in named or one == parent or one in wrote
        assert known <= (one in listed)


def hops_after(reply_to: str) -> int:
    """Message `m` ends 4 answers to answers."""
    return 5 if reply_to == "m" else 0


async def test_a_call_answers_with_one_hop_more_than_what_it_answers_has_and_cannot_choose() -> None:
    town = Town()
    channel = CallChannel(town.channel, hops_after)

    await channel.send(BOB, "Hello.")
    await channel.send(BOB, "So it is.", "m")

    assert [envelope.hops for envelope in town.mailbox.take(1000)] == [0, 5]


async def test_a_call_knows_to_whom_it_wrote_and_does_not_count_what_was_refused() -> None:
    town = Town()
    refused, accepted = (CallChannel(town.channel, hops_after) for _ in range(2))

    await refused.send(BOB, "x" * 100_000)
    with pytest.raises(AgentUnknown):
        await refused.send(AgentId("bbo"), "Hello?")
    await accepted.send(BOB, "Hello.")

    assert (refused.wrote, accepted.wrote) == ((), (BOB,))


async def test_what_has_been_neither_accepted_nor_refused_is_counted() -> None:
    town = Town()
    told = [town.channel.outgoing]

    sending = asyncio.ensure_future(town.channel.send(BOB, "Hello."))
    await asyncio.sleep(0)
    told.append(town.channel.outgoing)
    await sending
    told.append(town.channel.outgoing)

    assert told == [0, 1, 0]
