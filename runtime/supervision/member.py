"""One agent of a fleet, as the Supervisor knows it."""

from dataclasses import dataclass, replace

from ...protocols.checkin import ENDED, STOPPED, AgentStatus
from ...protocols.ids import AgentId, Incarnation
from ...protocols.limits import Limits
from ...protocols.notices import Notice
from ...protocols.restarts import Restart
from ...protocols.spawning import Allowance
from .account import Account, Path

__all__ = ("ABANDONED", "PAUSED", "UNSPAWNED", "Member")

PAUSED = "paused"
"""The phase that an agent reports while it stays where it is."""

UNSPAWNED = "its spawn was undone, because not all that were ordered together could live"
"""Why a life is over that another one's failure ended before it began."""

ABANDONED = "its spawn came to nothing, because the process that began it does not go on"
"""Why a life is over that nobody brought to life."""

UNUSED = Incarnation(0)
"""The number of no life."""


@dataclass(frozen=True, slots=True)
class Member:
    """One agent, in its latest life.

    Attributes:
        incarnation: The number of that life.
        limit: The agent's own limit as it was spawned with; None: none.
        pid: The process it was admitted from, which counts until it says where it lives.
        status: What it reported last; `phase`, `since` and `note` are the Supervisor's once it is stopped or dead.
        dead: Why this life ended; None while it lives.
        stopped: Why it may do nothing more, in any life; None while it may.
        paused: Why it has to stay where it is; None while it has not.
        restarts: This life is over, and the next one is about to begin.
        told: The highest number among the notices that this life has told.
        heard: The highest number in the agent's record (`Notice.recorded`) among the notices that all lives have told.
        team: The team it belongs to; empty: none.
        priced: Each of its presets says what its model costs.
        unbounded: A provider of its may bill any number of tokens more than it is granted.
        short: The account that lacked what it needed, while it is paused for that; empty: it is not.
        lacks: The unit of which that account had too little.
        kind: What another agent has spawned it as; empty: a person spawned it.
        call: The tool call by which it was spawned; empty: none.
        allowance: What it may spawn; None: nobody.
        awaited: By that call this life was let in, and by nobody who brings it to life anyway.
        restart: Whether another life may follow a death of this one.
        buried: The opening of the fleet in which it died; empty: it lives, or nobody said.
        closed: The life that this one's mailbox was closed under, after its death for good; 0: it was not. No agent has
            that number: the next life's is higher.
    """

    agent: AgentId
    incarnation: Incarnation
    parent: AgentId | None
    limit: Limits | None
    pid: int
    status: AgentStatus
    dead: str | None = None
    stopped: str | None = None
    paused: str | None = None
    restarts: bool = False
    told: int = 0
    heard: int = 0
    team: str = ""
    priced: bool = False
    unbounded: bool = False
    short: Path = ()
    kind: str = ""
    call: str = ""
    allowance: Allowance | None = None
    awaited: bool = False
    restart: Restart = "permanent"
    closed: Incarnation = UNUSED
    buried: str = ""
    lacks: str = ""

    @property
    def lives(self) -> bool:
        """It lives, stopped or not, or is about to live again."""
        return self.dead is None or self.restarts

    @property
    def unclosed(self) -> bool:
        """It is dead for good, and its mailbox was not closed yet.

        One whose process only ended with its fleet's, or whose spawn came to nothing, may be spawned to go on, and its
        mail waits for that, unless it was stopped.
        """
        if self.dead is None or self.restarts or self.closed:
            return False
        return self.stopped is not None or self.dead not in {ENDED, UNSPAWNED, ABANDONED}

    def fell_in(self, owner: str) -> bool:
        """Whether it died for good in this opening of the fleet, and not because an earlier one had ended."""
        return self.dead is not None and not self.restarts and self.dead != ENDED and self.buried == owner

    @property
    def unheard(self) -> bool:
        """It was admitted, and nothing was heard of it yet."""
        return self.dead is None and self.status.pid == 0

    @property
    def active(self) -> bool:
        """It lives and may go on."""
        return self.dead is None and self.stopped is None

    def marked(self, phase: str, since: float, note: str) -> "Member":
        """The member with a status that the Supervisor gives it."""
        return replace(self, status=replace(self.status, phase=phase, since=since, note=note))

    def under_tombstone(self, reason: str, at: float) -> "Member":
        """The member stopped for a reason, in this life and those to come; a dead one is still shown as dead."""
        member = replace(self, stopped=reason)
        return member if self.dead is not None else member.marked(STOPPED, at, reason)

    def news(self, notices: tuple[Notice, ...]) -> tuple[Notice, ...]:
        """Those that this life has not told before, nor an earlier one from the same record.

        One without a number was not told before.
        """
        return tuple(
            notice
            for notice in notices
            if (notice.number == 0 or notice.number > self.told)
            and (notice.recorded == 0 or notice.recorded > self.heard)
        )

    def row(self, account: Account) -> AgentStatus:
        """Its row in the fleet's table."""
        return replace(
            self.status,
            agent=self.agent,
            incarnation=self.incarnation,
            parent=self.parent,
            pid=self.status.pid or self.pid,
            limit=None if account.limit is None else account.limit.tokens,
            limits=account.limit,
            tokens=account.spent.tokens,
            spent=account.spent,
            kind=self.kind,
            stopped=self.stopped or "",
            note=self._note,
        )

    @property
    def _note(self) -> str:
        """Why it is as it is: that it was stopped says more than that its process has ended since."""
        return self.stopped if self.stopped and self.dead == ENDED else self.status.note
