"""What mail is told that comes to an agent which was stopped for good, and has no process any more to say so."""

from collections.abc import Awaitable, Callable

from ..protocols.codec import decode_batch, encode_verdicts
from ..protocols.ids import AgentId, MessageId
from ..protocols.mail import Receipt, ReceiptState, Refusal, Verdict
from .errors import PeerUnreachable
from .journal_errors import JournalUnavailable

__all__ = ("turned_away",)


async def turned_away(
    recipient: AgentId, batch: bytes, left: Callable[[AgentId, MessageId], Awaitable[Receipt | None]]
) -> bytes:
    """The verdicts for a batch, as the agent's own mailbox would give them: copies of what it took are taken.

    Args:
        recipient: Who was stopped.
        batch: As `codec.encode_batch` gives it.
        left: Gives what became of a message, as far as what is left of the agent says it.

    Raises:
        ProtocolError: The bytes are no batch.
        PeerUnreachable: What is left cannot be read now.
    """
    try:
        verdicts = [verdict(await left(recipient, each.id)) for each in decode_batch(batch)]
    except JournalUnavailable as error:
        raise PeerUnreachable(agent=recipient, reason=str(error)) from error
    return encode_verdicts(tuple(verdicts))


def verdict(known: Receipt | None) -> Verdict:
    """Of one message. Without a journal, one of which nothing is known counts as lost, whether it came or not."""
    if known is None or known.refusal is Refusal.LOST:
        return Refusal.STOPPED
    return known.refusal if known.state is ReceiptState.REFUSED else None
