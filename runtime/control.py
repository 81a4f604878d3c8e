"""What is asked of a live agent while it works, beside stop and pause: to stand still at a point, and to go on."""

from typing import Protocol

from .errors import SuspensionRefused
from .suspension import Suspension

__all__ = ("POINTS", "AgentControl", "Control", "PointControl", "Suspendable")

POINTS = ("boundary", "model", "tool")
"""The points of an agent: a Step begins; leave for a model call is about to be asked for; a call is about to run."""


class Suspendable(Protocol):
    """The way to a producer that can stand still at a point, wherever it lives."""

    async def suspend(self, tags: tuple[str, ...], timeout: float | None) -> str:  # noqa: ASYNC109
        """Wait until the producer stands at a point with one of the tags, or, with none, at any point.

        Args:
            tags: Where it may stand; an agent's are `POINTS`.
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


class AgentControl(Suspendable, Protocol):
    """The way to one live agent, wherever it lives."""


class PointControl:
    """The way to a producer that lives in this event loop."""

    def __init__(self, suspension: Suspension, points: tuple[str, ...] = ()) -> None:
        """Keep what the producer stands at; `points` are the tags it has, none: any tag may be one."""
        self._suspension = suspension
        self._points = points

    async def suspend(self, tags: tuple[str, ...], timeout: float | None) -> str:  # noqa: ASYNC109
        """Wait until it stands at a point; see `Suspendable`."""
        unknown = [tag for tag in tags if self._points and tag not in self._points]
        if unknown:
            raise SuspensionRefused(reason=f"it has the points {', '.join(self._points)}, and no {unknown[0]!r}")
        return await self._suspension.request(tags, timeout)

    async def resume_point(self) -> None:
        """Let it go on from there; see `Suspendable`."""
        self._suspension.resume()


class Control(PointControl):
    """The control of an agent that lives in this event loop."""

    def __init__(self, suspension: Suspension) -> None:
        """Keep the pieces that the agent's driver works with."""
        super().__init__(suspension, POINTS)
