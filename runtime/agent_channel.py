"""An agent's way to its peers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ..protocols.checkin import AgentStatus
from ..protocols.ids import AgentId, Incarnation, MessageId
from ..protocols.mail import Kind, Receipt, ReceiptState
from ..protocols.notices import NoticeType
from .mail.content import content_digest
from .ports import PostOffice, SupervisorLink
from .sender import Sender

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

    def __init__(self, seat: Seat, sender: Sender, post: PostOffice, link: SupervisorLink, tell: Tell) -> None:
        """Keep the ends; `tell` tells the watchers."""
        self._tell = tell
        self._seat = seat
        self._sender = sender
        self._post = post
        self._link = link
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
        receipt = await self._sender.send(
            recipient, body, reply_to=reply_to, message=message, kind=kind, hops=hops, trace=trace
        )
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
        """The other agents of the fleet."""
        return await self._link.peers(self._seat.name, self._seat.incarnation)
