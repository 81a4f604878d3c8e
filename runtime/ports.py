"""What the runtime needs from outside: time, other agents, the Supervisor, a log. Each is one role.

`LocalSystem` and `RaySystem` give their own; tests give a virtual clock or a transport that loses things.
"""

from collections.abc import Callable
from typing import Protocol

from ..protocols.checkin import AgentStatus, CheckIn, Directive, Settlement
from ..protocols.ids import AgentId, Incarnation, MessageId
from ..protocols.mail import Receipt
from ..protocols.notices import Notice

__all__ = ("Channel", "Clock", "PostOffice", "SupervisorLink", "Transport")


class Clock(Protocol):
    """Time and waiting."""

    def now(self) -> float:
        """Unix seconds, for what people read."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back, for deadlines."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class Transport(Protocol):
    """Carries batches of mail to mailboxes. It may lose, repeat or reorder calls; it never changes bytes."""

    async def deliver(self, recipient: AgentId, batch: bytes) -> bytes:
        """Hand over `codec.encode_batch(...)` and give back `codec.encode_verdicts(...)`.

        An agent that has stopped still answers: its verdicts are refusals.

        Raises:
            AgentUnknown: There is no such agent, with near names.
            ChannelClosed: It is dead, or does not live yet.
            PeerUnreachable: The outcome is unknown; the same batch may be sent again.
        """
        ...


class PostOffice(Transport, Protocol):
    """A transport that can also be asked what became of a message."""

    async def receipt(self, recipient: AgentId, message: MessageId) -> Receipt | None:
        """What the recipient's mailbox remembers of the message; None when it does not.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It is dead, or does not live yet.
            PeerUnreachable: It does not answer now.
        """
        ...


class SupervisorLink(Protocol):
    """An agent's way to the Supervisor. A call that fails is an error; nothing is assumed."""

    async def check_in(self, asked: CheckIn) -> Directive:
        """Ask for leave to make one attempt of a model call."""
        ...

    async def settle(self, settlement: Settlement) -> None:
        """Say what an attempt came to."""
        ...

    async def report(self, status: AgentStatus, notices: tuple[Notice, ...]) -> None:
        """Tell how the agent is and what happened, in order."""
        ...

    async def peers(self, agent: AgentId, incarnation: Incarnation) -> tuple[AgentStatus, ...]:
        """The other agents of the fleet."""
        ...


class Channel(Protocol):
    """An agent's way to its peers, as its tools see it."""

    async def send(self, recipient: AgentId, body: str, reply_to: str = "") -> Receipt:
        """Send one message and wait until it is accepted or refused.

        Raises:
            AgentUnknown: There is no such agent, with near names.
            ChannelClosed: The recipient is dead; one that has stopped refuses.
        """
        ...

    async def receipt(self, message: MessageId) -> Receipt | None:
        """What became of a message sent from here; None when it is not known here."""
        ...

    async def peers(self) -> tuple[AgentStatus, ...]:
        """The other agents of the fleet."""
        ...


Wake = Callable[[], None]
"""Called from any thread when there is something new."""
