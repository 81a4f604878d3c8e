"""The way to a fleet's limits on Ray: the port `BudgetPort`."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from ..protocols.ids import AgentId
from ..protocols.limits import Limits
from ..runtime.supervision.commands import Team
from .supervisor import SupervisorActor

__all__ = ("RayBudgets",)

T = TypeVar("T")


class AskSupervisor(Protocol):
    """Asks the Supervisor's actor what may be asked twice."""

    async def __call__(self, call: Callable[[type[SupervisorActor]], Awaitable[T]], /) -> T:
        """Give its answer."""
        ...


class RayBudgets:
    """Asks the Supervisor, then tells those agents that may go on."""

    def __init__(self, ask: AskSupervisor, tell: Callable[[list[AgentId]], Awaitable[None]]) -> None:
        """Keep the way to the Supervisor, and the one to agents that may go on."""
        self._ask = ask
        self._tell = tell

    async def form_teams(self, teams: tuple[Team, ...]) -> None:
        """Open accounts for teams; see `BudgetPort`. Raises `JournalUnavailable` too, once they are open."""
        await self._ask(lambda supervisor: supervisor.form_teams.remote(list(teams)))
        await self._ask(lambda supervisor: supervisor.written.remote())

    async def limit(self, of: str, limit: Limits | None) -> None:
        """Limit an account anew; see `BudgetPort`. Raises `JournalUnavailable` too, once agents were told."""
        await self._tell(await self._ask(lambda supervisor: supervisor.limit.remote(of, limit)))

    async def grant_no_more(self, of: str) -> None:
        """Have agents wind down; see `BudgetPort`. Raises `JournalUnavailable` too, once they were told."""
        await self._tell(await self._ask(lambda supervisor: supervisor.grant_no_more.remote(of)))
