"""The receiving end of a channel."""

import pytest

from amrita_fleet.protocols.ids import USER, AgentId, Incarnation, MessageId, RunId
from amrita_fleet.protocols.mail import BODY_LIMIT, HOPS_LIMIT, Envelope, Kind, Receipt, ReceiptState, Refusal
from amrita_fleet.runtime.mail.mailbox import FATES, Mailbox, MailboxState
from amrita_fleet.runtime.mail.senders import SENDERS, Place

ANA = AgentId("ana")
BOB = AgentId("bob")
CEM = AgentId("cem")
RUN = RunId("run-1")
EVERYTHING = 1 << 30


def letter(seq: int, sender: AgentId = ANA, body: str = "hello", incarnation: int = 1) -> Envelope:
    return Envelope(
        id=MessageId(f"{sender}.{incarnation}.bob.{seq}"),
        sender=sender,
        incarnation=Incarnation(incarnation),
        seq=seq,
        recipient=BOB,
        kind=Kind.PEER,
        body=body,
        reply_to="",
        hops=0,
        created=100.0,
        ttl=0.0,
        trace="",
    )


def accept(mailbox: Mailbox, *batch: Envelope, now: float = 100.0) -> list[Refusal | None]:
    return list(mailbox.accept(batch, now))


def waiting(mailbox: Mailbox) -> list[int]:
    return [envelope.seq for envelope in mailbox.take(EVERYTHING)]


def consume(mailbox: Mailbox, *messages: Envelope) -> None:
    mailbox.consume([envelope.id for envelope in messages], RUN, 4)


# --- order and copies -------------------------------------------------------------------------------------------------


def test_messages_wait_in_the_order_they_came() -> None:
    mailbox = Mailbox(BOB)
    assert accept(mailbox, letter(1), letter(2), letter(1, CEM)) == [None, None, None]
    assert mailbox.take(EVERYTHING) == (letter(1), letter(2), letter(1, CEM))


def test_a_copy_is_accepted_and_stored_once() -> None:
    mailbox = Mailbox(BOB)
    accept(mailbox, letter(1), letter(2))
    assert accept(mailbox, letter(1), letter(2), letter(3)) == [None, None, None]
    assert waiting(mailbox) == [1, 2, 3]
    assert mailbox.accepted == 3


def test_a_copy_of_a_consumed_message_is_not_stored_again() -> None:
    mailbox = Mailbox(BOB)
    accept(mailbox, letter(1))
    consume(mailbox, letter(1))
    assert accept(mailbox, letter(1)) == [None]
    assert mailbox.waiting == 0


def test_gaps_are_allowed_and_what_is_behind_the_last_one_came_before() -> None:
    mailbox = Mailbox(BOB)
    assert accept(mailbox, letter(5)) == [None]
    assert accept(mailbox, letter(3)) == [None]
    assert waiting(mailbox) == [5]


def test_a_restarted_sender_counts_from_one_again() -> None:
    mailbox = Mailbox(BOB)
    accept(mailbox, letter(1), letter(2))
    assert accept(mailbox, letter(1, incarnation=2)) == [None]
    assert waiting(mailbox) == [1, 2, 1]


def test_a_message_of_an_older_life_is_accepted_until_the_newer_one_is_heard() -> None:
    mailbox = Mailbox(BOB)
    accept(mailbox, letter(1))
    assert accept(mailbox, letter(2), letter(1, incarnation=2)) == [None, None]
    assert accept(mailbox, letter(3)) == [Refusal.FENCED]
    assert waiting(mailbox) == [1, 2, 1]


def test_an_overtaken_life_is_fenced_however_often_it_asks_and_hears_the_truth_of_what_came_in_time() -> None:
    mailbox = Mailbox(BOB)
    accept(mailbox, letter(1), letter(5, incarnation=2))
    for _ in range(2):
        assert accept(mailbox, letter(1), letter(2)) == [None, Refusal.FENCED]
    assert mailbox.receipt(letter(2).id) is None
    assert waiting(mailbox) == [1, 5]


def test_an_overtaken_life_is_not_told_to_try_again_where_the_newer_one_met_a_full_mailbox() -> None:
    mailbox = Mailbox(BOB, messages=1)
    assert accept(mailbox, letter(1, CEM), letter(1, incarnation=2)) == [None, Refusal.FULL]
    assert accept(mailbox, letter(1)) == [Refusal.FENCED]


