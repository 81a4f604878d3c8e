"""What a person is shown of a live agent that its row does not tell: its transcript, its mail, what it says now."""

from collections.abc import Callable, Iterable
from typing import Protocol

from ..protocols.ids import AgentId, Incarnation
from ..protocols.insight import Called, Heard, Insight, Letter, Said, Spoken
from ..protocols.mail import Envelope
from ..protocols.messages import ToolResult, Turn
from .inbox import Inbox
from .ports import Clock
from .speech import Speech
from .step.state import AgentState

__all__ = ("AgentInsight", "AgentSight", "Sights", "shown")

TURNS = 200
"""Elements of a transcript that are shown, the newest."""

CHARACTERS = 20_000
"""Of one text that is shown."""

ALL_CHARACTERS = 400_000
"""Of a transcript that is shown; its newest element is in any case."""

MAIL_BYTES = 128 * 1024
"""Of mail that is shown."""


class AgentSight(Protocol):
    """The way to look into one live agent, wherever it lives. It disturbs nothing: the agent goes on meanwhile."""

    async def look(self) -> Insight:
        """How it is now, also while a tool blocks its work loop.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It is dead.
            PeerUnreachable: It does not answer now.
        """
        ...

    async def listen(self, heard: Heard, wait: float) -> Spoken:
        """What its model says beyond what was heard, as `Speech.listen` gives it; raises what `look` raises."""
        ...


class Sights(Protocol):
    """Gives the way to look into each agent of a fleet."""

    def __call__(self, agent: AgentId, /) -> AgentSight:
        """The way into an agent; that it exists is seen, at the latest, when it is used.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It is dead, or does not live yet.
        """
        ...


class AgentInsight:
    """The agent's own end.

    Attributes:
        speech: What its model says now.
    """

    def __init__(self, inbox: Inbox, incarnation: Incarnation, clock: Clock, state: Callable[[], AgentState]) -> None:
        """Keep what is looked at."""
        self.speech = Speech(incarnation, clock)
        self._inbox = inbox
        self._state = state

    async def look(self) -> Insight:
        """How it is now, from any thread; waits for nothing."""
        state = self._state()
        transcript, earlier = shown(state.transcript.turns)
        mailbox = tuple(map(letter, self._inbox.take(MAIL_BYTES)))
        return Insight(state.agent, state.step, earlier, transcript, self._inbox.counts()[0], mailbox)

    async def listen(self, heard: Heard, wait: float) -> Spoken:
        """What its model says beyond that; in the work loop."""
        return await self.speech.listen(heard, wait)


def shown(turns: tuple[Turn, ...]) -> tuple[tuple[Said, ...], int]:
    """The newest elements of a transcript, and how many are left out before them."""
    found: list[Said] = []
    room = ALL_CHARACTERS
    for turn in reversed(turns[-TURNS:]):
        said = said_of(turn)
        room -= sum(map(len, texts(said)))
        if found and room < 0:
            break
        found.append(said)
    return tuple(reversed(found)), len(turns) - len(found)


def said_of(turn: Turn) -> Said:
    """One element, with the beginnings of what is too long."""
    if isinstance(turn, ToolResult):
        return Said("tool", turn.content[:CHARACTERS], tool=turn.name, cut=beyond([turn.content]))
    reasoning = turn.reasoning_content or ""
    return Said(
        turn.role,
        turn.content[:CHARACTERS],
        reasoning[:CHARACTERS],
        tuple(Called(call.name, call.arguments[:CHARACTERS]) for call in turn.calls),
        cut=beyond([turn.content, reasoning, *(call.arguments for call in turn.calls)]),
    )


def letter(envelope: Envelope) -> Letter:
    """A message that waits."""
    body = envelope.body[:CHARACTERS]
    return Letter(
        envelope.id, envelope.sender, envelope.kind, body, envelope.created, cut=len(envelope.body) - len(body)
    )


def beyond(whole: Iterable[str]) -> int:
    """Characters of texts that are not shown."""
    return sum(max(0, len(text) - CHARACTERS) for text in whole)


def texts(said: Said) -> Iterable[str]:
    """What takes room."""
    return (said.text, said.reasoning, *(call.arguments for call in said.calls))
