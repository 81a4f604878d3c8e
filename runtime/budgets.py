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
        """Limit an agent, a team or a run anew; the fleet, if none is named.

        Raises:
            AgentUnknown: There is neither an agent, a team nor a run under way with a limit of its own of that name.
            PresetInvalid: It is one in seconds, and of a run.
            LimitTooLarge: It is carved, and does not fit into what is above it.
            PriceMissing: Money is to be limited, and a preset does not say what its model costs.
            PeerUnreachable: Some that could go on could not be told; the others were. It can be asked for again.
        """
        ...

    async def grant_no_more(self, of: str) -> None:
        """Have those who are paused until a limit is raised give their last answers.

        Raises:
            AgentUnknown: As in `limit`.
            PeerUnreachable: Some could not be told; the others were. It can be asked for again.
        """
        ...