def test_lives_of_a_person_speak_at_the_same_time_and_each_is_heard_once_and_in_its_order() -> None:
    mailbox = Mailbox(BOB)
    said = [letter(1, USER), letter(1, USER, incarnation=2), letter(2, USER), letter(2, USER, incarnation=2)]
    for message in [*said, *said]:
        assert accept(mailbox, message) == [None]
    assert mailbox.take(EVERYTHING) == tuple(said)


def test_a_full_mailbox_that_one_life_of_a_person_met_is_nothing_to_the_other() -> None:
    mailbox = Mailbox(BOB, messages=1)
    accept(mailbox, letter(1), letter(1, USER, incarnation=2)._replace(attempt=3))
    consume(mailbox, letter(1))
    assert accept(mailbox, letter(1, USER)) == [None]


def test_a_life_of_a_person_that_was_forgotten_and_speaks_again_is_heard() -> None:
    mailbox = Mailbox(BOB, messages=SENDERS + 3)
    accept(mailbox, letter(1, USER))
    for life in range(2, SENDERS + 2):
        accept(mailbox, letter(1, USER, incarnation=life))
    assert accept(mailbox, letter(1, USER), letter(2, USER)) == [None, None]
    assert mailbox.waiting == SENDERS + 2


def test_a_restored_mailbox_knows_the_place_of_each_life() -> None:
    first, second = Mailbox(BOB), Mailbox(BOB)
    accept(first, letter(2, USER), letter(2, USER, incarnation=2), letter(2, incarnation=2))
    second.restore(first.state())
    assert second.state() == first.state()
    assert accept(second, letter(1, USER), letter(1, USER, incarnation=2), letter(1, incarnation=2)) == [None] * 3
    assert accept(second, letter(3, USER), letter(3, USER, incarnation=2), letter(3)) == [None, None, Refusal.FENCED]
    assert waiting(second) == [2, 2, 2, 3, 3]


def test_a_mailbox_that_kept_one_place_for_all_lives_of_a_person_is_read_and_hears_them() -> None:
    mailbox = Mailbox(BOB)
    mailbox.restore(MailboxState((), (Place(USER, Incarnation(2), 4),), ()))
    assert accept(mailbox, letter(4, USER, incarnation=2), letter(9, USER)) == [None, None]
    assert waiting(mailbox) == [9]


def test_what_is_taken_in_again_record_by_record_keeps_the_place_of_each_life() -> None:
    mailbox = Mailbox(BOB)
    for message in (letter(2, USER, incarnation=2), letter(2, USER), letter(2, incarnation=2)):
        mailbox.restore_accepted(message)
    batch = letter(1, USER), letter(3, USER), letter(3, USER, incarnation=2), letter(3)
    assert accept(mailbox, *batch) == [None, None, None, Refusal.FENCED]
    assert waiting(mailbox) == [2, 2, 2, 3, 3]


def test_a_message_sent_again_by_the_next_life_is_known_by_its_id() -> None:
    mailbox = Mailbox(BOB)
    accept(mailbox, letter(1), letter(2))
    consume(mailbox, letter(1))
    again = [letter(seq, incarnation=2)._replace(id=letter(seq).id) for seq in (1, 2)]
    assert accept(mailbox, *again) == [None, None]
    assert waiting(mailbox) == [2]


def test_a_message_for_somebody_else_is_refused_and_moves_nothing() -> None:
    mailbox = Mailbox(BOB)
    assert accept(mailbox, letter(9)._replace(recipient=CEM)) == [Refusal.UNKNOWN]
    assert accept(mailbox, letter(1)) == [None]


def test_the_sender_that_was_silent_longest_is_forgotten_first() -> None:
    mailbox = Mailbox(BOB, messages=SENDERS + 2)
    accept(mailbox, letter(1), letter(1, CEM))
    for number in range(SENDERS - 2):
        accept(mailbox, letter(1, AgentId(f"peer-{number}")))
    accept(mailbox, letter(1), letter(1, AgentId("one more")))
    stranger = MessageId("never seen")
    assert accept(mailbox, letter(1)._replace(id=stranger)) == [None]
    assert mailbox.receipt(stranger) is None
    assert accept(mailbox, letter(1, CEM)._replace(id=stranger)) == [None]
    assert mailbox.receipt(stranger) is not None


# --- bounds -----------------------------------------------------------------------------------------------------------


