"""What the watch is told, one value for each thing that is heard or seen."""

from dataclasses import dataclass
from math import inf
from typing import TypeAlias

from ...protocols.checkin import AgentStatus, CheckIn, Directive, Settlement
from ...protocols.ids import AgentId, Incarnation
from ...protocols.notices import Notice

__all__ = ("CheckedIn", "Fact", "Heard", "Observed", "Pulse", "Seen", "Settled")


Life: TypeAlias = tuple[AgentId, Incarnation]


@dataclass(frozen=True, slots=True)
class Heard:
    """A notice came, of an agent or of the Supervisor."""

    notice: Notice


@dataclass(frozen=True, slots=True)
class Seen:
    """This is how an agent is.

    Attributes:
        asked: When it was asked for, in the watch's seconds: what was learned later is newer.
    """

    status: AgentStatus
    asked: float = inf

    @property
    def life(self) -> Life:
        """Whose it is, and in which life."""
        return self.status.agent, self.status.incarnation


@dataclass(frozen=True, slots=True)
class CheckedIn:
    """An agent asked for leave, and was told this."""

    asked: CheckIn
    directive: Directive

    @property
    def life(self) -> Life:
        """Whose it is, and in which life."""
        return self.asked.agent, self.asked.incarnation


@dataclass(frozen=True, slots=True)
class Settled:
    """An attempt of a model call has ended."""

    settlement: Settlement

    @property
    def life(self) -> Life:
        """Whose it is, and in which life."""
        return self.settlement.agent, self.settlement.incarnation


@dataclass(frozen=True, slots=True)
class Pulse:
    """An agent was asked twice for a sign of life: beside its work, and in the loop where it works.

    Attributes:
        control: What answers beside its work did: its process lives.
        loop: The loop it works in did: nothing blocks it.
    """

    agent: AgentId
    incarnation: Incarnation
    control: bool
    loop: bool

    @property
    def life(self) -> Life:
        """Whose it is, and in which life."""
        return self.agent, self.incarnation


Observed: TypeAlias = Seen | CheckedIn | Settled | Pulse
"""What is about one life of one agent."""

Fact: TypeAlias = Heard | Observed
