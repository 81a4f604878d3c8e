"""What makes a message unacceptable for good. Both ends of a channel judge it alike."""

from ...protocols.mail import BODY_LIMIT, ENVELOPE_CHARGE, HOPS_LIMIT, Envelope, Refusal

__all__ = ("FIELD_LIMIT", "refusal_of")

FIELD_LIMIT = 1024
"""Characters that `id`, `reply_to` and `trace` may have together, so that a mailbox's bound in bytes holds."""


def refusal_of(envelope: Envelope, size: int, now: float) -> Refusal | None:
    """Return why no mailbox may ever accept the message, or None.

    Args:
        envelope: The message.
        size: Its `size`, which is worth counting only once.
        now: Unix seconds; a `ttl` is counted from the sender's clock, so clocks that differ shorten or lengthen it.
    """
    if envelope.hops > HOPS_LIMIT:
        return Refusal.HOPS
    if size > BODY_LIMIT + ENVELOPE_CHARGE:
        return Refusal.TOO_LARGE
    if len(envelope.id) + len(envelope.reply_to) + len(envelope.trace) > FIELD_LIMIT:
        return Refusal.TOO_LARGE
    if envelope.ttl and now > envelope.created + envelope.ttl:
        return Refusal.EXPIRED
    return None
