"""The sending end of a channel: what waits for each recipient, and the one batch that is on its way to it."""

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import islice

from ...protocols.errors import DecodeError
from ...protocols.ids import AgentId, Incarnation, MessageId
from ...protocols.mail import Envelope, Kind, Refusal, Verdict
from .refusal import refusal_of

__all__ = ("BATCH_BYTES", "BATCH_MESSAGES", "Outbox")

BATCH_MESSAGES = 256
"""The most messages of one batch."""

BATCH_BYTES = 256 * 1024
"""The most bytes (`Envelope.size`) of one batch."""


FULL = Refusal.FULL
"""To ask an enum for it takes longer than all else that is done with a verdict."""


@dataclass(slots=True)
class Lane:
    """The way to one recipient.

    Attributes:
        seq: Of the last message stamped.
        attempt: How often the recipient said `full` so far; all that waits carries it.
        waiting: What is not answered for good, in order; the batch is its beginning.
        size: Bytes (`Envelope.size`) of what waits.
        batch: Sent, and its outcome is unknown; empty: all that was sent is answered.
        away: The batch is on its way.
    """

    seq: int = 0
    attempt: int = 0
    waiting: dict[MessageId, Envelope] = field(default_factory=dict[MessageId, Envelope])
    size: int = 0
    batch: tuple[Envelope, ...] = ()
    away: bool = False


