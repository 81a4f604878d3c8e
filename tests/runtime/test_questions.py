"""What becomes of questions that a run has left open."""

from dataclasses import dataclass, field

import pytest

from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.protocols.codec import decode_batch, encode_verdicts
from amrita_fleet.protocols.ids import AgentId, Incarnation, MessageId, RunId
from amrita_fleet.protocols.mail import BODY_LIMIT, Envelope, Kind, Receipt
from amrita_fleet.protocols.notices import NoticeType
from amrita_fleet.protocols.outcome import Ending, Outcome
from amrita_fleet.runtime.agent_channel import AgentChannel, Seat
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.config import MailConfig
from amrita_fleet.runtime.inbox import Inbox
from amrita_fleet.runtime.questions import Questions
from amrita_fleet.runtime.sender import Sender
from amrita_fleet.runtime.step.correspondence import Question
from amrita_fleet.runtime.surroundings import Surroundings

pytestmark = pytest.mark.anyio

ANA, BOB, CYD = AgentId("ana"), AgentId("bob"), AgentId("cyd")


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

    async def peers(self, agent: AgentId, incarnation: Incarnation) -> tuple[AgentStatus, ...]:  # noqa: ARG002
        return ()


def untold(kind: NoticeType, extra: str, text: str, data: dict[str, str]) -> None:
    """Nobody watches."""


def outcome(text: str, ending: Ending = Ending.ANSWERED, reason: str = "") -> Outcome:
    """How bob's run ended."""
    return Outcome(RunId("bob.1.1"), BOB, ending, text, reason=reason)


ASKED = Question(MessageId("q1"), ANA)


async def answers(ended: Outcome, *asked: Question, times: int = 1) -> list[Envelope]:
    """What is sent when a run has ended that left these open, and its end was told so many times."""
    post, clock = Post(), VirtualClock()
    sender = Sender(BOB, Incarnation(1), post, clock)
    around = Surroundings(Link(), post, clock)  # type: ignore[arg-type]
    inbox = Inbox(BOB, MailConfig(), clock, lambda: None)
    questions = Questions(AgentChannel(Seat(BOB, Incarnation(1)), sender, around, inbox, None, untold))
    for _ in range(times):
        questions.answer(ended, asked)
        assert questions.outgoing >= len(asked)
        await questions.sent()
    assert questions.outgoing == 0
    await sender.aclose()
    return post.taken


async def test_a_question_gets_the_final_text_in_answer() -> None:
    (sent,) = await answers(outcome("There are three."), ASKED)
    assert (sent.recipient, sent.body, sent.reply_to, sent.kind) == (ANA, "There are three.", "q1", Kind.PEER)


async def test_each_question_gets_an_answer_of_its_own_with_one_hop_more() -> None:
    sent = await answers(outcome("Three."), ASKED, Question(MessageId("q2"), CYD, 7))
    assert [(each.recipient, each.reply_to, each.hops) for each in sent] == [(ANA, "q1", 1), (CYD, "q2", 8)]


async def test_an_end_that_is_told_twice_sends_the_same_message() -> None:
    first, again = await answers(outcome("Three."), ASKED, times=2)
    assert first.id == again.id


async def test_a_run_that_has_nothing_to_say_says_how_it_ended() -> None:
    (sent,) = await answers(outcome("", Ending.FAILED, "The provider is away."), ASKED)
    assert sent.body == "No answer: failed. The provider is away."


async def test_an_answer_has_room_in_a_message_whatever_the_model_wrote() -> None:
    (sent,) = await answers(outcome("\ud800" + "ä" * 100_000), ASKED)
    assert 0 < len(sent.body.encode()) <= BODY_LIMIT
