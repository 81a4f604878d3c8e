"""What people may ask of the Supervisor, through whichever process: the end that answers."""

import asyncio
from abc import abstractmethod

import ray

from ..protocols.checkin import AgentStatus
from ..protocols.codec import decode, encode
from ..protocols.ids import USER, AgentId, Incarnation
from ..protocols.limits import Limits
from ..runtime.journal_errors import JournalUnavailable
from ..runtime.supervision.commands import Team
from ..runtime.supervision.supervisor import Supervisor
from ..runtime.system import STOP_PATIENCE
from ..runtime.watching import next_notices
from .channel import CONTROL
from .link import AgentsDesk

__all__ = ("WATCH", "SteeringDesk")

WATCH = "watch"
"""Concurrency group beside `CONTROL`, the default one and those of agents: watchers never delay anybody."""


class SteeringDesk(AgentsDesk):
    """Steers and shows a fleet. `Steering` asks."""

    @property
    @abstractmethod
    def _supervisor(self) -> Supervisor:
        """Who answers.

        Raises:
            PeerUnreachable: It is still being started; the caller may try again.
        """

    @property
    @abstractmethod
    def _why_over(self) -> str:
        """Why the fleet can do nothing more; empty: it can."""

    @ray.method(concurrency_group=CONTROL)
    async def admit_user(self, pid: int) -> Incarnation:
        """Number one more process through which a person speaks."""
        life = self._supervisor.admit(USER, None, None, pid)
        await self._written()
        return life

    @ray.method(concurrency_group=CONTROL)
    async def over(self) -> str:
        """Why a service can do nothing more and nobody needs its actors; empty: it can, or is no service."""
        return self._why_over if self._charter.service else ""

    @ray.method(concurrency_group=CONTROL)
    async def service(self) -> bool:
        """Whether the fleet outlives the process that began it."""
        return self._charter.service

    @ray.method(concurrency_group=CONTROL)
    async def statuses(self, fresh: list[bytes]) -> bytes:
        """The rows of all agents, after these `AgentStatus` were taken in."""
        for status in fresh:
            self._supervisor.report(decode(status, AgentStatus), ())
        return encode(self._rows())

    def _rows(self) -> tuple[AgentStatus, ...]:
        """The rows of all agents, as people see them."""
        return self._supervisor.statuses()

    @ray.method(concurrency_group=CONTROL)
    async def accounts(self) -> bytes:
        """All accounts."""
        return encode(self._supervisor.accounts())

    @ray.method(concurrency_group=CONTROL)
    async def stop(self, agents: list[AgentId], reason: str) -> list[AgentId]:
        """Put tombstones; gives those that must be told."""
        return list(self._supervisor.stop(tuple(agents), reason))

    @ray.method(concurrency_group=CONTROL)
    async def pause(self, agents: list[AgentId], reason: str | None) -> list[AgentId]:
        """Pause, or without a reason resume; gives those that must be told."""
        return list(self._supervisor.pause(tuple(agents), reason))

    @ray.method(concurrency_group=CONTROL)
    async def form_teams(self, teams: list[Team]) -> None:
        """Open accounts for teams."""
        self._supervisor.form_teams(teams)

    @ray.method(concurrency_group=CONTROL)
    async def limit(self, of: str, limit: Limits | None) -> list[AgentId]:
        """Limit an agent, a team, a run or, of an empty name, the fleet; gives those that must be told to go on."""
        return list(self._supervisor.limit(of, limit))

    @ray.method(concurrency_group=CONTROL)
    async def grant_no_more(self, of: str) -> list[AgentId]:
        """Have those wind down who wait for more; gives those that must be told that they may go on."""
        return list(self._supervisor.grant_no_more(of))

    @ray.method(concurrency_group=CONTROL)
    async def written(self) -> None:
        """Wait until what was asked so far is written; raises `JournalUnavailable` when that takes too long."""
        try:
            async with asyncio.timeout(STOP_PATIENCE):
                await self._written()
        except TimeoutError:
            raise JournalUnavailable(where=f"of {self._charter.fleet}", reason="it does not answer") from None

    @ray.method(concurrency_group=WATCH)
    async def notices(self, after: int, wait: float) -> bytes:
        """Notices numbered above `after`, from the end if below 0; parks up to `wait` seconds while there are none."""
        return encode(await next_notices(self._supervisor.feed, after, wait, self._written))
