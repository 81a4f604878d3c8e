"""What makes a message unacceptable for good."""

import pytest

from amrita_fleet.protocols.ids import AgentId, Incarnation, MessageId
from amrita_fleet.protocols.mail import BODY_LIMIT, HOPS_LIMIT, Envelope, Kind, Refusal
from amrita_fleet.runtime.mail.refusal import FIELD_LIMIT, refusal_of

LETTER = Envelope(
    id=MessageId("ana.1.bob.1"),
    sender=AgentId("ana"),
    incarnation=Incarnation(1),
    seq=1,
    recipient=AgentId("bob"),
    kind=Kind.PEER,
    body="hello",
    reply_to="",
    hops=0,
    created=100.0,
    ttl=10.0,
    trace="",
)


@pytest.mark.parametrize(
    ("message", "refusal"),
    [
        pytest.param(LETTER, None, id="plain"),
        pytest.param(LETTER._replace(hops=HOPS_LIMIT), None, id="last hop"),
        pytest.param(LETTER._replace(hops=HOPS_LIMIT + 1), Refusal.HOPS, id="one hop more"),
        pytest.param(LETTER._replace(body="x" * BODY_LIMIT), None, id="largest"),
        pytest.param(LETTER._replace(body="x" * (BODY_LIMIT - 1) + "ä"), Refusal.TOO_LARGE, id="one byte more"),
        pytest.param(LETTER._replace(reply_to="x" * FIELD_LIMIT), Refusal.TOO_LARGE, id="reply_to"),
        pytest.param(LETTER._replace(trace="x" * FIELD_LIMIT), Refusal.TOO_LARGE, id="trace"),
    ],
)
def test_hops_and_size_are_bounded(message: Envelope, refusal: Refusal | None) -> None:
    assert refusal_of(message, message.size, now=100.0) is refusal


@pytest.mark.parametrize(
    ("ttl", "now", "refusal"),
    [(10.0, 110.0, None), (10.0, 110.5, Refusal.EXPIRED), (0.0, 1e9, None)],
    ids=["just in time", "too late", "no limit"],
)
def test_a_message_expires_when_its_ttl_is_over(ttl: float, now: float, refusal: Refusal | None) -> None:
    assert refusal_of(LETTER._replace(ttl=ttl), LETTER.size, now) is refusal
