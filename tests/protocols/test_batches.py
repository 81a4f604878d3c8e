"""The channel's bytes: the short way that batches take gives what the long one gives."""

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.codec import (
    HEAD,
    as_sent,
    decode_batch,
    decode_verdicts,
    encode_batch,
    encode_verdicts,
    unpack,
)
from amrita_fleet.protocols.errors import DecodeError
from amrita_fleet.protocols.ids import AgentId, Incarnation, MessageId
from amrita_fleet.protocols.mail import Envelope, Kind, Refusal

LETTER = Envelope(
    MessageId("ana.1.bob.1"), AgentId("ana"), Incarnation(1), 1, AgentId("bob"), Kind.PEER, "hi", "", 0, 1.5, 0.0, ""
)
ENVELOPES = st.builds(
    Envelope,
    **{name: st.text() for name in ("id", "sender", "recipient", "body", "reply_to", "trace")},
    **{name: st.integers(0, 2**40) for name in ("incarnation", "seq", "hops", "attempt")},
    **{name: st.floats(0, 1e10) for name in ("created", "ttl")},
    kind=st.sampled_from(Kind),
)


@given(st.lists(ENVELOPES).map(tuple))
def test_a_batch_comes_out_as_it_went_in(batch: tuple[Envelope, ...]) -> None:
    found = decode_batch(encode_batch(batch))

    assert found == batch
    assert all(type(envelope.kind) is Kind for envelope in found)


def test_what_this_side_writes_takes_the_short_way() -> None:
    (row,) = unpack(encode_batch((LETTER,)))

    assert as_sent(row) == LETTER


def test_a_newer_sides_further_fields_are_ignored() -> None:
    assert decode_batch(HEAD + msgpack.packb([[*LETTER, "new"], LETTER])) == (LETTER, LETTER)


def test_a_whole_number_will_do_for_a_time() -> None:
    (found,) = decode_batch(encode_batch((LETTER._replace(created=2),)))

    assert (found.created, type(found.created)) == (2.0, float)


@pytest.mark.parametrize(
    "rows",
    [
        7,
        [7],
        [LETTER[:5]],
        [LETTER._replace(kind="king")],  # type: ignore[arg-type]
        [LETTER._replace(seq=True)],
        [LETTER._replace(body=b"hi")],  # type: ignore[arg-type]
        [LETTER, LETTER._replace(hops="1")],  # type: ignore[arg-type]
    ],
    ids=["no list", "no row", "short", "unknown kind", "a truth for a number", "bytes for a text", "the second one"],
)
def test_what_is_no_batch_is_refused_whole(rows: object) -> None:
    with pytest.raises(DecodeError):
        decode_batch(HEAD + msgpack.packb(rows))


@given(st.lists(st.sampled_from([None, *Refusal])).map(tuple))
def test_verdicts_come_out_as_they_went_in(verdicts: tuple[Refusal | None, ...]) -> None:
    found = decode_verdicts(encode_verdicts(verdicts))

    assert found == verdicts
    assert all(each is None or type(each) is Refusal for each in found)


@pytest.mark.parametrize("answer", [7, ["maybe"], [[]], {"full": 1, "x": 2}], ids=str)
def test_what_is_no_verdict_is_refused(answer: object) -> None:
    with pytest.raises(DecodeError):
        decode_verdicts(HEAD + msgpack.packb(answer))