class Outbox:
    """What one life of an agent sends, in order per recipient. It does no I/O and never waits.

    1. `put` stamps a message and lets it wait.
    2. `next_batch` gives what goes now; until it is answered or lost there is no other for that recipient.
    3. `answered` ends what got a final verdict; what met a full mailbox stays in front.
    4. `lost` means nobody knows whether the batch arrived: the very same one goes again.

    Attributes:
        waiting: Messages that have been neither accepted nor refused for good, those on their way included.
    """

    def __init__(self, owner: AgentId, incarnation: Incarnation, *, messages: int = 1024) -> None:
        """Begin empty.

        Args:
            owner: The sender every message is stamped with.
            incarnation: The sender's life. No two outboxes of one owner may share it: mailboxes would take the
                messages of one for copies of the other's.
            messages: The most that may wait for one recipient.
        """
        self.owner = owner
        self.incarnation = incarnation
        self.waiting = 0
        self._messages = messages
        self._lanes: defaultdict[AgentId, Lane] = defaultdict(Lane)

    def put(  # noqa: PLR0913 - the fields of an envelope
        self,
        recipient: AgentId,
        body: str,
        *,
        now: float,
        kind: Kind = Kind.PEER,
        reply_to: str = "",
        hops: int = 0,
        ttl: float = 0.0,
        trace: str = "",
        message: MessageId | None = None,
    ) -> tuple[Envelope, Verdict]:
        """Stamp a message and let it wait for its turn.

        Args:
            recipient: Whom it is for.
            body: The text.
            now: Unix seconds, the message's `created`.
            kind: Who wrote it.
            reply_to: The id of the message it answers, or empty.
            hops: Answers to answers so far.
            ttl: Seconds in which it must be accepted; 0: no limit.
            trace: W3C traceparent, or empty.
            message: Its id where the sender's next life may send it again, which mailboxes recognise by it; None: one
                is made.

        Returns:
            The message, and None when it waits; else why it does not: too large, too many hops, or too many wait.

        Raises:
            UnicodeEncodeError: A text has no bytes: it holds half a surrogate pair, as JSON from a model may.
            ValueError: A message of that id waits already.
        """
        lane = self._lanes[recipient]
        seq = lane.seq + 1
        id_ = self._new_id(message) if message else MessageId(f"{self.owner}.{self.incarnation}.{recipient}.{seq}")
        if not (body.isascii() and id_.isascii() and recipient.isascii() and reply_to.isascii() and trace.isascii()):
            f"{recipient}{id_}{body}{reply_to}{trace}".encode()  # or the whole batch could not be encoded later
        owner, life, attempt = self.owner, self.incarnation, lane.attempt
        fields = (id_, owner, life, seq, recipient, kind, body, reply_to, hops, now, ttl, trace, attempt)
        # The class's own way takes twice as long.
        envelope = tuple.__new__(Envelope, fields)  # pyright: ignore[reportUnknownMemberType]
        lane.seq = seq
        size = envelope.size
        if refusal := refusal_of(envelope, size, now):
            return envelope, refusal
        if len(lane.waiting) >= self._messages:
            return envelope, FULL
        lane.waiting[id_] = envelope
        lane.size += size
        self.waiting += 1
        return envelope, None

    def next_batch(self, recipient: AgentId) -> tuple[Envelope, ...]:
        """What goes to the recipient now; empty while a batch is on its way, and when nothing waits."""
        lane = self._lanes[recipient]
        if lane.away:
            return ()
        lane.batch = lane.batch or beginning(lane)
        lane.away = bool(lane.batch)
        return lane.batch

    def answered(self, recipient: AgentId, verdicts: tuple[Verdict, ...]) -> tuple[tuple[Envelope, Verdict], ...]:
        """Take the recipient's verdicts on the batch, one each, in order.

        Returns:
            What is settled: the messages accepted or refused for good. Those that met a full mailbox wait on.

        Raises:
            DecodeError: There are more or fewer verdicts than messages; nothing changed.
        """
        lane = self._lanes[recipient]
        if len(verdicts) != len(lane.batch):
            raise DecodeError(reason=f"{len(verdicts)} verdicts for {len(lane.batch)} messages")
        judged = zip(lane.batch, verdicts, strict=True)
        settled = tuple([each for each in judged if each[1] is not FULL])
        self.waiting -= len(settled)
        if len(settled) == len(lane.waiting):  # the batch was all that waited
            lane.waiting, lane.size = {}, 0
        else:
            for envelope, _ in settled:
                del lane.waiting[envelope.id]
                lane.size -= envelope.size
        if len(settled) < len(lane.batch):
            self._try_anew(lane)
        lane.batch, lane.away = (), False
        return settled

    def lost(self, recipient: AgentId) -> None:
        """Nobody knows whether the batch arrived: `next_batch` gives the very same one again."""
        self._lanes[recipient].away = False

    def drop(self, recipient: AgentId) -> tuple[Envelope, ...]:
        """Take out all that waits or is on its way: the recipient is gone."""
        lane = self._lanes[recipient]
        dropped = tuple(lane.waiting.values())
        lane.waiting, lane.size, lane.batch, lane.away = {}, 0, (), False
        self.waiting -= len(dropped)
        return dropped

    def withdraw(self, recipient: AgentId, message: MessageId) -> bool:
        """Take out one message; False when it may have arrived, or does not wait."""
        lane = self._lanes[recipient]
        if any(envelope.id == message for envelope in lane.batch):
            return False
        if (withdrawn := lane.waiting.pop(message, None)) is None:
            return False
        lane.size -= withdrawn.size
        self.waiting -= 1
        return True

    def _new_id(self, message: MessageId) -> MessageId:
        """The given id, if no message has it yet."""
        if any(message in lane.waiting for lane in self._lanes.values()):
            raise ValueError(f"The message {message!r} waits already.")
        return message

    def _try_anew(self, lane: Lane) -> None:
        """Number the next attempt, so that the mailbox can tell it from a late copy of the one it refused."""
        lane.attempt += 1
        for id_, envelope in lane.waiting.items():
            lane.waiting[id_] = envelope._replace(attempt=lane.attempt)


def beginning(lane: Lane) -> tuple[Envelope, ...]:
    """As much as one batch holds, one message at least."""
    waiting = lane.waiting.values()
    if len(waiting) <= BATCH_MESSAGES and lane.size <= BATCH_BYTES:
        return tuple(waiting)
    batch: list[Envelope] = []
    room = BATCH_BYTES
    for envelope in islice(waiting, BATCH_MESSAGES):
        room -= envelope.size
        if batch and room < 0:
            break
        batch.append(envelope)
    return tuple(batch)
