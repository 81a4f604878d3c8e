"""What people do with a fleet, through its Supervisor and its agents: the part that owners and visitors share."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar, cast

from ..protocols.checkin import DEAD, AgentStatus
from ..protocols.codec import decode
from ..protocols.errors import FleetError
from ..protocols.ids import AgentId, Incarnation, RunId
from ..protocols.limits import Limits
from ..protocols.notices import Notice
from ..protocols.outcome import Outcome
from ..runtime.approvals import ApprovalPort
from ..runtime.budgets import BudgetPort
from ..runtime.control import Controls, Kill
from ..runtime.draining import Drain
from ..runtime.errors import ChannelClosed, FleetClosed, PeerUnreachable
from ..runtime.insight import Sights
from ..runtime.supervision.account import Account
from ..runtime.suspension import Stand
from ..runtime.system import STOP_PATIENCE, Stopped
from ..runtime.tracing import current_traceparent
from .agent import AgentActor
from .approvals import RayApprovals
from .budgets import RayBudgets
from .channel import RayPost, namespace
from .control import RayControl
from .insight import RaySight
from .killing import end_process
from .link import AgentsDesk, RayLink
from .replaced import RETRY_PAUSE, Replaced
from .supervisor import SupervisorActor

__all__ = ("Steering",)

log = logging.getLogger(__name__)

T = TypeVar("T")

STATUS_PATIENCE = 1.0
"""Seconds an agent has to say how it is; after that its last report counts."""

SUPERVISOR_PATIENCE = 60.0
"""Seconds to wait for a Supervisor whose process died until another one has taken over."""


class Steering:
    """The methods of `System` that need only the Supervisor's handle. It belongs to one event loop.

    Attributes:
        fleet: The fleet's name.
        post: The way to the mailboxes; there once the system is open.
        approvals: The way to the calls that wait for a person; there once the system is open.
        control: Gives the way to a live agent; there once the system is open.
        insight: Gives the way to look into a live agent; there once the system is open.
        kill: Ends an agent's process; there once the system is open.
        drain: Has all agents that the system owns go on to their next boundary; there once the system is open.
        budgets: The way to the limits; there once the system is open.
    """

    fleet: str
    budgets: BudgetPort
    post: RayPost
    approvals: ApprovalPort
    control: Controls
    insight: Sights
    kill: Kill
    drain: Drain
    _way: Replaced[type[SupervisorActor]] | None = None

    def _reach(self, fleet: str, way: Replaced[type[SupervisorActor]]) -> None:
        """Take hold of a fleet."""
        self._way = way
        link = RayLink(cast("Replaced[type[AgentsDesk]]", way))
        self.post = RayPost(namespace(fleet), link.find, link.receipt)
        self.approvals = RayApprovals(self.post, self._living)
        self.budgets = RayBudgets(self._ask_supervisor, partial(self._tell_pause, reason=None))
        self.control = partial(RayControl, self.post)
        self.insight = partial(RaySight, self.post)
        self.kill = self._kill

    def _let_go(self) -> None:
        """Make no more calls: without a connection, a call on a handle would start a new Ray."""
        if self._way is not None:
            self._way = None
            self.post.close()

    @property
    def _supervisor(self) -> Replaced[type[SupervisorActor]]:
        """The way to the Supervisor.

        Raises:
            FleetClosed: The system has let go of the fleet.
        """
        if self._way is None:
            raise FleetClosed(fleet=self.fleet, stage="closed")
        return self._way

    async def _ask_supervisor(
        self, call: Callable[[type[SupervisorActor]], Awaitable[T]], patience: float = SUPERVISOR_PATIENCE
    ) -> T:
        """Ask what may be asked twice: while another Supervisor takes over for one that died, it is waited for.

        Args:
            call: What is asked.
            patience: Seconds to wait.

        Raises:
            FleetClosed: The system has let go of the fleet.
            ChannelClosed: The Supervisor is dead for good.
            PeerUnreachable: It does not answer.
        """
        until = asyncio.get_running_loop().time() + patience
        while True:
            try:
                return await self._supervisor.ask(call)
            except PeerUnreachable:
                if not self._supervisor.again or asyncio.get_running_loop().time() > until:
                    raise
            await asyncio.sleep(RETRY_PAUSE)

    async def admit_user(self) -> Incarnation:
        """A new life of the person who sends."""
        return await self._ask_supervisor(lambda supervisor: supervisor.admit_user.remote(os.getpid()))

    async def start(
        self,
        agent: AgentId,
        task: str,
        time_limit: float | None,
        said: tuple[str, ...] = (),
        stand: Stand | None = None,
        limit: Limits | None = None,
    ) -> RunId:
        """Queue a run; see `System`.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It has stopped or died.
            QueueFull: Too many runs wait.
            PeerUnreachable: It does not answer, so the run may have been queued or not.
            PriceMissing: Its money is limited, and a preset does not say what its model costs.
        """
        caller = current_traceparent()
        return await self._ask(
            agent, lambda actor: actor.start.remote(task, time_limit, list(said), stand, limit, caller)
        )

    async def outcome(self, agent: AgentId, run: RunId) -> Outcome:
        """Wait for the end of a run.

        Raises:
            AgentUnknown: There is no such agent.
            RunUnknown: It has no such run, or it ended too long ago.
            ChannelClosed: The agent died before it ended, and is not restarted.
        """
        while True:
            try:
                return decode(await self._ask(agent, lambda actor: actor.outcome.remote(run)), Outcome)
            except PeerUnreachable:  # soon it is back, or lives again, or is known to be dead
                await asyncio.sleep(RETRY_PAUSE)

    async def stop(self, agents: tuple[AgentId, ...], reason: str) -> Stopped:
        """Stop agents and those below them; none given: all.

        Raises:
            AgentUnknown: There is no such agent; nobody is stopped.
            JournalUnavailable: They are stopped, but another process may not learn of it.
        """
        named = await self._ask_supervisor(lambda supervisor: supervisor.stop.remote(list(agents), reason))
        stopped = await asyncio.gather(*(self._stop(agent, reason) for agent in named))
        await self._ask_supervisor(lambda supervisor: supervisor.written.remote())
        return Stopped.of(zip(named, stopped, strict=True))

    async def _stop(self, agent: AgentId, reason: str) -> bool:
        """Stop one agent; gives whether it acknowledged in time."""
        try:
            async with asyncio.timeout(STOP_PATIENCE):
                await self._ask(agent, lambda actor: actor.stop.remote(reason))
                status = await self._ask(agent, lambda actor: actor.status.remote())
                run = decode(status, AgentStatus).run
                if run is not None:
                    await self.outcome(agent, run)
        except (TimeoutError, FleetError) as error:
            log.warning("%s did not acknowledge that it was stopped: %s", agent, error)
            return False
        return True

    async def pause(self, agent: AgentId, reason: str | None) -> None:
        """Pause an agent and those below it at the next boundary or model call; without a reason, let them go on.

        Raises:
            AgentUnknown: There is no such agent.
            PeerUnreachable: Some could not be told; the others were. It can be asked for again.
            JournalUnavailable: They have been told, but another process may not learn of it.
        """
        named = await self._ask_supervisor(lambda supervisor: supervisor.pause.remote([agent], reason))
        await self._tell_pause(named, reason)

    async def _tell_pause(self, named: list[AgentId], reason: str | None) -> None:
        failures = list(filter(None, await asyncio.gather(*(self._pause(name, reason) for name in named))))
        await self._ask_supervisor(lambda supervisor: supervisor.written.remote())
        if failures:
            names = ", ".join(failure.agent for failure in failures)
            raise PeerUnreachable(agent=names, reason="; ".join(failure.reason for failure in failures))

    async def _pause(self, agent: AgentId, reason: str | None) -> PeerUnreachable | None:
        """Tell one agent; gives why it could not be told."""
        try:
            await self._ask(agent, lambda actor: actor.pause.remote(reason))
        except ChannelClosed as error:  # it has just died: nothing goes on there
            log.info("%s was not told to pause or resume: %s", agent, error)
        except PeerUnreachable as error:
            return error
        return None

    async def _kill(self, agent: AgentId) -> None:
        """End an agent's process at once; see `Kill`."""
        service = await self._ask_supervisor(lambda supervisor: supervisor.service.remote())
        await end_process(self.post, agent, service=service)

    async def statuses(self, *, fresh: bool = True) -> tuple[AgentStatus, ...]:
        """One row for each agent; if `fresh`, those that live are asked for what only they know now."""
        if not fresh:
            return await self._rows([])
        said = await asyncio.gather(*map(self._status, await self._living()))
        return await self._rows([status for status in said if status is not None])

    async def _rows(self, fresh: list[bytes]) -> tuple[AgentStatus, ...]:
        """What the Supervisor knows of all, after it has taken these in."""
        rows = await self._ask_supervisor(lambda supervisor: supervisor.statuses.remote(fresh))
        return decode(rows, tuple[AgentStatus, ...])

    async def _living(self) -> tuple[AgentId, ...]:
        """Those of whom the Supervisor does not know that they are dead."""
        return tuple(row.agent for row in await self._rows([]) if row.phase != DEAD)

    async def _status(self, agent: AgentId) -> bytes | None:
        """What an agent says of itself now; None when it says nothing, and what the Supervisor knows must do."""
        try:
            async with asyncio.timeout(STATUS_PATIENCE):
                return await self._ask(agent, lambda actor: actor.status.remote())
        except (TimeoutError, FleetError):
            return None

    async def notices(self, after: int, wait: float) -> tuple[Notice, ...]:
        """Notices numbered above `after`, from the end if below 0; waits up to `wait` seconds while there are none."""
        found = await self._ask_supervisor(lambda supervisor: supervisor.notices.remote(after, wait))
        return decode(found, tuple[Notice, ...])

    async def accounts(self) -> tuple[Account, ...]:
        """The Supervisor's accounts."""
        accounts = await self._ask_supervisor(lambda supervisor: supervisor.accounts.remote())
        return decode(accounts, tuple[Account, ...])

    async def _ask(self, agent: AgentId, call: Callable[[type[AgentActor]], Awaitable[T]]) -> T:
        return await self.post.ask(agent, lambda handle: call(cast("type[AgentActor]", handle)))
