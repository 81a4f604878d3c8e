"""An agent's channel as one of its tool calls sees it."""

from collections.abc import Callable

from ..protocols.checkin import AgentStatus
from ..protocols.ids import AgentId, MessageId
from ..protocols.mail import Kind, Receipt, ReceiptState
from .agent_channel import AgentChannel

__all__ = ("CallChannel",)


class CallChannel:
    """The port `Channel` for one call. No tool can choose how long the chain is that its message goes on with."""

    def __init__(self, channel: AgentChannel, hops_after: Callable[[str], int], trace: str = "") -> None:
        """Send through the agent's own.

        Args:
            channel: The agent's.
            hops_after: Gives the hops of an answer to a message.
            trace: W3C traceparent of the call, which its messages carry; empty: nobody traces.
        """
        self._trace = trace
        self._channel = channel
        self._hops_after = hops_after
        self._wrote: dict[AgentId, None] = {}

    @property
    def wrote(self) -> tuple[AgentId, ...]:
        """To whom the call sent messages that were not refused."""
        return tuple(self._wrote)

    async def send(
        self,
        recipient: AgentId,
        body: str,
        reply_to: str = "",
        message: MessageId | None = None,
        kind: Kind = Kind.PEER,
    ) -> Receipt:
        """Send one message and wait until it is accepted or refused; see `Channel`."""
        hops = self._hops_after(reply_to)
        receipt = await self._channel.send(recipient, body, reply_to, message, kind, hops, trace=self._trace)
        if receipt.state is not ReceiptState.REFUSED:
            self._wrote[recipient] = None
        return receipt

    async def receipt(self, message: MessageId) -> Receipt | None:
        """What became of a message sent from here; None when it is not known here."""
        return await self._channel.receipt(message)

    async def peers(self) -> tuple[AgentStatus, ...]:
        """The other agents of the fleet that it may write to."""
        return await self._channel.peers()
