"""What a mailbox newly holds is told apart from what it held, had held, or refused: only that is written down."""

from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.ids import AgentId, Incarnation, MessageId, RunId
from amrita_fleet.protocols.mail import BODY_LIMIT, Envelope, Kind, ReceiptState, Refusal
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.config import MailConfig
from amrita_fleet.runtime.inbox import Inbox

ANA, BOB, CYD = AgentId("ana"), AgentId("bob"), AgentId("cyd")


def letter(sender: AgentId, seq: int, *, body: str = "hello") -> Envelope:
    id_ = MessageId(f"{sender}.{seq}")
    return Envelope(id_, sender, Incarnation(1), seq, ANA, Kind.PEER, body, "", 0, 0.0, 0.0, "")


def inbox(messages: int = 5) -> Inbox:
    return Inbox(ANA, MailConfig(mailbox_messages=messages), VirtualClock(), lambda: None)


def test_a_copy_a_refused_one_and_one_that_was_consumed_are_not_fresh() -> None:
    box = inbox()
    judged = box.accept((letter(BOB, 1), letter(BOB, 2)))
    assert ([each.seq for each in judged.fresh], judged.turned) == ([1, 2], ())
    box.consume((MessageId("bob.1"),), RunId("r"), 1)
    judged = box.accept(
        (letter(BOB, 1), letter(BOB, 2), letter(BOB, 3), letter(BOB, 4, body="x" * (BODY_LIMIT + 1)), letter(BOB, 5))
    )
    assert [verdict is None for verdict in judged.verdicts] == [True, True, True, False, True]
    assert [each.seq for each in judged.fresh] == [3, 5]
    assert [each.seq for each in judged.turned] == [4]
    assert box.accept((letter(BOB, 3), letter(BOB, 4))) == ((None, Refusal.TOO_LARGE), (), ())


batches = st.lists(
    st.lists(st.tuples(st.sampled_from([BOB, CYD]), st.integers(1, 12)), max_size=6).map(sorted), max_size=8
)


@given(batches, st.lists(st.integers(0, 4), min_size=8, max_size=8))
def test_each_message_is_fresh_once_exactly_when_it_was_stored(
    asked: list[list[tuple[AgentId, int]]], read: list[int]
) -> None:
    box, told = inbox(), list[MessageId]()
    for batch, count in zip(asked, read, strict=False):
        fresh = box.accept(tuple(letter(sender, seq) for sender, seq in dict.fromkeys(batch))).fresh
        told += [each.id for each in fresh]
        for each in fresh:
            receipt = box.receipt(each.id)
            assert receipt is not None and receipt.state is ReceiptState.ACCEPTED
        box.consume(tuple(each.id for each in box.take(1 << 20)[:count]), RunId("r"), 1)
    known = [letter(sender, seq).id for sender in (BOB, CYD) for seq in range(1, 13)]
    stored = [id_ for id_ in known if (receipt := box.receipt(id_)) and receipt.refusal is None]
    assert sorted(told) == sorted(stored)
