"""The sending end of a channel."""

from collections.abc import Sequence
from itertools import cycle, islice

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amrita_fleet.protocols.errors import DecodeError
from amrita_fleet.protocols.ids import AgentId, Incarnation, MessageId
from amrita_fleet.protocols.mail import BODY_LIMIT, HOPS_LIMIT, Envelope, Kind, Refusal
from amrita_fleet.runtime.mail.outbox import BATCH_BYTES, BATCH_MESSAGES, Outbox

ANA = AgentId("ana")
BOB = AgentId("bob")
CEM = AgentId("cem")


@pytest.fixture
def outbox() -> Outbox:
    return Outbox(ANA, Incarnation(3))


def put(outbox: Outbox, *bodies: str, to: AgentId = BOB) -> list[Envelope]:
    return [outbox.put(to, body, now=100.0)[0] for body in bodies]


def bodies(batch: tuple[Envelope, ...]) -> list[str]:
    return [envelope.body for envelope in batch]


def test_a_message_is_stamped_with_sender_life_and_place() -> None:
    envelope, refusal = Outbox(ANA, Incarnation(3)).put(
        BOB, "hello", now=100.0, kind=Kind.NOTE, reply_to="bob.1.ana.7", hops=2, ttl=60.0, trace="00-1-2-01"
    )
    assert refusal is None
    assert envelope == Envelope(
        id=MessageId("ana.3.bob.1"),
        sender=ANA,
        incarnation=Incarnation(3),
        seq=1,
        recipient=BOB,
        kind=Kind.NOTE,
        body="hello",
        reply_to="bob.1.ana.7",
        hops=2,
        created=100.0,
        ttl=60.0,
        trace="00-1-2-01",
    )


def test_each_recipient_has_its_own_count(outbox: Outbox) -> None:
    messages = [*put(outbox, "a", "b"), *put(outbox, "c", to=CEM)]
    assert [message.id for message in messages] == ["ana.3.bob.1", "ana.3.bob.2", "ana.3.cem.1"]


def test_what_waits_goes_as_one_batch_in_order(outbox: Outbox) -> None:
    messages = put(outbox, "a", "b", "c")
    assert outbox.next_batch(BOB) == tuple(messages)


def test_while_a_batch_is_on_its_way_there_is_no_other_for_that_recipient(outbox: Outbox) -> None:
    put(outbox, "a")
    outbox.next_batch(BOB)
    put(outbox, "b")
    put(outbox, "c", to=CEM)
    assert outbox.next_batch(BOB) == ()
    assert bodies(outbox.next_batch(CEM)) == ["c"]


def test_what_came_meanwhile_is_the_next_batch(outbox: Outbox) -> None:
    put(outbox, "a")
    batch = outbox.next_batch(BOB)
    put(outbox, "b", "c")
    assert outbox.answered(BOB, (None,)) == ((batch[0], None),)
    assert bodies(outbox.next_batch(BOB)) == ["b", "c"]


def test_when_nothing_waits_there_is_no_batch(outbox: Outbox) -> None:
    assert outbox.next_batch(BOB) == ()
    put(outbox, "a")
    assert bodies(outbox.next_batch(BOB)) == ["a"]


def test_a_batch_has_a_bounded_number_of_messages(outbox: Outbox) -> None:
    put(outbox, *("x" for _ in range(BATCH_MESSAGES + 1)))
    assert len(outbox.next_batch(BOB)) == BATCH_MESSAGES


def test_a_batch_has_a_bounded_size(outbox: Outbox) -> None:
    put(outbox, *("x" * 60_000 for _ in range(6)))
    batch = outbox.next_batch(BOB)
    assert sum(envelope.size for envelope in batch) <= BATCH_BYTES
    assert len(batch) == 4


def test_a_lost_batch_goes_again_as_it_was(outbox: Outbox) -> None:
    put(outbox, "a", "b")
    batch = outbox.next_batch(BOB)
    put(outbox, "c")
    outbox.lost(BOB)
    assert outbox.next_batch(BOB) == batch


