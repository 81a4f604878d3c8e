"""A Supervisor at one moment, as a value: what a snapshot of its record holds."""

from dataclasses import dataclass, field

from ...protocols.restarts import RestartPolicy
from .ledger import LedgerState
from .notice_log import NoticeLogState
from .restart import USUAL, Restarted
from .roster import RosterState

__all__ = ("BEGINNING", "SupervisorState")


@dataclass(frozen=True, slots=True)
class SupervisorState:
    """All that the commands so far have come to, each part as its owner knows it.

    Attributes:
        ledger: Accounts and reservations.
        roster: Who is in the fleet.
        restarts: Who was restarted of late.
        notices: The last notices, and how many there were.
        users: Processes through which a person has spoken.
        owner: Who opened the fleet last; empty: nobody said so.
        policy: How often an agent may be restarted.
    """

    ledger: LedgerState = field(default_factory=LedgerState)
    roster: RosterState = field(default_factory=RosterState)
    restarts: tuple[Restarted, ...] = ()
    notices: NoticeLogState = field(default_factory=NoticeLogState)
    users: int = 0
    owner: str = ""
    policy: RestartPolicy = USUAL

    @property
    def rows(self) -> int:
        """How many things are in it: what writing it down costs grows with them."""
        ledger = self.ledger
        return sum(map(len, (ledger.accounts, ledger.open, ledger.closed, self.roster.members, self.notices.kept)))


BEGINNING = SupervisorState()
"""Before the first command."""
