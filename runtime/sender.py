"""The pump around the outbox: one task for each recipient that has mail to get, one batch on its way at a time."""

import asyncio
from functools import partial

from ..protocols.codec import decode_verdicts, encode_batch
from ..protocols.ids import AgentId, Incarnation, MessageId
from ..protocols.mail import Envelope, Kind, Receipt, ReceiptState, Refusal
from .errors import ChannelClosed, PeerUnreachable, SelfAddressed
from .mail.outbox import Outbox
from .ports import Clock, Transport

__all__ = ("FIRST_PAUSE", "LAST_PAUSE", "Sender")

FIRST_PAUSE = 0.05
"""Seconds before a full or unreachable recipient is asked again; each further pause is twice as long."""

LAST_PAUSE = 1.0
"""The longest such pause, in seconds."""


ACCEPTED, REFUSED = ReceiptState.ACCEPTED, ReceiptState.REFUSED
"""To ask an enum for one takes as long as to make the receipt."""

Waiter = tuple[Envelope, float, asyncio.Future[Receipt]]
"""A caller of `send`: what it sent, when its patience ends (monotonic seconds) and how it is told."""


class Sender:
    """Sends the messages of one life of an agent and tells each caller what became of its message.

    It belongs to one event loop.

    Attributes:
        owner: The agent whose messages these are.
        sent: Messages that were accepted so far.
    """

    def __init__(
        self, owner: AgentId, incarnation: Incarnation, transport: Transport, clock: Clock, deadline: float = 30.0
    ) -> None:
        """Begin with nothing to send.

        Args:
            owner: The sender every message is stamped with.
            incarnation: The sender's life; each `Sender` of one owner needs a higher one than the last.
            transport: The way to the mailboxes.
            clock: Time.
            deadline: Seconds after which `send` no longer waits for a message to be accepted.
        """
        self.owner = owner
        self.sent = 0
        self._transport = transport
        self._clock = clock
        self._deadline = deadline
        self._outbox = Outbox(owner, incarnation)
        self._waiters: dict[MessageId, Waiter] = {}  # all have the same patience: the first one's ends first
        self._pumps: dict[AgentId, asyncio.Task[None]] = {}
        self._watch: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def outgoing(self) -> int:
        """Messages that have been neither accepted nor refused, whether anybody waits for them or not; any thread."""
        return self._outbox.waiting

    @property
    def waiting_for(self) -> tuple[AgentId, ...]:
        """The recipients whose acceptance somebody waits for, who has waited longest first."""
        return tuple({envelope.recipient: None for envelope, _, _ in self._waiters.values()})

    async def send(  # noqa: PLR0913 - the fields of an envelope
        self,
        recipient: AgentId,
        body: str,
        *,
        reply_to: str = "",
        kind: Kind = Kind.PEER,
        hops: int = 0,
        ttl: float = 0.0,
        trace: str = "",
        message: MessageId | None = None,
    ) -> Receipt:
        """Send one message and wait until it is accepted or refused, at most until the deadline.

        Args:
            recipient: Whom it is for.
            body: The text.
            reply_to: The id of the message it answers, or empty.
            kind: Who wrote it.
            hops: Answers to answers so far.
            ttl: Seconds in which it must be accepted; 0: no limit.
            trace: W3C traceparent, or empty.
            message: Its id where the sender's next life may send it again, which mailboxes recognise by it; None: one
                is made.

        Returns:
            `ACCEPTED`; `REFUSED` with the reason, which is `FULL` when it could not be handed over before the
            deadline and was withdrawn; or `PENDING` when at the deadline nobody knows whether it arrived: it stays on
            its way, and the recipient's mailbox can be asked for its receipt.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: The recipient is dead, or this sender was closed. One that has stopped refuses.
            SelfAddressed: It is for the sender itself.
            UnicodeEncodeError: A text holds half a surrogate pair.
            ValueError: A message of that id waits already.
        """
        if self._closed:
            raise self._closing()
        if recipient == self.owner:
            raise SelfAddressed(agent=self.owner)
        envelope, refusal = self._outbox.put(
            recipient,
            body,
            now=self._clock.now(),
            kind=kind,
            reply_to=reply_to,
            hops=hops,
            ttl=ttl,
            trace=trace,
            message=message,
        )
        if refusal:
            return receipt(envelope, refusal)
        try:
            return await self._outcome(envelope)
        except asyncio.CancelledError:
            # Nobody cares any more. What is on its way stays there.
            self._waiters.pop(envelope.id, None)
            self._outbox.withdraw(recipient, envelope.id)
            raise

    async def aclose(self) -> None:
        """Send nothing more. Whoever still waits gets `ChannelClosed`; what is on its way may arrive."""
        self._closed = True
        tasks = [*self._pumps.values()]
        if self._watch:
            tasks.append(self._watch)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _outcome(self, envelope: Envelope) -> asyncio.Future[Receipt]:
        """What becomes of a message, once that is known."""
        told: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        self._waiters[envelope.id] = envelope, self._clock.monotonic() + self._deadline, told
        if self._watch is None or envelope.recipient not in self._pumps:
            self._start(envelope.recipient)
        return told

    def _start(self, recipient: AgentId) -> None:
        """See that the recipient's pump and the watch over deadlines run."""
        if recipient not in self._pumps:
            pump = self._pumps[recipient] = asyncio.create_task(self._pump(recipient))
            pump.add_done_callback(partial(self._pump_ended, recipient))
        if self._watch is None:
            self._watch = asyncio.create_task(self._watch_deadlines())

    async def _pump(self, recipient: AgentId) -> None:
        """Send batch after batch until nothing waits."""
        pause = FIRST_PAUSE
        while batch := self._outbox.next_batch(recipient):
            settled = await self._deliver(recipient, batch)
            if settled:
                pause = FIRST_PAUSE
            if settled < len(batch):
                await self._clock.sleep(pause)
                pause = min(2 * pause, LAST_PAUSE)
        del self._pumps[recipient]

    async def _deliver(self, recipient: AgentId, batch: tuple[Envelope, ...]) -> int:
        """Make one attempt and tell those whose messages it settled; gives their number."""
        try:
            answer = await self._transport.deliver(recipient, encode_batch(batch))
        except PeerUnreachable:
            self._outbox.lost(recipient)
            return 0
        settled = self._outbox.answered(recipient, decode_verdicts(answer))
        for envelope, refusal in settled:
            if told := self._caller(envelope.id):
                told.set_result(receipt(envelope, refusal))
            self.sent += refusal is None
        return len(settled)

    def _caller(self, message: MessageId) -> asyncio.Future[Receipt] | None:
        """Where the message's caller waits, to be told now; None when it waits no longer."""
        waiter = self._waiters.pop(message, None)
        return None if waiter is None or waiter[2].done() else waiter[2]

    def _pump_ended(self, recipient: AgentId, pump: asyncio.Task[None]) -> None:
        """Hand the failure of a pump to all who wait for that recipient."""
        failure = self._closing() if pump.cancelled() else pump.exception()
        if failure is None:
            return
        del self._pumps[recipient]
        for envelope in self._outbox.drop(recipient):
            if told := self._caller(envelope.id):
                told.set_exception(failure)

    async def _watch_deadlines(self) -> None:
        """Tell each caller whose patience ends, until nobody waits."""
        while self._waiters:
            envelope, due, _ = next(iter(self._waiters.values()))
            left = due - self._clock.monotonic()
            if left > 0:
                await self._clock.sleep(left)
            elif told := self._caller(envelope.id):
                told.set_result(self._called_back(envelope))
        self._watch = None

    def _called_back(self, envelope: Envelope) -> Receipt:
        """Withdraw a message; what may have arrived cannot be withdrawn and stays on its way."""
        if self._outbox.withdraw(envelope.recipient, envelope.id):
            return receipt(envelope, Refusal.FULL)
        return Receipt(envelope.id, envelope.recipient, ReceiptState.PENDING)

    def _closing(self) -> ChannelClosed:
        """What callers are told once this sender is closed."""
        return ChannelClosed(agent=self.owner, reason="it has stopped sending")


def receipt(envelope: Envelope, refusal: Refusal | None) -> Receipt:
    """What a recipient's verdict means to the sender."""
    state = ACCEPTED if refusal is None else REFUSED
    fields = (envelope.id, envelope.recipient, state, refusal, None, None)
    # The class's own way takes twice as long.
    return tuple.__new__(Receipt, fields)  # pyright: ignore[reportUnknownMemberType]
