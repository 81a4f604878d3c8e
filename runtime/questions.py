"""Answers to questions that a run has read and not answered itself: its final text is sent to those who wait for it."""

import asyncio
import logging

from ..protocols.errors import FleetError
from ..protocols.ids import MessageId
from ..protocols.mail import BODY_LIMIT
from ..protocols.outcome import Outcome
from .agent_channel import AgentChannel
from .step.correspondence import Question
from .step.sizes import shortened

__all__ = ("Questions",)

log = logging.getLogger(__name__)


class Questions:
    """Sends the answers. It belongs to the work loop."""

    def __init__(self, channel: AgentChannel) -> None:
        """Answers go out by the agent's own channel."""
        self._channel = channel
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def outgoing(self) -> int:
        """Messages that have been neither accepted nor refused, and answers that are about to be sent; any thread."""
        return self._channel.outgoing + len(self._tasks)

    def answer(self, outcome: Outcome, questions: tuple[Question, ...], trace: str = "") -> None:
        """A run has ended: those whose question it left open get its text. Returns at once.

        `trace`: W3C traceparent of the run, or empty.
        """
        for question in questions:
            task = asyncio.create_task(self._send(question, outcome, trace))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _send(self, question: Question, outcome: Outcome, trace: str) -> None:
        text = outcome.text.strip() or f"No answer: {outcome}. {outcome.reason}"
        text = shortened(text.encode(errors="replace").decode(), BODY_LIMIT)  # half a surrogate pair has no bytes
        # One id for one answer: sent again by the agent's next life, it is the same message.
        answer = MessageId(f"{outcome.run}.answer.{question.message}")
        try:
            await self._channel.send(
                question.sender, text, reply_to=question.message, message=answer, hops=question.hops + 1, trace=trace
            )
        except FleetError as error:
            log.info("the answer to %s did not reach %s: %s", question.message, question.sender, error)

    async def sent(self) -> None:
        """Wait until each answer has been accepted or refused."""
        await asyncio.gather(*self._tasks)

    async def aclose(self) -> None:
        """Give up on answers that are still on their way."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
