"""The receiving end of a channel: what came, in order and once, and what became of it."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, Self

from ...protocols.ids import AgentId, Incarnation, MessageId, RunId
from ...protocols.mail import (
    BODY_LIMIT,
    ENVELOPE_CHARGE,
    Envelope,
    Kind,
    Receipt,
    ReceiptState,
    Refusal,
    Verdict,
)
from .refusal import refusal_of
from .senders import Heard, Place, Senders

__all__ = ("FATES", "Mailbox", "MailboxState", "Turned")

FATES = 4096
"""Messages whose end is remembered, the last ones."""


class Fate(NamedTuple):
    """What became of messages; those of one commit share it. The fields are those of `Receipt`."""

    state: ReceiptState
    refusal: Refusal | None = None
    run: RunId | None = None
    step: int | None = None


class Turned(NamedTuple):
    """A message that was turned away. A later life has to know of it, or it might take in a late copy."""

    message: MessageId
    sender: AgentId
    incarnation: Incarnation
    seq: int
    attempt: int
    refusal: Refusal

    @classmethod
    def away(cls, envelope: Envelope, refusal: Refusal) -> Self:
        """The message of this envelope, and why."""
        return cls(envelope.id, envelope.sender, envelope.incarnation, envelope.seq, envelope.attempt, refusal)


@dataclass(frozen=True, slots=True)
class MailboxState:
    """A whole mailbox, as another process needs it.

    Attributes:
        heard: How far each sender was heard, who was silent longest first; a person has a place for each life.
        fates: What became of messages, the oldest first.
    """

    waiting: tuple[Envelope, ...]
    heard: tuple[Place, ...]
    fates: tuple[Receipt, ...]
    accepted: int = 0
    consumed: int = 0


class Mailbox:
    """One agent's mail, bounded in every direction. It does no I/O and never waits; its host guards it with a lock.

    1. `accept` judges a batch: each message is stored, was stored before, or is refused.
    2. `take` reads the oldest and leaves them there.
    3. `consume` removes them, once the commit that holds them is made.
    4. `close` ends it: all further mail is refused, what waits becomes dead letters.

    Attributes:
        owner: Whose mail it is.
        senders: Who has written, and how far each was heard.
        accepted: Messages stored so far.
        consumed: Messages consumed so far.
        fresh: What the last `accept` stored.
        turned: What it turned away, copies of what was turned away before left out.
        closed: Why all further mail is refused; None: it is not.
    """

    def __init__(self, owner: AgentId, *, messages: int = 1024, size: int = 8 * 1024 * 1024) -> None:
        """Begin empty and open.

        Args:
            owner: Whose mail it is.
            messages: The most that may wait.
            size: The most bytes (`Envelope.size`) that may wait.

        Raises:
            ValueError: The largest lawful message would not fit even when nothing waits.
        """
        if messages < 1 or size < BODY_LIMIT + ENVELOPE_CHARGE:
            raise ValueError(f"A mailbox of {messages} messages and {size} bytes would be full for ever.")
        self.owner = owner
        self.accepted = 0
        self.consumed = 0
        self.fresh: tuple[Envelope, ...] = ()
        self.turned: tuple[Turned, ...] = ()
        self.closed: Refusal | None = None
        self._messages = messages
        self._size = size
        self._bytes = 0
        self._waiting: dict[MessageId, Envelope] = {}
        self._fates: OrderedDict[MessageId, Fate] = OrderedDict()
        self.senders = Senders()

    @property
    def waiting(self) -> int:
        """Messages that were accepted and not yet consumed."""
        return len(self._waiting)

    def has(self, senders: tuple[AgentId, ...] = (), *, notes: bool = True) -> bool:
        """Whether mail waits.

        Args:
            senders: Only mail of these; empty: anybody's.
            notes: Whether the runtime's own notes count, which wake nobody.
        """
        return any(notes or envelope.kind is not Kind.NOTE for envelope in self._from(senders))

    def accept(self, batch: tuple[Envelope, ...], now: float) -> tuple[Verdict, ...]:
        """Judge each message and store the acceptable ones; one verdict each, in order.

        A sender's messages are stored in its order, gaps allowed. After one `FULL` the rest of the sender's batch is
        `FULL` too. A message that came before gets the answer it got then.

        Args:
            batch: Messages, each sender's in rising (incarnation, seq).
            now: Unix seconds.
        """
        before, self.turned = self.accepted, ()
        verdicts: list[Verdict] = []
        heard: Heard | None = None
        sender, incarnation = "", 0
        for envelope in batch:
            if envelope.recipient != self.owner:
                verdicts.append(Refusal.UNKNOWN)
                continue
            if heard is None or envelope.sender != sender or envelope.incarnation != incarnation:
                sender, incarnation = envelope.sender, envelope.incarnation
                heard = self.senders.listen(envelope.sender, envelope.incarnation)
            verdicts.append(self._judge(envelope, heard, now))
        self.fresh = tuple(islice(self._waiting.values(), len(self._waiting) - self.accepted + before, None))
        return tuple(verdicts)

    def take(self, size: int, senders: tuple[AgentId, ...] = ()) -> tuple[Envelope, ...]:
        """Read the oldest messages and leave them there.

        Args:
            size: The most bytes (`Envelope.size`) to read; one message is read even if it has more.
            senders: Only mail of these; empty: anybody's.
        """
        if not senders and self._bytes <= size:
            return tuple(self._waiting.values())
        taken: list[Envelope] = []
        for envelope in self._from(senders):
            size -= envelope.size
            if taken and size < 0:
                break
            taken.append(envelope)
        return tuple(taken)

    def consume(self, ids: Iterable[MessageId], run: RunId, step: int) -> tuple[Envelope, ...]:
        """Remove messages that a run took in at the beginning of `step`.

        Returns:
            Those that were removed. One that does not wait is passed over: it was consumed before, or the mailbox was
            closed meanwhile and it is a dead letter already.
        """
        fate = Fate(ReceiptState.CONSUMED, run=run, step=step)
        waiting, fates = self._waiting, self._fates
        removed = tuple([waiting.pop(id_) for id_ in ids if id_ in waiting])
        self._bytes = self._bytes - sum([envelope.size for envelope in removed]) if waiting else 0
        for envelope in removed:
            fates[envelope.id] = fate
        while len(fates) > FATES:
            fates.popitem(last=False)
        self.consumed += len(removed)
        return removed

    def receipt(self, message: MessageId) -> Receipt | None:
        """What became of a message; None when it never came or is no longer remembered."""
        if message in self._waiting:
            return Receipt(message, self.owner, ReceiptState.ACCEPTED)
        fate = self._fates.get(message)
        return None if fate is None else Receipt(message, self.owner, *fate)

    def state(self) -> MailboxState:
        """All that another process needs to go on."""
        heard = self.senders.places()
        fates = tuple(Receipt(message, self.owner, *fate) for message, fate in self._fates.items())
        return MailboxState(tuple(self._waiting.values()), heard, fates, self.accepted, self.consumed)

    def restore(self, state: MailboxState) -> None:
        """Be as an earlier life was; only for a mailbox that nothing came to yet."""
        for envelope in state.waiting:
            self._store(envelope, envelope.size)
        self.senders.restore(state.heard)
        for receipt in state.fates:
            self._remember(receipt.id, Fate(receipt.state, receipt.refusal, receipt.run, receipt.step))
        self.accepted, self.consumed = state.accepted, state.consumed

    def restore_accepted(self, envelope: Envelope) -> None:
        """Take in again what an earlier life had accepted, whether there is room or not: its sender was told so."""
        heard = self.senders.listen(envelope.sender, envelope.incarnation)
        heard.order = max(heard.order, (envelope.incarnation, envelope.seq))
        if envelope.id not in self._waiting and envelope.id not in self._fates:
            self._store(envelope, envelope.size)

    def restore_turned(self, turned: Turned) -> None:
        """Turn away again what an earlier life did: its sender was told so."""
        heard = self.senders.listen(turned.sender, turned.incarnation)
        if turned.refusal is Refusal.FULL:
            heard.full = max(heard.full, (turned.incarnation, turned.attempt))
            return
        heard.order = max(heard.order, (turned.incarnation, turned.seq))
        self._remember(turned.message, Fate(ReceiptState.REFUSED, turned.refusal))

    def restore_end(self, end: Receipt) -> None:
        """Have a message be consumed or dead as in an earlier life.

        It may never have waited here: an earlier life read it, and died before it had answered the sender, who will
        send it again.
        """
        if end.id in self._fates:
            return
        fate = Fate(end.state, end.refusal, end.run, end.step)
        if end.id in self._waiting:
            self._end(end.id, fate)
        else:
            self._remember(end.id, fate)
            self.accepted += 1
        self.consumed += end.state is ReceiptState.CONSUMED

    def close(self, refusal: Refusal) -> tuple[Envelope, ...]:
        """Refuse all further mail with `refusal` until it is opened again; a mailbox closed before keeps its reason.

        Returns:
            The dead letters: what peers sent and nobody consumed. The runtime's notes end with the mailbox, but are
            never dead letters.
        """
        self.closed = self.closed or refusal
        ended = tuple(self._waiting.values())
        for envelope in ended:
            self._end(envelope.id, Fate(ReceiptState.DEAD, refusal))
        return tuple(envelope for envelope in ended if envelope.kind is not Kind.NOTE)

    def _from(self, senders: tuple[AgentId, ...]) -> Iterable[Envelope]:
        """What waits, oldest first."""
        waiting = self._waiting.values()
        return [envelope for envelope in waiting if envelope.sender in senders] if senders else waiting

    def _judge(self, envelope: Envelope, heard: Heard, now: float) -> Verdict:
        """Store the message of a sender heard so far, or say why not."""
        id_, order = envelope.id, (envelope.incarnation, envelope.seq)
        # Known by its id: a restarted sender sends it again under its new incarnation.
        if id_ in self._waiting or id_ in self._fates:
            return self._told(id_)
        if order[0] < heard.order[0] or order[0] < heard.full[0]:
            return Refusal.FENCED  # whether it came in time is not known; that it will be read cannot be promised
        if order <= heard.order:
            return None  # it came before, and its fate is forgotten
        attempt = order[0], envelope.attempt
        if attempt <= heard.full and not self.closed:
            return Refusal.FULL
        size = envelope.size
        refusal = self.closed or refusal_of(envelope, size, now)
        if refusal is None and not self._fits(size):
            heard.full = attempt
            refusal = Refusal.FULL
        else:
            heard.order = order
            if refusal is None:
                self._store(envelope, size)
                return None
            self._remember(id_, Fate(ReceiptState.REFUSED, refusal))
        self.turned += (Turned.away(envelope, refusal),)
        return refusal

    def _told(self, message: MessageId) -> Verdict:
        """The answer a message got before; a consumed or dead one was accepted."""
        fate = self._fates.get(message)
        return fate.refusal if fate and fate.state is ReceiptState.REFUSED else None

    def _fits(self, size: int) -> bool:
        """Whether there is room."""
        return len(self._waiting) < self._messages and self._bytes + size <= self._size

    def _store(self, envelope: Envelope, size: int) -> None:
        """Let the message wait."""
        self._waiting[envelope.id] = envelope
        self._bytes += size
        self.accepted += 1

    def _end(self, message: MessageId, fate: Fate) -> Envelope:
        """Take a waiting message out and remember why."""
        envelope = self._waiting.pop(message)
        self._bytes -= envelope.size
        self._remember(message, fate)
        return envelope

    def _remember(self, message: MessageId, fate: Fate) -> None:
        """Keep the last fates."""
        self._fates[message] = fate
        if len(self._fates) > FATES:
            self._fates.popitem(last=False)
