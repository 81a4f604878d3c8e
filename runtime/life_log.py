"""What is written of one life of an agent: what happens to it, and what its mailbox accepts."""

from collections.abc import Iterable
from typing import Self

from ..protocols.ids import AgentId, Incarnation, MessageId, RunId
from ..protocols.mail import Envelope, Refusal
from .errors import PeerUnreachable
from .inbox import Inbox
from .journal.fleet_log import FleetLog
from .journal_errors import JournalUnavailable
from .mail_log import MailLog
from .ports import Clock
from .recorder import Recorder
from .records import Dropped, Lost, Past, Queued, Taken, Unread
from .step.events import Asked
from .step.rules import Rules

__all__ = ("LifeLog",)


class LifeLog:
    """One agent's two streams. It belongs to the agent's work loop, but for `deliver`, which has a loop of its own.

    Attributes:
        recorder: Writes what happens; for the driver.
    """

    def __init__(self, log: FleetLog, agent: AgentId, incarnation: Incarnation, inbox: Inbox, clock: Clock) -> None:
        """Nothing is read or written before `open`."""
        self._agent = agent
        self._over = "it does not live yet"
        self._mail = MailLog(inbox, log.mail(agent, incarnation, clock))
        self.recorder = Recorder(log.agent(agent, incarnation, clock), clock, self._mail.lacks)

    @classmethod
    def of(
        cls, log: FleetLog | None, agent: AgentId, incarnation: Incarnation, inbox: Inbox, clock: Clock
    ) -> Self | None:
        """The log of a life; None where the fleet has none."""
        return None if log is None else cls(log, agent, incarnation, inbox, clock)

    async def open(self, rules: Rules) -> Past:
        """Claim both streams, have the mailbox be as an earlier life left it, and give what the agent was.

        Raises:
            Fenced: A newer life of the agent has begun.
            JournalUnavailable: The journal cannot be reached.
            RecordInvalid: What is written of an earlier life cannot be read.
        """
        past = await self.recorder.open(self._agent, rules)
        await self._mail.open((*past.taken, *past.lost))
        self._over = ""
        return past

    async def deliver(self, batch: bytes) -> bytes:
        """Take a batch of mail, from any one loop; it is recorded when this returns.

        Raises:
            ProtocolError: The bytes are no batch.
            Fenced: A newer life of the agent has begun.
            PeerUnreachable: This life has not begun or is over: the mail is for another one.
        """
        if self._over:
            raise PeerUnreachable(agent=self._agent, reason=self._over)
        try:
            return await self._mail.deliver(batch)
        except JournalUnavailable as error:
            raise PeerUnreachable(agent=self._agent, reason=self._over or str(error)) from error

    async def queued(self, asked: Asked) -> None:
        """A run was accepted.

        Raises:
            Fenced: A newer life of the agent has begun.
            JournalUnavailable: This was closed meanwhile; whether it was written is unknown.
        """
        await self.recorder.add(Queued(asked))

    def consumed(self, messages: Iterable[MessageId], run: RunId, step: int) -> None:
        """Messages have left the mailbox; the commit that holds them is written."""
        self._mail.ended(Taken(message, run, step) for message in messages)

    async def gave_up(
        self, dead: tuple[Envelope, ...], refusal: Refusal, runs: tuple[RunId, ...], reason: str
    ) -> tuple[Envelope, ...]:
        """Messages and runs that waited, and that nobody will look at any more.

        Returns:
            The messages that are dead letters: not those that were read and only not taken out of the mailbox yet.

        Raises:
            Fenced: A newer life of the agent has begun, and has them.
            JournalUnavailable: This was closed meanwhile; whether it was written is unknown.
        """
        taken = {one.message for one in self.recorder.past.taken}
        unread = tuple(envelope for envelope in dead if envelope.id not in taken)
        lost = tuple(Lost(envelope.id, refusal) for envelope in unread)
        await self.recorder.add(*((Unread(lost),) if lost else ()), *(Dropped(run, reason) for run in runs))
        self._mail.ended(lost)
        return unread

    def close(self, reason: str) -> None:
        """Write nothing more, whoever waits for it: what is not written is the next life's to do. From any thread."""
        self._over = self._over or reason
        self._mail.close()
        self.recorder.close()
