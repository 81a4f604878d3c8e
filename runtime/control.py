"""What is asked of a live agent while it works, beside stop and pause: to stand still at a point, and to go on."""

import asyncio
from collections.abc import Awaitable
from typing import Protocol

from ..protocols.ids import AgentId
from .stream_errors import SuspensionRefused
from .suspension import SuspendRequest, Suspension

__all__ = ("POINTS", "AgentControl", "Control", "Controls", "Relay")

POINTS = ("boundary", "model", "tool")
"""The points of an agent: a Step begins; leave for a model call is about to be asked for; a call is about to run."""


class AgentControl(Protocol):
    """The way to one live agent, wherever it lives."""

    async def suspend(self, tags: tuple[str, ...], timeout: float | None) -> str:  # noqa: ASYNC109
        """Wait until the agent stands at a point with one of the tags, or, with none, at any point.

        A wait that is cancelled withdraws the request.

        Args:
            tags: Where it may stand; of `POINTS`.
            timeout: Seconds it has to get there; None: any time.

        Returns:
            The tag of the point where it stands, until `resume_point`, a stop, or the end of its run's time.

        Raises:
            NumberInvalid: The time-out is not above 0.
            SuspendTimedOut: It did not get there in time; the request is withdrawn.
            SuspensionRefused: A suspension is asked for already, was given up, or the agent has stopped; or it has no
                such point.
            AgentUnknown: There is no such agent.
            ChannelClosed: It is dead.
            PeerUnreachable: It does not answer now.
        """
        ...

    async def resume_point(self) -> None:
        """Let it go on from there, or give up a request that it has not met yet; else nothing happens.

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


class Control:
    """The control of an agent that lives in this event loop."""

    def __init__(self, suspension: Suspension) -> None:
        """Keep the pieces that the agent's driver works with."""
        self._suspension = suspension

    async def suspend(self, tags: tuple[str, ...], timeout: float | None) -> str:  # noqa: ASYNC109
        """Wait until it stands at a point; see `AgentControl`."""
        for tag in tags:
            if tag not in POINTS:
                raise SuspensionRefused(reason=f"an agent has the points {', '.join(POINTS)}, and no {tag!r}")
        return await self._suspension.request(tags, timeout)

    async def resume_point(self) -> None:
        """Let it go on from there; see `AgentControl`."""
        self._suspension.resume()


class Relay:
    """Asks an agent for what is asked of a stream, once the stream serves a run of it.

    It carries one request at a time: the agent is asked for the next when it has been told that the last is over.
    """

    def __init__(self) -> None:
        """Carry nothing: the stream's producer is here."""
        self._control: AgentControl | None = None
        self._newest: SuspendRequest | None = None
        self._carrying: asyncio.Task[None] | None = None

    def serve(self, control: AgentControl) -> None:
        """Carry requests to this agent from now on, and the one that is not met yet."""
        self._control = control
        if self._newest is not None and not self._newest.at:
            self.take(self._newest)

    def take(self, request: SuspendRequest) -> None:
        """Begin to carry a request, if there is an agent to carry it to."""
        self._newest = request
        if self._control is not None:
            self._carrying = asyncio.create_task(self._carry(self._control, request, self._carrying))

    @property
    def carried(self) -> Awaitable[None]:
        """Done when the agent knows that the newest request is over; raises why it could not be told."""
        if self._carrying is not None:
            return self._carrying
        done = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    async def _carry(self, control: AgentControl, request: SuspendRequest, before: "asyncio.Task[None] | None") -> None:
        """Have the agent stand still for a request, and let it go on when that is over."""
        if before is not None:
            await asyncio.wait({before})
        asking = asyncio.create_task(control.suspend(request.tags, request.seconds))
        asking.add_done_callback(request.answer)
        await request.over.wait()
        if asking.cancel():  # it does not stand there yet
            await asyncio.wait({asking})
        elif asking.exception() is None:  # otherwise it is not by this request that it stands, if it does
            await control.resume_point()