def test_what_met_a_full_mailbox_goes_first_in_the_next_batch_as_another_attempt(outbox: Outbox) -> None:
    put(outbox, "a", "b", "c")
    outbox.next_batch(BOB)
    put(outbox, "d")
    settled = outbox.answered(BOB, (None, Refusal.FULL, Refusal.FULL))
    assert [(envelope.body, refusal) for envelope, refusal in settled] == [("a", None)]
    put(outbox, "e")
    batch = outbox.next_batch(BOB)
    assert bodies(batch) == ["b", "c", "d", "e"]
    assert {envelope.attempt for envelope in batch} == {1}
    assert [envelope.seq for envelope in batch] == [2, 3, 4, 5]


def test_a_refusal_for_good_ends_a_message(outbox: Outbox) -> None:
    put(outbox, "a", "b")
    batch = outbox.next_batch(BOB)
    verdicts = (Refusal.EXPIRED, Refusal.STOPPED)
    assert outbox.answered(BOB, verdicts) == tuple(zip(batch, verdicts, strict=True))
    assert outbox.next_batch(BOB) == ()


def test_an_answer_with_the_wrong_number_of_verdicts_is_an_error_and_changes_nothing(outbox: Outbox) -> None:
    put(outbox, "a", "b")
    batch = outbox.next_batch(BOB)
    with pytest.raises(DecodeError, match="1 verdicts for 2 messages"):
        outbox.answered(BOB, (None,))
    outbox.lost(BOB)
    assert outbox.next_batch(BOB) == batch


