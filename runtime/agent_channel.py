"""An agent's way to its peers, as its tools see it."""

from collections import Counter
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

KEPT_RECIPIENTS = 4096
"""Sent messages whose receipt can still be asked for."""

Tell: TypeAlias = Callable[[NoticeType, str, str, dict[str, str]], None]


@dataclass(frozen=True)
class Seat:
    """An agent's place in a fleet, as the Supervisor admitted it."""

    name: AgentId
    incarnation: Incarnation
    parent: AgentId | None = None


class AgentChannel:
    """The channel as the agent's tools see it.

    Attributes:
        written_to: How many messages went to each agent.
    """

    def __init__(self, seat: Seat, sender: Sender, post: PostOffice, link: SupervisorLink, tell: Tell) -> None:
        """Keep the ends; `tell` tells the watchers."""
        self._tell = tell
        self._seat = seat
        self._sender = sender
        self._post = post
        self._link = link
        self.written_to: Counter[AgentId] = Counter()
        self._recipients: dict[MessageId, AgentId] = {}

    async def send(
        self,
        recipient: AgentId,
        body: str,
        reply_to: str = "",
        message: MessageId | None = None,
        kind: Kind = Kind.PEER,
    ) -> Receipt:
        """Send one message and wait until it is accepted or refused; watchers see which."""
        self.written_to[recipient] += 1
        receipt = await self._sender.send(recipient, body, reply_to=reply_to, message=message, kind=kind)
        self._recipients[receipt.id] = recipient
        if len(self._recipients) > KEPT_RECIPIENTS:
            del self._recipients[next(iter(self._recipients))]
        accepted = receipt.state is ReceiptState.ACCEPTED
        how = "sent" if accepted else receipt.state.value
        data = {
            "id": receipt.id,
            "recipient": recipient,
            "digest": content_digest(body),
            "refusal": receipt.refusal or "",
        }
        self._tell(NoticeType.MAIL, how, f"to {recipient}: {body[:200]}", dict(data))
        return receipt

    async def receipt(self, message: MessageId) -> Receipt | None:
        """What became of a message sent from here."""
        recipient = self._recipients.get(message)
        return None if recipient is None else await self._post.receipt(recipient, message)

    async def peers(self) -> tuple[AgentStatus, ...]:
        """The other agents of the fleet."""
        return await self._link.peers(self._seat.name, self._seat.incarnation)
