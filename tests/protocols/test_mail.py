"""Envelopes and receipts."""

from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.ids import AgentId, Incarnation, MessageId
from amrita_fleet.protocols.mail import ENVELOPE_CHARGE, Envelope, Kind, Receipt, ReceiptState, Refusal


def envelope(body: str) -> Envelope:
    return Envelope(
        MessageId("m"), AgentId("ana"), Incarnation(1), 1, AgentId("bob"), Kind.PEER, body, "", 0, 1.5, 0.0, ""
    )


@given(st.text())
def test_a_messages_size_is_its_bytes_and_a_fixed_charge(body: str) -> None:
    assert envelope(body).size == len(body.encode()) + ENVELOPE_CHARGE


def test_an_envelope_is_a_plain_tuple_that_cannot_be_changed() -> None:
    assert isinstance(envelope("hi"), tuple)
    assert envelope("hi")._replace(attempt=2).attempt == 2
    assert envelope("hi").attempt == 0


def test_a_receipt_says_nothing_it_does_not_know() -> None:
    receipt = Receipt(MessageId("m"), AgentId("bob"), ReceiptState.PENDING)

    assert (receipt.refusal, receipt.run, receipt.step) == (None, None, None)


def test_nothing_more_becomes_of_a_message_that_was_read_refused_or_is_dead() -> None:
    final = [state for state in ReceiptState if Receipt(MessageId("m"), AgentId("bob"), state).final]
    assert final == [ReceiptState.CONSUMED, ReceiptState.REFUSED, ReceiptState.DEAD]


def test_words_for_refusals_stay_what_they_are() -> None:
    assert sorted(map(str, Refusal)) == [
        "closed",
        "died",
        "expired",
        "fenced",
        "full",
        "hops",
        "limit",
        "lost",
        "not_a_peer",
        "stopped",
        "too_large",
        "unknown",
    ]
