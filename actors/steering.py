"""What people do with a fleet, through its Supervisor and its agents: the part that owners and visitors share."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar, cast

from ray.exceptions import ActorUnavailableError

from ..protocols.checkin import DEAD, AgentStatus
from ..protocols.codec import decode
from ..protocols.errors import FleetError
from ..protocols.ids import SUPERVISOR, AgentId, Incarnation, RunId
from ..protocols.notices import Notice
from ..protocols.outcome import Outcome
from ..runtime.approvals import ApprovalPort
from ..runtime.control import Controls
from ..runtime.errors import ChannelClosed, FleetClosed, PeerUnreachable
from ..runtime.supervision.account import Account
from ..runtime.system import STOP_PATIENCE, Stopped
from .agent import AgentActor
from .approvals import RayApprovals
from .channel import RayPost
from .control import RayControl
from .errors import translated
from .link import RayLink
from .supervisor import SupervisorActor

__all__ = ("NAMESPACE", "RETRY_PAUSE", "Steering", "namespace")

log = logging.getLogger(__name__)

T = TypeVar("T")

NAMESPACE = "amrita-"
"""What Ray's namespace of a fleet begins with; the fleet's name follows."""

STATUS_PATIENCE = 1.0
"""Seconds an agent has to say how it is; after that its last report counts."""

RETRY_PAUSE = 0.5
"""Seconds between two tries to hear from an actor that does not answer."""


def namespace(fleet: str) -> str:
    """Ray's namespace of a fleet."""
    return f"{NAMESPACE}{fleet}"


class Steering:
    """The methods of `System` that need only the Supervisor's handle. It belongs to one event loop.

    Attributes:
        fleet: The fleet's name.
        post: The way to the mailboxes; there once the system is open.
        approvals: The way to the calls that wait for a person; there once the system is open.
        control: Gives the way to a live agent; there once the system is open.
    """

    fleet: str
    post: RayPost
    approvals: ApprovalPort
    control: Controls
    _handle: type[SupervisorActor] | None = None

    def _reach(self, fleet: str, supervisor: type[SupervisorActor]) -> None:
        """Take hold of a fleet."""
        self._handle = supervisor
        self.post = RayPost(namespace(fleet), RayLink(supervisor).find)
        self.approvals = RayApprovals(self.post, self._living)
        self.control = partial(RayControl, self.post)

    def _let_go(self) -> None:
        """Make no more calls: without a connection, a call on a handle would start a new Ray."""
        self._handle = None
        self.post.close()

    @property
    def _supervisor(self) -> type[SupervisorActor]:
        """The Supervisor's handle.

        Raises:
            FleetClosed: The system has let go of the fleet.
        """
        if self._handle is None:
            raise FleetClosed(fleet=self.fleet, stage="closed")
        return self._handle

    async def admit_user(self) -> Incarnation:
        """A new life of the person who sends."""
        with translated(SUPERVISOR):
            return await self._supervisor.admit_user.remote(os.getpid())

    async def start(self, agent: AgentId, task: str, time_limit: float | None, said: tuple[str, ...] = ()) -> RunId:
        """Queue a run; `said` is what the user added to the task.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It has stopped or died.
            QueueFull: Too many runs wait.
            PeerUnreachable: It does not answer, so the run may have been queued or not.
        """
        return await self._ask(agent, lambda actor: actor.start.remote(task, time_limit, list(said)))

    async def outcome(self, agent: AgentId, run: RunId) -> Outcome:
        """Wait for the end of a run.

        Raises:
            AgentUnknown: There is no such agent.
            RunUnknown: It has no such run, or it ended too long ago.
            ChannelClosed: The agent died before it ended.
        """
        with translated(agent):
            actor = cast("type[AgentActor]", await self.post.handle(agent))
            while True:
                try:
                    return decode(await actor.outcome.remote(run), Outcome)
                except ActorUnavailableError:  # soon it is back, or known to be dead
                    await asyncio.sleep(RETRY_PAUSE)

    async def stop(self, agents: tuple[AgentId, ...], reason: str) -> Stopped:
        """Stop agents and those below them; none given: all.

        Raises:
            AgentUnknown: There is no such agent; nobody is stopped.
        """
        with translated(SUPERVISOR):
            named = await self._supervisor.stop.remote(list(agents), reason)
        stopped = await asyncio.gather(*(self._stop(agent, reason) for agent in named))
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
        """
        with translated(SUPERVISOR):
            named = await self._supervisor.pause.remote([agent], reason)
        failures = list(filter(None, await asyncio.gather(*(self._pause(name, reason) for name in named))))
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

    async def statuses(self) -> tuple[AgentStatus, ...]:
        """One row for each agent; those that live are asked for what only they know now."""
        with translated(SUPERVISOR):
            said = await asyncio.gather(*map(self._status, await self._living()))
            fresh = [status for status in said if status is not None]
            return decode(await self._supervisor.statuses.remote(fresh), tuple[AgentStatus, ...])

    async def _living(self) -> tuple[AgentId, ...]:
        """Those of whom the Supervisor does not know that they are dead."""
        with translated(SUPERVISOR):
            rows = decode(await self._supervisor.statuses.remote([]), tuple[AgentStatus, ...])
        return tuple(row.agent for row in rows if row.phase != DEAD)

    async def _status(self, agent: AgentId) -> bytes | None:
        """What an agent says of itself now; None when it says nothing, and what the Supervisor knows must do."""
        try:
            async with asyncio.timeout(STATUS_PATIENCE):
                return await self._ask(agent, lambda actor: actor.status.remote())
        except (TimeoutError, FleetError):
            return None

    async def notices(self, after: int, wait: float) -> tuple[Notice, ...]:
        """Notices numbered above `after`, from the end if below 0; waits up to `wait` seconds while there are none."""
        with translated(SUPERVISOR):
            return decode(await self._supervisor.notices.remote(after, wait), tuple[Notice, ...])

    async def accounts(self) -> tuple[Account, ...]:
        """The Supervisor's accounts."""
        with translated(SUPERVISOR):
            return decode(await self._supervisor.accounts.remote(), tuple[Account, ...])

    async def _ask(self, agent: AgentId, call: Callable[[type[AgentActor]], Awaitable[T]]) -> T:
        return await self.post.ask(agent, lambda handle: call(cast("type[AgentActor]", handle)))
