"""What is asked of a Supervisor, as values: the same ones at the same times make the same Supervisor."""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ...protocols.checkin import AgentStatus, CheckIn, Settlement
from ...protocols.ids import AgentId, Incarnation
from ...protocols.limits import Limits
from ...protocols.mail import DeadLetter
from ...protocols.notices import Notice
from ...protocols.restarts import Restart, RestartPolicy
from ...protocols.spawning import Allowance, SpawnRequest, StopRequest
from .restart import USUAL

__all__ = (
    "Admit",
    "AdmitUser",
    "Begin",
    "Bury",
    "ChangeLimit",
    "Check",
    "CloseMailbox",
    "Command",
    "FormTeams",
    "GrantNoMore",
    "LifeCommand",
    "Newcomer",
    "PauseAgents",
    "Settle",
    "Spawn",
    "StopAgents",
    "StopChild",
    "Team",
    "Tell",
)


class Newcomer(NamedTuple):
    """An agent that asks to come in.

    Attributes:
        agent: Its name.
        parent: The agent that started it; None or `USER`: a person did.
        limit: The most it may spend in all its lives; None: only the limits above count.
        team: The team it is to belong to; empty: its parent's, if that is in one.
        priced: Each of its presets says what its model costs.
        unbounded: A provider of its may bill any number of tokens more than it is granted.
        allowance: What it may spawn; None: nobody, or what an earlier life of it might.
        again: Its limit and its team are those of its earlier life, whatever is said here.
        restart: Whether another life may follow a death of this one.
        born: Its process is there and asks itself; else somebody begins one for it, and it is heard of once it lives.
    """

    agent: AgentId
    parent: AgentId | None = None
    limit: Limits | None = None
    team: str = ""
    priced: bool = False
    unbounded: bool = False
    allowance: Allowance | None = None
    again: bool = False
    restart: Restart = "permanent"
    born: bool = False


class Team(NamedTuple):
    """A team, and the most that all agents in it may spend; None: only the fleet's limit counts."""

    name: str
    limit: Limits | None = None


@dataclass(frozen=True, slots=True)
class Begin:
    """A fleet is opened, for the first time or again.

    Attributes:
        owner: Names this opening: the processes that follow one that died have the same name for it.
        limit: The most that all agents together may spend from now on; None: no limit.
        restarts: How often an agent may be restarted from now on.
    """

    owner: str
    limit: Limits | None
    restarts: RestartPolicy = USUAL


@dataclass(frozen=True, slots=True)
class FormTeams:
    """Open accounts for teams; one that is open has this limit from now on."""

    teams: tuple[Team, ...]


@dataclass(frozen=True, slots=True)
class ChangeLimit:
    """Limit an agent, a team or a run anew; the fleet, if none is named."""

    of: str
    limit: Limits | None


@dataclass(frozen=True, slots=True)
class GrantNoMore:
    """Have those who wait for more of a limit wind down, and who comes to it later too."""

    of: str


@dataclass(frozen=True, slots=True)
class Admit:
    """Take in agents, all or none."""

    newcomers: tuple[Newcomer, ...]
    pid: int


@dataclass(frozen=True, slots=True)
class Spawn:
    """Take in the child that an agent asks for, if it may have one."""

    request: SpawnRequest
    pid: int


@dataclass(frozen=True, slots=True)
class AdmitUser:
    """Number one more process through which a person speaks."""


@dataclass(frozen=True, slots=True)
class Bury:
    """A life is over; whoever owns the agent would `restart` it."""

    agent: AgentId
    incarnation: Incarnation
    reason: str
    restart: bool = False


@dataclass(frozen=True, slots=True)
class CloseMailbox:
    """The mailbox of a life that is over for good holds nothing more.

    Attributes:
        under: The number under which that was written into the agent's records, or that of the life itself.
        letters: What it held.
    """

    agent: AgentId
    incarnation: Incarnation
    under: Incarnation
    letters: tuple[DeadLetter, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """An agent asks for leave."""

    asked: CheckIn


@dataclass(frozen=True, slots=True)
class Settle:
    """An attempt came to something."""

    settlement: Settlement


@dataclass(frozen=True, slots=True)
class Tell:
    """An agent says how it is and what happened."""

    status: AgentStatus
    notices: tuple[Notice, ...]


@dataclass(frozen=True, slots=True)
class StopAgents:
    """Put tombstones."""

    agents: tuple[AgentId, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class StopChild:
    """Put a tombstone on one that an agent may stop, and on all under it."""

    request: StopRequest


@dataclass(frozen=True, slots=True)
class PauseAgents:
    """Pause, or without a reason let go on."""

    agents: tuple[AgentId, ...]
    reason: str | None


LifeCommand: TypeAlias = Begin | Admit | Spawn | AdmitUser | Bury | CloseMailbox
"""How lives begin and end."""

Command: TypeAlias = (
    LifeCommand | FormTeams | Check | Settle | Tell | StopAgents | StopChild | PauseAgents | ChangeLimit | GrantNoMore
)