@pytest.mark.parametrize(
    ("body", "hops", "refusal"),
    [
        pytest.param("ä" * (BODY_LIMIT // 2) + "x", 0, Refusal.TOO_LARGE, id="large"),
        pytest.param("a", HOPS_LIMIT + 1, Refusal.HOPS, id="hops"),
    ],
)
def test_what_no_mailbox_would_accept_is_refused_before_it_is_sent(
    outbox: Outbox, body: str, hops: int, refusal: Refusal
) -> None:
    envelope, verdict = outbox.put(BOB, body, now=100.0, hops=hops)
    assert verdict is refusal
    assert envelope.id == "ana.3.bob.1"
    assert outbox.next_batch(BOB) == ()


def test_the_largest_lawful_message_waits(outbox: Outbox) -> None:
    assert outbox.put(BOB, "ä" * (BODY_LIMIT // 2), now=100.0, hops=HOPS_LIMIT)[1] is None


def test_more_than_the_bound_does_not_wait() -> None:
    outbox = Outbox(ANA, Incarnation(1), messages=2)
    put(outbox, "a", "b")
    assert outbox.put(BOB, "c", now=100.0)[1] is Refusal.FULL
    assert outbox.put(CEM, "d", now=100.0)[1] is None
    outbox.next_batch(BOB)
    outbox.answered(BOB, (None, None))
    assert outbox.put(BOB, "e", now=100.0)[1] is None


@pytest.mark.parametrize("field", ["body", "reply_to", "trace"])
def test_half_a_surrogate_pair_is_an_error_at_once_and_harms_no_other_message(outbox: Outbox, field: str) -> None:
    texts = {"body": "a", "reply_to": "", "trace": "", field: "\ud83d"}
    with pytest.raises(UnicodeEncodeError):
        outbox.put(BOB, texts["body"], now=100.0, reply_to=texts["reply_to"], trace=texts["trace"])
    put(outbox, "b")
    assert [(envelope.body, envelope.seq) for envelope in outbox.next_batch(BOB)] == [("b", 1)]


def test_a_message_may_be_given_its_id_once(outbox: Outbox) -> None:
    given = MessageId("ana.run-1.2.0")
    assert outbox.put(BOB, "a", now=100.0, message=given)[0].id == given
    with pytest.raises(ValueError, match="waits already"):
        outbox.put(CEM, "a", now=100.0, message=given)


def test_dropping_gives_all_that_waits_or_is_on_its_way(outbox: Outbox) -> None:
    messages = put(outbox, "a")
    outbox.next_batch(BOB)
    messages += put(outbox, "b")
    assert outbox.drop(BOB) == tuple(messages)
    assert outbox.next_batch(BOB) == ()


def test_a_recipient_that_is_back_is_not_sent_an_old_number(outbox: Outbox) -> None:
    put(outbox, "a", "b")
    outbox.drop(BOB)
    assert put(outbox, "c")[0].seq == 3


def test_a_message_that_waits_can_be_withdrawn(outbox: Outbox) -> None:
    first, second = put(outbox, "a", "b")
    assert outbox.withdraw(BOB, first.id)
    assert not outbox.withdraw(BOB, first.id)
    assert outbox.next_batch(BOB) == (second,)


def test_a_message_that_may_have_arrived_cannot_be_withdrawn(outbox: Outbox) -> None:
    (message,) = put(outbox, "a")
    outbox.next_batch(BOB)
    assert not outbox.withdraw(BOB, message.id)
    outbox.lost(BOB)
    assert not outbox.withdraw(BOB, message.id)


def test_a_message_that_met_a_full_mailbox_can_be_withdrawn(outbox: Outbox) -> None:
    (message,) = put(outbox, "a")
    outbox.next_batch(BOB)
    outbox.answered(BOB, (Refusal.FULL,))
    assert outbox.withdraw(BOB, message.id)
    assert outbox.next_batch(BOB) == ()


VERDICTS = st.lists(st.sampled_from([None, Refusal.UNKNOWN, Refusal.FULL]), min_size=1, max_size=4)

MOVES = st.one_of(
    st.builds("put{}".format, st.integers(0, BODY_LIMIT)),
    st.builds("withdraw{}".format, st.integers(0, 20)),
    st.just("drop"),
    VERDICTS,
)
"""A message of so many bytes is put, the n-th that waits is withdrawn, all are dropped, or a batch is answered."""

LARGE = f"put{BODY_LIMIT}"


@example([LARGE, LARGE, LARGE, [Refusal.FULL], LARGE, LARGE, LARGE, LARGE, [None]])
@example([LARGE, LARGE, LARGE, LARGE, LARGE, LARGE, "withdraw5", "withdraw4", "put0", [None]])
@given(st.lists(MOVES, max_size=30))
def test_a_batch_is_as_large_as_it_may_be_whatever_happened_before(moves: list[str | list[Refusal | None]]) -> None:
    outbox, waiting = Outbox(ANA, Incarnation(3)), list[Envelope]()
    for move in [*moves, [None]]:
        if isinstance(move, list):
            waiting = answered(outbox, waiting, move)
        elif move == "drop":
            assert list(outbox.drop(BOB)) == waiting
            waiting = []
        elif move.startswith("put"):
            waiting += put(outbox, "x" * int(move[3:]))
        elif (place := int(move[8:])) < len(waiting) and outbox.withdraw(BOB, waiting[place].id):
            del waiting[place]
        assert outbox.waiting == len(waiting)


def answered(outbox: Outbox, waiting: list[Envelope], verdicts: Sequence[Refusal | None]) -> list[Envelope]:
    """Take a batch of what waits, and have these verdicts on it again and again; gives what waits then."""
    batch = outbox.next_batch(BOB)
    sizes = [envelope.size for envelope in waiting]
    most = max((n for n in range(len(sizes) + 1) if n <= 1 or sum(sizes[:n]) <= BATCH_BYTES), default=0)
    assert [each.id for each in batch] == [each.id for each in waiting[: min(most, BATCH_MESSAGES)]]
    if not batch:
        return waiting
    said = tuple(islice(cycle(verdicts), len(batch)))
    done = {each.id for each, verdict in zip(batch, said, strict=True) if verdict is not Refusal.FULL}
    outbox.answered(BOB, said)
    left = [each for each in waiting if each.id not in done]
    again = len(done) < len(batch)  # the recipient was full: all that waits is another attempt
    return [each._replace(attempt=each.attempt + 1) for each in left] if again else left
