"""The way to a running fleet's limits."""

from typing import Protocol

from ..protocols.limits import Limits
from .supervision.commands import Team

__all__ = ("BudgetPort",)


class BudgetPort(Protocol):
    """Forms teams and limits accounts anew, wherever the Supervisor lives."""

    async def form_teams(self, teams: tuple[Team, ...]) -> None:
        """Open accounts for teams; one that is open already has this limit from now on.

        Raises:
            NameInvalid: No team may have one of the names.
            LimitTooLarge: A carved limit does not fit into the fleet's.
        """
        ...

    async def limit(self, of: str, limit: Limits | None) -> None:
        """Limit an agent or a team of that name, or a run of that id, anew; the fleet, if it is empty.

        Raises:
            AgentUnknown: There is neither an agent nor a team of that name, nor a run with a limit of its own.
            PresetInvalid: A run is to be limited in seconds.
            LimitTooLarge: It is carved, and does not fit into what is above it.
            PriceMissing: Money is to be limited, and a preset does not say what its model costs.
            PeerUnreachable: Some that could go on could not be told; the others were. It can be asked for again.
        """
        ...

    async def grant_no_more(self, of: str) -> None:
        """Have those who are paused until a limit is raised give their last answers.

        Raises:
            AgentUnknown: There is neither an agent nor a team of that name, nor a run with a limit of its own.
            PeerUnreachable: Some could not be told; the others were. It can be asked for again.
        """
        ...
