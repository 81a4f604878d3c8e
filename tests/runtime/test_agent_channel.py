"""An agent's channel: what was sent, what became of it, what watchers are told, and what its calls see of it."""

import asyncio

import pytest

from amrita_fleet.protocols.checkin import AgentStatus, CheckIn, Directive, Settlement, Stop
from amrita_fleet.protocols.codec import decode_batch, encode_verdicts
from amrita_fleet.protocols.ids import AgentId, Incarnation, MessageId
from amrita_fleet.protocols.mail import Receipt, ReceiptState, Refusal
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.protocols.waits import WaitRefusal, WaitRequest
from amrita_fleet.runtime.agent_channel import AgentChannel, Seat
from amrita_fleet.runtime.call_channel import CallChannel
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.errors import AgentUnknown
from amrita_fleet.runtime.mail.mailbox import Mailbox
from amrita_fleet.runtime.sender import Sender

pytestmark = pytest.mark.anyio

ANA, BOB = AgentId("ana"), AgentId("bob")


class Town:
    """A post office with one mailbox, and a Supervisor that knows one agent."""

    def __init__(self) -> None:
        self.mailbox = Mailbox(BOB)
        self.told: list[tuple[str, str]] = []
        sender = Sender(ANA, Incarnation(1), self, VirtualClock())
        self.channel = AgentChannel(Seat(ANA, Incarnation(1)), sender, self, self, self.tell)

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
        return (AgentStatus(BOB, incarnation, f"seen by {agent}", 0.0),)


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
