"""What is asked of a live agent while it works, beside stop and pause: to stand still at a point, and to go on."""

from typing import Protocol

from ..protocols.ids import AgentId
from .stream_errors import SuspensionRefused
from .suspension import Suspension

__all__ = ("POINTS", "AgentControl", "Control", "Controls")

POINTS = ("boundary", "model", "tool")
"""The points of an agent: a Step begins; leave for a model call is about to be asked for; a call is about to run."""


class AgentControl(Protocol):
    """The way to one live agent, wherever it lives."""

    async def suspend(self, tags: tuple[str, ...], timeout: float | None) -> str:  # noqa: ASYNC109
        """Wait until the agent stands at a point with one of the tags, or, with none, at any point.

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
