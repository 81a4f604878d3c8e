"""A recording as a source of the gateway: it is played at a pace, and has no levers."""

import math
from bisect import bisect_right

from ...protocols.approval import Approval
from ...protocols.checkin import AgentStatus
from ...protocols.insight import Heard, Insight, Spoken
from ...protocols.limits import Limits
from ...protocols.mail import Receipt
from ...protocols.notices import Notice
from ..errors import NumberInvalid
from ..ports import Clock
from ..supervision.account import Account
from ..system import Stopped
from .errors import NotRecorded, RecordingFixed
from .fold import Folded, fold
from .recording import Recording

__all__ = ("RecordedSource",)

MOST = 1000
"""Notices handed over at once."""


class FixedLevers:
    """Levers that move nothing: what was recorded has happened."""

    moves = False

    def __init__(self, fleet: str) -> None:
        """Keep whose they would be."""
        self._fleet = fleet

    @property
    def name(self) -> str:
        """The fleet's."""
        return self._fleet

    async def answer(self, approval: str, *, allowed: bool, reason: str) -> None:  # noqa: ARG002
        """Never.

        Raises:
            RecordingFixed: It has happened.
        """
        raise RecordingFixed(fleet=self.name)

    async def send(self, agent: str, body: str) -> Receipt:  # noqa: ARG002
        """Never; raises what `answer` raises."""
        raise RecordingFixed(fleet=self.name)

    async def pause(self, agent: str, reason: str | None) -> None:  # noqa: ARG002
        """Never; raises what `answer` raises."""
        raise RecordingFixed(fleet=self.name)

    async def stop(self, agents: tuple[str, ...], reason: str) -> Stopped:  # noqa: ARG002
        """Never; raises what `answer` raises."""
        raise RecordingFixed(fleet=self.name)

    async def kill(self, agent: str) -> None:  # noqa: ARG002
        """Never; raises what `answer` raises."""
        raise RecordingFixed(fleet=self.name)

    async def limit(self, account: str | None, limit: Limits | None) -> None:  # noqa: ARG002
        """Never; raises what `answer` raises."""
        raise RecordingFixed(fleet=self.name)

    async def grant_no_more(self, account: str | None) -> None:  # noqa: ARG002
        """Never; raises what `answer` raises."""
        raise RecordingFixed(fleet=self.name)


class RecordedSource(FixedLevers):
    """Plays a recording from its first notice on, beginning when it is made."""

    def __init__(self, recording: Recording, clock: Clock, pace: float = math.inf) -> None:
        """Begin.

        Args:
            recording: What happened.
            clock: Time.
            pace: Seconds of the recording in a second; infinity: all of it is there at once.

        Raises:
            NumberInvalid: The pace is no number above 0.
        """
        if not pace > 0:
            raise NumberInvalid(name="pace", given=repr(pace), reason="it is a number above 0")
        super().__init__(recording.fleet)
        self._recording = recording
        self._clock = clock
        self._pace = pace
        self._began = clock.monotonic()
        self._folded = Folded(recording.fleet)
        self._taken = 0
        self._times = rising(recording.notices)

    async def rows(self) -> tuple[AgentStatus, ...]:
        """The rows as the notices so far tell of them."""
        return tuple(self._now().rows.values())

    async def accounts(self) -> tuple[Account, ...]:
        """What was spent so far."""
        return self._now().accounts()

    async def notices(self, after: int, wait: float) -> tuple[Notice, ...]:
        """Those that have happened by now; waits for the next one, but no longer than it may."""
        every = self._recording.notices
        begin = bisect_right(every, after, key=lambda notice: notice.number)
        if begin >= self._happened() and wait > 0:
            due = (self._times[begin] - self._times[0]) / self._pace if begin < len(every) else math.inf
            await self._clock.sleep(min(wait, max(0.0, due - self._passed())))
        return every[begin : min(self._happened(), begin + MOST)]

    async def approvals(self) -> tuple[Approval, ...]:
        """None: nobody can answer any more."""
        return ()

    async def receipt(self, recipient: str, message: str) -> Receipt | None:  # noqa: ARG002
        """Nobody knows: notices tell of messages, not their receipts."""
        return None

    async def look(self, agent: str) -> Insight:  # noqa: ARG002
        """Never.

        Raises:
            NotRecorded: Notices do not say what was said.
        """
        raise NotRecorded(fleet=self.name, what="what was said to its models and by them")

    async def listen(self, agent: str, heard: Heard, wait: float) -> Spoken:  # noqa: ARG002
        """Never; raises what `look` raises."""
        raise NotRecorded(fleet=self.name, what="what was said to its models and by them")

    def _passed(self) -> float:
        return self._clock.monotonic() - self._began

    def _happened(self) -> int:
        """How many notices have happened by now."""
        if math.isinf(self._pace) or not self._times:
            return len(self._times)
        return bisect_right(self._times, self._times[0] + self._passed() * self._pace)

    def _now(self) -> Folded:
        happened = self._happened()
        self._folded = fold(self._folded, self._recording.notices[self._taken : happened])
        self._taken = happened
        return self._folded


def rising(notices: tuple[Notice, ...]) -> list[float]:
    """When each happened; clocks of two machines may differ, but none comes before the one it follows."""
    times: list[float] = []
    for notice in notices:
        times.append(max(notice.at, times[-1]) if times else notice.at)
    return times
