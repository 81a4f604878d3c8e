"""An agent's lease: it goes on only while its Supervisor has answered not long ago, and has no newer life of it.

Ray can run two copies of an agent for seconds, and a node that is cut off does not know that it is. So each life asks
the Supervisor in turns whether it is still the latest. One that is not gives way; one that hears nothing for the term
of its lease begins nothing new until it does.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ..protocols.checkin import DEAD, RESTARTING, AgentStatus
from ..protocols.errors import FleetError
from ..protocols.ids import AgentId, Incarnation
from .errors import AgentUnknown
from .ports import Clock

__all__ = ("RENEWAL", "RETRY", "TERM", "Lease", "Term", "is_latest")

log = logging.getLogger(__name__)

RENEWAL = 5.0
"""Seconds between two renewals. Each costs the two processes 0.6 ms, so a thousand agents take a tenth of a core."""

TERM = 15.0
"""Seconds that a lease lasts: two renewals may be lost, or a Supervisor be started anew, and nobody notices."""

RETRY = 1.0
"""Seconds between two tries while the Supervisor does not answer."""


@dataclass(frozen=True, slots=True)
class Term:
    """How long a life may go on; `renewed` is when the renewal that was answered last was asked for, monotonic seconds.

    Asked for, not answered: what the Supervisor said may be as old as that.
    """

    renewed: float

    def away(self, now: float) -> float:
        """Seconds since the Supervisor was last known to be there, once the lease is over; 0 while it holds."""
        passed = now - self.renewed
        return passed if passed >= TERM else 0.0

    def pause(self, now: float, *, answered: bool) -> float:
        """Seconds until it is to be renewed again, once the Supervisor was asked."""
        return max(0.0, self.renewed + RENEWAL - now) if answered else RETRY


class Lease:
    """Keeps one life's lease. It belongs to the work loop; `away` and `note` may be read from any thread.

    1. `open` begins the first term: the Supervisor has just admitted the life.
    2. It is renewed in turns until `aclose`.
    3. Who comes to a point at which the lease must hold waits there in `regained`.

    Attributes:
        agent: Whose life it is.
    """

    def __init__(
        self,
        agent: AgentId,
        renew: Callable[[], Awaitable[bool]],
        clock: Clock,
        over: Callable[[], None],
        back: Callable[[float], None],
    ) -> None:
        """Keep the ports.

        Args:
            agent: Whose life it is.
            renew: Asks the Supervisor whether this life is the latest. Raises `AgentUnknown` when it knows none, and
                another `FleetError` when it does not answer.
            clock: Time.
            over: Told, once, that the life is over.
            back: Told that the Supervisor answered again after the lease was over, and for how many seconds it had not.
        """
        self.agent = agent
        self._renew = renew
        self._clock = clock
        self._over = over
        self._back = back
        self._term = Term(clock.monotonic())
        self._answered = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin, in the running loop."""
        self._term = Term(self._clock.monotonic())
        self._keeping = asyncio.create_task(self._keep())
        self._keeping.add_done_callback(self._kept)

    @property
    def away(self) -> float:
        """Seconds since the Supervisor was last known to be there, once the lease is over; 0 while it holds."""
        return self._term.away(self._clock.monotonic())

    @property
    def note(self) -> str:
        """Why nothing new is begun, for people; empty while the lease holds."""
        seconds = self.away
        return f"cut off from the Supervisor for {seconds:.0f} s" if seconds else ""

    async def regained(self) -> None:
        """Wait until the Supervisor has answered again."""
        await self._answered.wait()

    async def aclose(self) -> None:
        """Renew it no more. Who waits for it must not be forgotten by whoever calls this."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)

    async def _keep(self) -> None:
        answered = True
        while True:
            asked = self._clock.monotonic()
            try:
                if not await self._renew():
                    break
            except AgentUnknown:
                break
            except FleetError as error:
                if answered:
                    log.warning("the lease of %s is not renewed: %s", self.agent, error)
                answered = False
            else:
                answered = True
                self._renewed(asked)
            await self._clock.sleep(self._term.pause(self._clock.monotonic(), answered=answered))
        self._over()

    def _kept(self, keeping: "asyncio.Task[None]") -> None:
        """Say so when a bug ends it: the agent will stand still, and nothing of its own ends that."""
        if not keeping.cancelled() and (error := keeping.exception()) is not None:
            log.error("nobody renews the lease of %s any more: it will stand still", self.agent, exc_info=error)

    def _renewed(self, asked: float) -> None:
        away, self._term = self.away, Term(asked)
        if away and not self.away:
            self._back(away)
        told, self._answered = self._answered, asyncio.Event()
        told.set()


def is_latest(row: AgentStatus, incarnation: Incarnation) -> bool:
    """Whether a life is the latest of its agent, by the Supervisor's row, and not known to be over."""
    return row.incarnation == incarnation and row.phase not in (DEAD, RESTARTING)
