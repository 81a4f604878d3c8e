"""An agent's way to its peers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TypeAlias

from ..protocols.checkin import AgentStatus
from ..protocols.ids import AgentId, Incarnation, MessageId
from ..protocols.mail import Kind, Receipt, ReceiptState, Refusal
from ..protocols.notices import NoticeType
from .inbox import Inbox
from .mail.content import content_digest
from .peers import Peers
from .sender import Sender
from .surroundings import Surroundings

__all__ = ("AgentChannel", "Seat")

KEPT_RECEIPTS = 4096
"""Sent messages whose receipt can still be asked for."""

Tell: TypeAlias = Callable[[NoticeType, str, str, dict[str, str]], None]


@dataclass(frozen=True)
class Seat:
    """An agent's place in a fleet, as the Supervisor admitted it."""

    name: AgentId
    incarnation: Incarnation
    parent: AgentId | None = None


class AgentChannel:
    """The channel of one agent; its tools see it through a `CallChannel`."""

    def __init__(
        self, seat: Seat, sender: Sender, around: Surroundings, inbox: Inbox, peers: Iterable[str] | None, tell: Tell
    ) -> None:
        """Keep the ends.

        Args:
            seat: The agent's.
            sender: Its outgoing end.
            around: The ways to mailboxes and to the Supervisor.
            inbox: Its mailbox, which knows who has written to it.
            peers: Whom it may write to; None: everybody. See `Peers`.
            tell: Tells the watchers.
        """
        self._tell = tell
        self._seat = seat
        self._sender = sender
        self._post = around.post
        self._inbox = inbox
        others = partial(around.link.peers, seat.name, seat.incarnation)
        self._peers = Peers(seat.name, seat.parent, peers, self._heard_from, others)
        self._unsent = count(1)
        self._receipts: dict[MessageId, Receipt] = {}

    @property
    def outgoing(self) -> int:
        """Messages that have been neither accepted nor refused; any thread may ask."""
        return self._sender.outgoing

    async def send(  # noqa: PLR0913 - the fields of an envelope
        self,
        recipient: AgentId,
        body: str,
        reply_to: str = "",
        message: MessageId | None = None,
        kind: Kind = Kind.PEER,
        hops: int = 0,
        *,
        trace: str = "",
    ) -> Receipt:
        """Send one message and wait until it is accepted or refused; watchers see which.

        `hops`: answers to answers. `trace`: W3C traceparent of where it is sent, or empty.
        """
        if await self._peers.include(recipient):
            receipt = await self._sender.send(
                recipient, body, reply_to=reply_to, message=message, kind=kind, hops=hops, trace=trace
            )
        else:
            receipt = self._kept_back(recipient, message)
        self._receipts[receipt.id] = receipt
        if len(self._receipts) > KEPT_RECEIPTS:
            del self._receipts[next(iter(self._receipts))]
        accepted = receipt.state is ReceiptState.ACCEPTED
        how = "sent" if accepted else receipt.state.value
        data = {
            "id": receipt.id,
            "recipient": recipient,
            "digest": content_digest(body),
            "refusal": "" if receipt.refusal is None else receipt.refusal.value,
        }
        self._tell(NoticeType.MAIL, how, f"to {recipient}: {body[:200]}", dict(data))
        return receipt

    async def receipt(self, message: MessageId) -> Receipt | None:
        """What became of a message sent from here."""
        known = self._receipts.get(message)
        return known if known is None or known.final else await self._post.receipt(known.recipient, message)

    async def peers(self) -> tuple[AgentStatus, ...]:
        """The other agents of the fleet that it may write to."""
        return await self._peers.rows()

    def _heard_from(self, other: AgentId) -> bool:
        """Whether that agent has ever written to this one."""
        with self._inbox.opened() as mailbox:
            return mailbox.senders.include(other)

    def _kept_back(self, recipient: AgentId, message: MessageId | None) -> Receipt:
        """The receipt of a message that may not leave."""
        name, life = self._seat.name, self._seat.incarnation
        unsent = message or MessageId(f"{name}.{life}.{recipient}.unsent-{next(self._unsent)}")
        return Receipt(unsent, recipient, ReceiptState.REFUSED, Refusal.NOT_A_PEER)
