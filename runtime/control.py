"""What is asked of a live agent while it works, beside stop and pause: to stand still at a point, and to go on."""

import asyncio
import logging
from collections.abc import Awaitable
from typing import Protocol

from ..protocols.ids import AgentId, RunId
from .errors import PeerUnreachable
from .run_suspensions import POINTS, RunSuspensions
from .stream_errors import SuspensionRefused
from .suspension import Stand, SuspendRequest

__all__ = ("AgentControl", "Control", "Controls", "Kill", "Relay")

log = logging.getLogger(__name__)


class AgentControl(Protocol):
    """The way to one live agent, wherever it lives."""

    async def suspend(self, run: RunId, stand: Stand, timeout: float | None) -> str:  # noqa: ASYNC109
        """Wait until the agent stands still, with one of its runs.

        Who no longer waits, or does not know whether the agent heard it, must `resume_point`.

        Args:
            run: The run that shall stand, and no other one; it may still wait for its turn.
            stand: Where it may stand, of `POINTS`, and a token of the request: the same token is the same request.
            timeout: Seconds it has to get there; None: any time.

        Returns:
            The tag of the point where it stands, until `resume_point`, a stop, or the end of the run's time.

        Raises:
            NumberInvalid: The time-out is not above 0.
            SuspendTimedOut: It did not get there in time; the request is withdrawn.
            SuspensionRefused: The run has another request already, this one was given up, the run is over, or the agent
                has stopped; or it has no such point.
            AgentUnknown: There is no such agent.
            ChannelClosed: It is dead.
            PeerUnreachable: It does not answer now.
        """
        ...

    async def resume_point(self, token: str) -> None:
        """Let it go on from where it stands for the request with this token, or give that up; else nothing happens.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It is dead.
            PeerUnreachable: It does not answer now.
        """
        ...


class Controls(Protocol):
    """Gives the way to each agent of a fleet."""

    def __call__(self, agent: AgentId, /) -> AgentControl:
        """The way to an agent; that it exists is seen, at the latest, when it is used.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It is dead, or does not live yet.
        """
        ...


class Kill(Protocol):
    """Ends agents of a fleet at once, whatever they do."""

    async def __call__(self, agent: AgentId, /) -> None:
        """End an agent's process; whoever watches over it finds it dead.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It has died.
            PeerUnreachable: It has no process now, or cannot be found now.
        """
        ...


class Control:
    """The control of an agent that lives in this event loop."""

    def __init__(self, suspensions: RunSuspensions) -> None:
        """Keep the pieces that the agent's driver works with."""
        self._suspensions = suspensions

    async def suspend(self, run: RunId, stand: Stand, timeout: float | None) -> str:  # noqa: ASYNC109
        """Wait until it stands at a point; see `AgentControl`."""
        for tag in stand.tags:
            if tag not in POINTS:
                raise SuspensionRefused(reason=f"an agent has the points {', '.join(POINTS)}, and no {tag!r}")
        return await self._suspensions.reached(run, stand, timeout)

    async def resume_point(self, token: str) -> None:
        """Let it go on from there; see `AgentControl`."""
        self._suspensions.withdraw(token)


class Relay:
    """Asks an agent for what is asked of a stream, once the stream serves a run of it.

    1. `begin` names the agent. What is asked of the stream already is asked of the run as it is queued, so that it
       misses no point.
    2. `serve` names the run. From then on each request is carried to it.
    3. A request that is over is withdrawn, whether the agent heard it or not.

    It carries one request at a time: the agent is asked for the next when it has been told that the last is over.
    """

    def __init__(self) -> None:
        """Carry nothing: the stream's producer is here."""
        self._control: AgentControl | None = None
        self._run: RunId | None = None
        self._known = asyncio.Event()
        self._newest: SuspendRequest | None = None
        self._carrying: asyncio.Task[None] | None = None

    def begin(self, control: AgentControl) -> Stand | None:
        """Have this agent for a producer; gives what its run shall stand for from its first point on, if anything."""
        self._control = control
        request = self._newest
        if request is None or request.at or request.over.is_set():
            return None
        self.take(request)
        return request.stand

    def serve(self, run: RunId | None) -> None:
        """Say which run it is; None: nobody knows of one. The first run holds."""
        self._run = self._run or run
        self._known.set()

    def take(self, request: SuspendRequest) -> None:
        """Begin to carry a request, if there is an agent to carry it to."""
        self._newest = request
        if self._control is not None:
            self._carrying = asyncio.create_task(self._carry(self._control, request, self._carrying))
            self._carrying.add_done_callback(see)

    @property
    def carried(self) -> Awaitable[None]:
        """Done when the agent knows that the newest request is over; raises why it could not be told."""
        if self._carrying is None:
            done = asyncio.get_running_loop().create_future()
            done.set_result(None)
            return done
        carried = asyncio.shield(self._carrying)  # whoever stops waiting for it does not stop it
        carried.add_done_callback(see)
        return carried

    async def _carry(self, control: AgentControl, request: SuspendRequest, before: "asyncio.Task[None] | None") -> None:
        """Have the agent stand still for a request, and let it go on when that is over."""
        if before is not None:
            await asyncio.wait({before})
        await self._known.wait()  # before that, a withdrawal could overtake what it withdraws
        if self._run is not None and not request.over.is_set():
            asking = asyncio.create_task(control.suspend(self._run, request.stand, request.seconds))
            asking.add_done_callback(request.answer)
            await request.over.wait()
            if asking.cancel():  # it does not stand there yet
                await asyncio.wait({asking})
        try:
            await control.resume_point(request.stand.token)
        except PeerUnreachable as error:  # whoever is dead stands nowhere
            log.warning("an agent may still stand where its stream suspended it: %s", error)
            raise


def see(told: "asyncio.Future[None]") -> None:
    """Who does not wait for the end of a request has no need of its error."""
    if not told.cancelled():
        told.exception()
