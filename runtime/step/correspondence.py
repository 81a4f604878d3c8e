"""What an agent remembers of the mail it has read: which questions its run still has to answer, how long chains are."""

from collections.abc import Collection
from typing import NamedTuple

from ...protocols.ids import AgentId, MessageId
from .phases import Mail

__all__ = ("KEPT_CHAINS", "Chain", "Question", "chains_with", "hops_after", "questions_in", "unanswered")

KEPT_CHAINS = 256
"""Messages whose hops are remembered, the last ones read. Those that answer none need not be."""


class Question(NamedTuple):
    """A question that a run has read and not answered: who asks, and its hops."""

    message: MessageId
    sender: AgentId
    hops: int = 0


class Chain(NamedTuple):
    """A message that was read, and how many answers to answers it ends."""

    message: MessageId
    hops: int


def questions_in(mails: tuple[Mail, ...]) -> tuple[Question, ...]:
    """The questions among these."""
    return tuple(Question(mail.id, mail.sender, mail.hops) for mail in mails if mail.question)


def unanswered(questions: tuple[Question, ...], wrote: Collection[AgentId]) -> tuple[Question, ...]:
    """What is left of them: whoever was written to has an answer, whether the model named the question or not."""
    return tuple(each for each in questions if each.sender not in wrote)


def chains_with(chains: tuple[Chain, ...], mails: tuple[Mail, ...]) -> tuple[Chain, ...]:
    """What is remembered once these are read too."""
    return (*chains, *(Chain(mail.id, mail.hops) for mail in mails if mail.hops))[-KEPT_CHAINS:]


def hops_after(chains: tuple[Chain, ...], reply_to: str) -> int:
    """The hops of a message that answers `reply_to`, or, where that is empty, none."""
    if not reply_to:
        return 0
    return 1 + next((hops for message, hops in reversed(chains) if message == reply_to), 0)
