"""The suspensions of one agent. Each is of one run: that run stands still for it, and no other one."""

from collections.abc import Callable

from ..protocols.ids import RunId
from .stream_errors import SuspensionRefused
from .suspension import Stand, Suspension

__all__ = ("BOUNDARY", "MODEL", "OVER", "POINTS", "TOOL", "RunSuspensions")

BOUNDARY, MODEL, TOOL = POINTS = ("boundary", "model", "tool")
"""The points of an agent: a Step begins; leave for a model call is about to be asked for; a call is about to run."""

OVER = "its run is over"


class RunSuspensions:
    """The piece inside an agent, in its work loop; only `asked` and `note` may be called from any thread.

    A run that waits for its turn can be asked already: it stands when it comes to such a point.
    """

    def __init__(self, lives: Callable[[RunId], bool]) -> None:
        """Begin with nobody asking; `lives` tells whether a run is under way, or waits for its turn."""
        self._lives = lives
        self._by_run: dict[RunId, Suspension] = {}
        self._closed = ""

    def asked(self, run: RunId) -> bool:
        """Whether somebody asked this run to stand somewhere; while nobody has, no point needs to be awaited."""
        found = self._by_run.get(run)
        return found is not None and found.asked

    def note(self, run: RunId) -> str:
        """What watchers are told: where the run stands, or is to stand; empty when nobody asked."""
        found = self._by_run.get(run)
        return "" if found is None else found.note

    def ask(self, run: RunId, stand: Stand) -> None:
        """Have a run stand that is about to be queued, before it can come to any point.

        Raises:
            SuspensionRefused: Nobody can ask any more.
        """
        self._of(run).ask(stand)

    async def reached(self, run: RunId, stand: Stand, timeout: float | None) -> str:  # noqa: ASYNC109
        """Wait until a run stands; what `ask` was given is not asked for again.

        Raises:
            NumberInvalid: The time-out is not above 0.
            SuspendTimedOut: It did not get there in time; the request is withdrawn.
            SuspensionRefused: It has another request already, this one was given up, or the run is over.
        """
        if not self._lives(run):
            raise SuspensionRefused(reason=OVER)
        return await self._of(run).reached(stand, timeout)

    def withdraw(self, token: str) -> None:
        """Let the run go on that stands for this request, or give the request up."""
        for each in self._by_run.values():
            each.withdraw(token)

    def over(self, run: RunId) -> None:
        """Nobody can suspend this run any more."""
        if (found := self._by_run.pop(run, None)) is not None:
            found.close(OVER)

    def close(self, reason: str) -> None:
        """Let every run go on for good; `reason` is what those are told who ask, or have asked."""
        self._closed = self._closed or reason
        for each in self._by_run.values():
            each.close(reason)

    def reopen(self) -> None:
        """Let runs to come be suspended again."""
        self._closed = ""

    async def point(self, run: RunId, tag: str) -> None:
        """Stand here if somebody asked this run for it. The driver awaits this at each point of the run."""
        if (found := self._by_run.get(run)) is not None:
            await found.point(tag)

    def _of(self, run: RunId) -> Suspension:
        if self._closed:
            raise SuspensionRefused(reason=self._closed)
        return self._by_run.setdefault(run, Suspension())
