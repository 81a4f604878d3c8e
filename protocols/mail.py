"""What agents send each other, and what a sender learns of it.

Envelopes and receipts are plain tuples: they are the hot path of the channel, and pydantic ones halved its throughput.
"""

from enum import StrEnum
from typing import NamedTuple

from .ids import AgentId, Incarnation, MessageId, RunId

__all__ = (
    "BODY_LIMIT",
    "HOPS_LIMIT",
    "DeadLetter",
    "Envelope",
    "Kind",
    "Receipt",
    "ReceiptState",
    "Refusal",
    "Verdict",
)

BODY_LIMIT = 64 * 1024
"""Bytes of UTF-8 one body may have."""

HOPS_LIMIT = 32
"""How many answers to answers one chain may have."""


class Kind(StrEnum):
    """Who wrote it, and what for: a peer (or a person), one who waits for the answer, or the runtime itself.

    Notes never wake an idle agent. A question that a run leaves open is answered with that run's final text.
    """

    PEER = "peer"
    QUESTION = "question"
    NOTE = "note"


class Envelope(NamedTuple):
    """One message on its way.

    `seq` counts per (sender, recipient) from 1 and, with the sender's `incarnation` when it was first sent, orders
    messages and finds duplicates. `created` is in Unix seconds, `ttl` in seconds (0: no limit), `trace` a W3C
    traceparent or empty. `attempt` rises each time the recipient's mailbox was full, so that a late copy of what it
    refused is never taken for another try.
    """

    id: MessageId
    sender: AgentId
    incarnation: Incarnation
    seq: int
    recipient: AgentId
    kind: Kind
    body: str
    reply_to: str
    hops: int
    created: float
    ttl: float
    trace: str
    attempt: int = 0

    @property
    def size(self) -> int:
        """Bytes the body takes as UTF-8, plus a fixed charge for the rest."""
        body = self.body
        return (len(body) if body.isascii() else len(body.encode())) + ENVELOPE_CHARGE


ENVELOPE_CHARGE = 200
"""Bytes counted for an envelope's other fields."""


class Refusal(StrEnum):
    """Why a message was not accepted, or, once accepted, never read. Only `FULL` may be tried again.

    `NOT_A_PEER`: its sender may not write to that agent, so it never left. `DIED` and `LOST` are of accepted ones: the
    recipient died for good before it read them, or, in a fleet without a journal, with whatever it had read of them.
    """

    FULL = "full"
    EXPIRED = "expired"
    TOO_LARGE = "too_large"
    CLOSED = "closed"
    HOPS = "hops"
    STOPPED = "stopped"
    LIMIT = "limit"
    UNKNOWN = "unknown"
    FENCED = "fenced"
    NOT_A_PEER = "not_a_peer"
    DIED = "died"
    LOST = "lost"


Verdict = Refusal | None
"""A mailbox's answer for one message: None is accepted (again, for a duplicate)."""


class ReceiptState(StrEnum):
    """What became of a message so far."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    CONSUMED = "consumed"
    REFUSED = "refused"
    DEAD = "dead"


class Receipt(NamedTuple):
    """What a sender learns of a message.

    Attributes:
        id: The message.
        recipient: Whom it was for.
        state: What became of it so far.
        refusal: Why it was refused, or why an accepted one was never consumed.
        run: The run that consumed it.
        step: The Step, counted over the agent's life, at whose beginning it was consumed; None also where only the
            records of a dead agent are left to say so.
    """

    id: MessageId
    recipient: AgentId
    state: ReceiptState
    refusal: Refusal | None = None
    run: RunId | None = None
    step: int | None = None

    @property
    def final(self) -> bool:
        """Nothing more will become of the message."""
        return self.state not in {ReceiptState.PENDING, ReceiptState.ACCEPTED}


class DeadLetter(NamedTuple):
    """A message that was accepted and that nobody will read; `refusal` says why."""

    id: MessageId
    sender: AgentId
    refusal: Refusal
