"""What becomes of questions that a run has read."""

from dataclasses import dataclass, field

import pytest

from amrita_fleet.protocols.codec import decode_batch, encode_verdicts
from amrita_fleet.protocols.ids import AgentId, Incarnation, MessageId, RunId
from amrita_fleet.protocols.mail import BODY_LIMIT, Envelope, Kind, Receipt
from amrita_fleet.protocols.notices import NoticeType
from amrita_fleet.protocols.outcome import Ending, Outcome
from amrita_fleet.runtime.agent_channel import AgentChannel, Seat
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.questions import Questions
from amrita_fleet.runtime.sender import Sender

pytestmark = pytest.mark.anyio

ANA, BOB = AgentId("ana"), AgentId("bob")


@dataclass
class Post:
    """Takes whatever is sent."""

    taken: list[Envelope] = field(default_factory=list[Envelope])

    async def deliver(self, recipient: AgentId, batch: bytes) -> bytes:  # noqa: ARG002
        self.taken += decode_batch(batch)
        return encode_verdicts((None,) * len(decode_batch(batch)))

    async def receipt(self, recipient: AgentId, message: MessageId) -> Receipt | None: ...


class Link:
    """Nobody asks it anything."""


def untold(kind: NoticeType, extra: str, text: str, data: dict[str, str]) -> None:
    """Nobody watches."""


def asked(kind: Kind, number: int = 1) -> Envelope:
    """A message of ana's to bob."""
    return Envelope(MessageId(f"q{number}"), ANA, Incarnation(1), number, BOB, kind, "How many?", "", 0, 0.0, 0.0, "")


def outcome(text: str, ending: Ending = Ending.ANSWERED, reason: str = "") -> Outcome:
    """How bob's run ended."""
    return Outcome(RunId("bob.1.1"), BOB, ending, text, reason=reason)


async def answers(mail: tuple[Envelope, ...], ended: Outcome, *replied_to: str) -> list[Envelope]:
    """What is sent when a run that read `mail`, and then wrote to ana itself, has ended."""
    post, clock = Post(), VirtualClock()
    sender = Sender(BOB, Incarnation(1), post, clock)
    channel = AgentChannel(Seat(BOB, Incarnation(1)), sender, post, Link(), untold)  # type: ignore[arg-type]
    questions = Questions(channel)
    await channel.send(ANA, "Hello.")
    questions.read(mail)
    for message in replied_to:
        await channel.send(ANA, "Three.", message)
    post.taken.clear()
    questions.answer(ended)
    await questions.sent()
    await sender.aclose()
    return post.taken


async def test_a_question_gets_the_final_text_in_answer() -> None:
    (sent,) = await answers((asked(Kind.QUESTION),), outcome("There are three."))
    assert (sent.recipient, sent.body, sent.reply_to, sent.kind) == (ANA, "There are three.", "q1", Kind.PEER)


async def test_a_message_that_asks_nothing_gets_none() -> None:
    assert await answers((asked(Kind.PEER), asked(Kind.NOTE, 2)), outcome("There are three.")) == []


@pytest.mark.parametrize("named", ["q1", ""], ids=["by name", "in general"])
async def test_a_question_that_the_run_replied_to_itself_gets_no_second_answer(named: str) -> None:
    assert await answers((asked(Kind.QUESTION),), outcome("Three."), named) == []


async def test_a_run_that_has_nothing_to_say_says_how_it_ended() -> None:
    (sent,) = await answers((asked(Kind.QUESTION),), outcome("", Ending.FAILED, "The provider is away."))
    assert sent.body == "No answer: failed. The provider is away."


async def test_an_answer_has_room_in_a_message_whatever_the_model_wrote() -> None:
    (sent,) = await answers((asked(Kind.QUESTION),), outcome("\ud800" + "ä" * 100_000))
    assert 0 < len(sent.body.encode()) <= BODY_LIMIT