def test_after_one_full_the_rest_of_the_senders_batch_is_full() -> None:
    mailbox = Mailbox(BOB, size=100_000)
    accept(mailbox, letter(1, CEM, body="x" * 50_000))
    batch = [letter(1), letter(2, body="x" * 60_000), letter(3), letter(4)._replace(hops=99), letter(2, CEM)]
    assert accept(mailbox, *batch) == [None, Refusal.FULL, Refusal.FULL, Refusal.FULL, None]
    assert mailbox.take(EVERYTHING, (ANA,)) == (letter(1),)


def test_what_was_full_is_accepted_when_it_is_tried_anew_and_there_is_room() -> None:
    mailbox = Mailbox(BOB, messages=1)
    assert accept(mailbox, letter(1), letter(2)) == [None, Refusal.FULL]
    consume(mailbox, letter(1))
    assert accept(mailbox, letter(2)._replace(attempt=1)) == [None]
    assert waiting(mailbox) == [2]


def test_a_late_copy_of_what_was_full_stays_refused() -> None:
    mailbox = Mailbox(BOB, messages=1)
    accept(mailbox, letter(1), letter(2))
    consume(mailbox, letter(1))
    assert accept(mailbox, letter(1), letter(2)) == [None, Refusal.FULL]
    assert mailbox.waiting == 0


def test_the_next_life_of_a_sender_begins_its_attempts_anew() -> None:
    mailbox = Mailbox(BOB, messages=1)
    accept(mailbox, letter(1), letter(2)._replace(attempt=8))
    consume(mailbox, letter(1))
    assert accept(mailbox, letter(1, incarnation=2)) == [None]


def test_a_mailbox_that_could_never_hold_a_lawful_message_is_refused() -> None:
    with pytest.raises(ValueError, match="full for ever"):
        Mailbox(BOB, messages=0)
    with pytest.raises(ValueError, match="full for ever"):
        Mailbox(BOB, size=BODY_LIMIT)


def test_consumed_bytes_are_free_again() -> None:
    mailbox = Mailbox(BOB, size=100_000)
    for seq in range(1, 10):
        message = letter(seq, body="x" * 60_000)
        assert accept(mailbox, message) == [None]
        consume(mailbox, message)


# --- refusals for good ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "refusal"),
    [
        pytest.param(letter(1, body="x" * (BODY_LIMIT + 1)), Refusal.TOO_LARGE, id="large"),
        pytest.param(letter(1)._replace(hops=HOPS_LIMIT + 1), Refusal.HOPS, id="hops"),
        pytest.param(letter(1)._replace(ttl=5.0, created=90.0), Refusal.EXPIRED, id="expired"),
    ],
)
def test_a_copy_of_what_was_refused_for_good_is_refused_again(message: Envelope, refusal: Refusal) -> None:
    mailbox = Mailbox(BOB)
    assert accept(mailbox, message, letter(2)) == [refusal, None]
    assert accept(mailbox, message, now=0.0) == [refusal]
    assert mailbox.receipt(message.id) == Receipt(message.id, BOB, ReceiptState.REFUSED, refusal)
    assert waiting(mailbox) == [2]


def test_what_was_refused_for_good_is_behind_the_sender() -> None:
    mailbox = Mailbox(BOB)
    accept(mailbox, letter(2)._replace(ttl=5.0, created=90.0))
    assert accept(mailbox, letter(1)) == [None]
    assert mailbox.waiting == 0


def test_a_message_accepted_in_time_may_wait_longer_than_its_ttl() -> None:
    mailbox = Mailbox(BOB)
    message = letter(1)._replace(ttl=5.0)
    accept(mailbox, message, now=104.0)
    assert accept(mailbox, message, now=900.0) == [None]
    assert waiting(mailbox) == [1]


# --- reading and consuming --------------------------------------------------------------------------------------------


def test_taking_only_reads() -> None:
    mailbox = Mailbox(BOB)
    accept(mailbox, letter(1))
    assert mailbox.take(EVERYTHING) == mailbox.take(EVERYTHING) == (letter(1),)
    assert (mailbox.waiting, mailbox.consumed) == (1, 0)


def test_taking_stops_at_the_first_message_that_does_not_fit() -> None:
    mailbox = Mailbox(BOB)
    accept(mailbox, letter(1), letter(2, body="x" * 5_000), letter(3))
    assert mailbox.take(1_000) == (letter(1),)


def test_one_message_is_taken_however_large_it_is() -> None:
    mailbox = Mailbox(BOB)
    accept(mailbox, letter(1, body="x" * 5_000), letter(2))
    assert [envelope.seq for envelope in mailbox.take(10)] == [1]


