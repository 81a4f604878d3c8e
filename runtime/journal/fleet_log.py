"""The streams of one fleet in a journal."""

from dataclasses import dataclass

from ...protocols.ids import AgentId, Incarnation
from ..ports import Clock, Journal, Record
from .stream_writer import StreamWriter

__all__ = ("FleetLog",)


@dataclass(frozen=True)
class FleetLog:
    """A journal, and whose streams are meant."""

    journal: Journal
    fleet: str

    def agent(self, name: AgentId, incarnation: Incarnation, clock: Clock) -> StreamWriter:
        """What happens to an agent."""
        return StreamWriter(self.journal, self.agent_stream(name), incarnation, clock)

    def mail(self, name: AgentId, incarnation: Incarnation, clock: Clock) -> StreamWriter:
        """What its mailbox accepts."""
        return StreamWriter(self.journal, self.mail_stream(name), incarnation, clock)

    def agent_stream(self, name: AgentId) -> str:
        """The name of the stream of what happens to an agent."""
        return f"{self.fleet}/agent/{name}"

    def mail_stream(self, name: AgentId) -> str:
        """The name of the stream of what an agent's mailbox accepts."""
        return f"{self.fleet}/mail/{name}"

    async def left(self, name: AgentId) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
        """What is there of an agent, and of its mailbox, from their newest snapshots on; nothing is claimed.

        Raises:
            JournalUnavailable: The journal cannot be reached.
        """
        lives = await self.journal.read(self.agent_stream(name))
        return newest(lives), newest(await self.journal.read(self.mail_stream(name)))

    async def accounts(self) -> tuple[Record, ...]:
        """What is there of what the Supervisor was asked, and nothing is claimed.

        Raises:
            JournalUnavailable: The journal cannot be reached.
        """
        return await self.journal.read(self._ledger)

    async def ledger(self, clock: Clock) -> StreamWriter:
        """What the Supervisor is asked, by a process newer than all before.

        Raises:
            JournalUnavailable: The journal cannot be reached.
        """
        return StreamWriter(self.journal, self._ledger, await self.journal.claim(self._ledger), clock)

    @property
    def _ledger(self) -> str:
        return f"{self.fleet}/ledger"


def newest(records: tuple[Record, ...]) -> tuple[Record, ...]:
    """The newest snapshot, if there is one, and all after it."""
    snapshots = [place for place, record in enumerate(records) if record.snapshot]
    return records[snapshots[-1] :] if snapshots else records
