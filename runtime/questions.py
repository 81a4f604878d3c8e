"""Answers to questions that a run has read and not answered itself: its final text is sent to those who wait for it."""

import asyncio
import logging
from typing import NamedTuple

from ..protocols.errors import FleetError
from ..protocols.ids import AgentId, MessageId
from ..protocols.mail import BODY_LIMIT, Envelope, Kind
from ..protocols.outcome import Outcome
from .agent_channel import AgentChannel
from .step.sizes import shortened

__all__ = ("Questions",)

log = logging.getLogger(__name__)


class Question(NamedTuple):
    """Who asks, and how many messages they had from here when the question was read."""

    sender: AgentId
    written: int


class Questions:
    """The open questions of an agent. It belongs to the work loop."""

    def __init__(self, channel: AgentChannel) -> None:
        """Know of none. Answers go out by the agent's own channel, which also says to whom it wrote itself."""
        self._channel = channel
        self._open: dict[MessageId, Question] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def read(self, mail: tuple[Envelope, ...]) -> None:
        """A run has read these messages."""
        for one in mail:
            if one.kind is Kind.QUESTION:
                sender = AgentId(one.sender)
                self._open[one.id] = Question(sender, self._channel.written_to[sender])

    def answer(self, outcome: Outcome) -> None:
        """A run has ended: those whose question it left open get its text. Returns at once.

        Whom the run wrote to since it read the question has an answer, whether the model named the question or not.
        """
        questions, self._open = self._open, {}
        for message, asked in questions.items():
            if self._channel.written_to[asked.sender] == asked.written:
                task = asyncio.create_task(self._send(asked.sender, message, outcome))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _send(self, sender: AgentId, question: MessageId, outcome: Outcome) -> None:
        text = outcome.text.strip() or f"No answer: {outcome}. {outcome.reason}"
        text = text.encode(errors="replace").decode()  # a model may have written half a surrogate pair
        # One id for one answer: sent again by the agent's next life, it is the same message.
        answer = MessageId(f"{outcome.run}.answer.{question}")
        try:
            await self._channel.send(sender, shortened(text, BODY_LIMIT), reply_to=question, message=answer)
        except FleetError as error:
            log.info("the answer to %s did not reach %s: %s", question, sender, error)

    async def sent(self) -> None:
        """Wait until each answer has been accepted or refused."""
        await asyncio.gather(*self._tasks)

    async def aclose(self) -> None:
        """Give up on answers that are still on their way."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
