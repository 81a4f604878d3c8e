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
        return StreamWriter(self.journal, f"{self.fleet}/agent/{name}", incarnation, clock)

    def mail(self, name: AgentId, incarnation: Incarnation, clock: Clock) -> StreamWriter:
        """What its mailbox accepts."""
        return StreamWriter(self.journal, f"{self.fleet}/mail/{name}", incarnation, clock)

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
