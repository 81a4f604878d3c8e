"""How a life of an agent ends: stopped for good, left to the agent's next life, or overtaken by it."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from ..protocols.errors import FleetError
from ..protocols.ids import AgentId, Incarnation
from ..protocols.mail import Refusal
from ..protocols.outcome import Ending
from .endings import Endings
from .errors import ChannelClosed, PeerUnreachable
from .inbox import Inbox
from .journal_errors import Fenced, JournalUnavailable
from .life_log import LifeLog
from .run_queue import RunQueue
from .run_suspensions import RunSuspensions
from .work_loop import WorkLoop

__all__ = ("CLOSED", "LifeEnd")

log = logging.getLogger(__name__)

CLOSED = "the fleet is closed"
LEFT = "the fleet is closed; what is unfinished goes on when it is opened again"


@dataclass
class LifeEnd:
    """The end of one life. Without a journal it ends whatever the agent had; with one that is the next life's.

    Attributes:
        agent: Whose life it is.
        loop: The agent's.
        inbox: Refuses mail once the life is over.
        runs: Those who wait for them are told.
        suspensions: Nobody stands still for anybody any more.
        endings: Ends what the core cannot end.
        journal: What is written of this life; None: nothing is.
        superseded: Told, in the work loop, that a newer life has begun, and why that is known.
        reason: Why the life is over; empty while it goes on.
    """

    agent: AgentId
    loop: WorkLoop
    inbox: Inbox
    runs: RunQueue
    suspensions: RunSuspensions
    endings: Endings
    journal: LifeLog | None
    superseded: Callable[[str], None]
    reason: str = ""
    _refusal: Refusal | None = None
    _turn: Lock = field(default_factory=Lock)

    def shut(self, refusal: Refusal, reason: str) -> None:
        """Refuse mail from now on, from any thread; what was accepted and never consumed becomes dead letters."""
        with self._turn:
            if self.reason:
                return
            self.reason, self._refusal = reason, refusal
        dead = self.inbox.close(refusal)
        self.loop.soon(self.endings.waiting, dead, refusal, reason)
        self.loop.soon(self.suspensions.close, reason)

    def reopen(self) -> None:
        """Take runs and mail again, if a limit was why they are refused: it was raised. From any thread."""
        with self._turn:
            if self._refusal is not Refusal.LIMIT:
                return
            self.reason, self._refusal = "", None
            self.inbox.reopen()
        self.loop.soon(self.suspensions.reopen)

    async def close(self) -> None:
        """End it with its process. What was ended for good is written first, if it can be."""
        if self.journal is None:
            self.shut(Refusal.CLOSED, CLOSED)
            return
        await self.endings.written()
        self._hand_over(self.journal, ChannelClosed(agent=self.agent, reason=LEFT), self.reason or CLOSED)

    def give_way(self, error: Fenced) -> None:
        """Another life has begun: it has this one's runs and mail, and this one does and says nothing more."""
        if self.journal is not None:
            self._hand_over(self.journal, PeerUnreachable(agent=self.agent, reason=str(error)), str(error))
        self.superseded(str(error))

    def overtaken(self, incarnation: Incarnation) -> None:
        """The Supervisor has said that this life is over."""
        if self.journal is None:
            self.superseded(f"the life {incarnation} of {self.agent} is over, says the Supervisor")
        else:
            self.give_way(self.journal.recorder.fenced(incarnation))

    def driver_ended(self, driving: "asyncio.Task[None]") -> None:
        """A driver that ended by itself met a bug: its run is over, and nobody waits for ever."""
        error = None if driving.cancelled() else driving.exception()
        if isinstance(error, Fenced):
            self.give_way(error)
            return
        if self.reason and isinstance(error, JournalUnavailable):  # it waited there when its life ended
            return
        reason = f"{type(error).__name__}: {error}" if error else CLOSED
        if error is not None:
            log.error("the driver of %s failed", self.agent, exc_info=error)
            self.shut(Refusal.CLOSED, reason)
        for run in self.runs.unfinished():
            self.endings.run(run, Ending.FAILED if error else Ending.STOPPED, reason)

    def _hand_over(self, journal: LifeLog, error: FleetError, reason: str) -> None:
        with self._turn:
            self.reason, self._refusal = reason, None
        journal.close(reason)
        self.suspensions.close(reason)
        self.runs.give_up(error)