def test_taking_may_look_at_some_senders_only() -> None:
    mailbox = Mailbox(BOB)
    accept(mailbox, letter(1), letter(1, CEM), letter(2))
    assert mailbox.take(EVERYTHING, (CEM,)) == (letter(1, CEM),)
    assert mailbox.has((CEM,))
    consume(mailbox, letter(1, CEM))
    assert not mailbox.has((CEM,))
    assert mailbox.has()


def test_an_empty_mailbox_gives_nothing() -> None:
    mailbox = Mailbox(BOB)
    assert mailbox.take(EVERYTHING) == ()
    assert not mailbox.has()
    assert not mailbox.has(notes=False)


def test_a_note_of_the_runtime_wakes_nobody() -> None:
    mailbox = Mailbox(BOB)
    accept(mailbox, letter(1)._replace(kind=Kind.NOTE))
    assert mailbox.has()
    assert not mailbox.has(notes=False)
    accept(mailbox, letter(2))
    assert mailbox.has(notes=False)


def test_a_consumed_message_has_a_receipt_with_run_and_step() -> None:
    mailbox = Mailbox(BOB)
    accept(mailbox, letter(1))
    assert mailbox.receipt(letter(1).id) == Receipt(letter(1).id, BOB, ReceiptState.ACCEPTED)
    consume(mailbox, letter(1))
    assert mailbox.receipt(letter(1).id) == Receipt(letter(1).id, BOB, ReceiptState.CONSUMED, run=RUN, step=4)
    assert mailbox.consumed == 1


def test_consuming_twice_changes_nothing() -> None:
    mailbox = Mailbox(BOB)
    accept(mailbox, letter(1))
    consume(mailbox, letter(1))
    mailbox.consume([letter(1).id], RunId("run-2"), 9)
    receipt = mailbox.receipt(letter(1).id)
    assert receipt and receipt.run == RUN
    assert mailbox.consumed == 1


def test_nothing_is_known_of_a_message_that_never_came() -> None:
    assert Mailbox(BOB).receipt(letter(1).id) is None


def test_only_the_last_fates_are_remembered() -> None:
    mailbox = Mailbox(BOB)
    for seq in range(1, FATES + 2):
        accept(mailbox, letter(seq))
        consume(mailbox, letter(seq))
    assert mailbox.receipt(letter(1).id) is None
    assert mailbox.receipt(letter(2).id) is not None
    assert accept(mailbox, letter(1)) == [None]
    assert mailbox.waiting == 0


# --- closing ----------------------------------------------------------------------------------------------------------


def test_closing_gives_the_dead_letters_and_their_receipts_say_why() -> None:
    mailbox = Mailbox(BOB)
    accept(mailbox, letter(1), letter(2))
    consume(mailbox, letter(1))
    assert mailbox.close(Refusal.STOPPED) == (letter(2),)
    assert mailbox.receipt(letter(2).id) == Receipt(letter(2).id, BOB, ReceiptState.DEAD, Refusal.STOPPED)
    assert mailbox.waiting == 0


def test_a_note_of_the_runtime_is_never_a_dead_letter() -> None:
    mailbox = Mailbox(BOB)
    note = letter(1)._replace(kind=Kind.NOTE)
    accept(mailbox, note)
    assert mailbox.close(Refusal.STOPPED) == ()
    receipt = mailbox.receipt(note.id)
    assert receipt and receipt.state is ReceiptState.DEAD


def test_a_closed_mailbox_refuses_for_the_reason_it_was_closed_for_however_often_it_is_asked() -> None:
    mailbox = Mailbox(BOB)
    mailbox.close(Refusal.LIMIT)
    mailbox.close(Refusal.STOPPED)
    for _ in range(2):
        assert accept(mailbox, letter(1), letter(2)) == [Refusal.LIMIT, Refusal.LIMIT]


def test_a_copy_of_a_dead_letter_was_accepted() -> None:
    mailbox = Mailbox(BOB)
    accept(mailbox, letter(1))
    mailbox.close(Refusal.STOPPED)
    assert accept(mailbox, letter(1), letter(2)) == [None, Refusal.STOPPED]


def test_a_dead_letter_cannot_be_consumed() -> None:
    mailbox = Mailbox(BOB)
    accept(mailbox, letter(1))
    mailbox.close(Refusal.STOPPED)
    consume(mailbox, letter(1))
    receipt = mailbox.receipt(letter(1).id)
    assert receipt and receipt.state is ReceiptState.DEAD
    assert mailbox.consumed == 0
