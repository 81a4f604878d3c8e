"""One task on its way: its notices, and its end."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from ..protocols.ids import AgentId, RunId, life_of
from ..protocols.notices import Notice, NoticeType
from ..protocols.outcome import Outcome
from .errors import ChannelClosed, RunUnknown
from .system import System

__all__ = ("Run", "untold", "watch")

WATCH_WAIT = 1.0
"""Seconds one look for notices waits for news."""

LAST_WORDS = 1.0
"""Seconds the last notices of a run have to come, once its outcome is known."""


def untold() -> None:
    """An end that nobody wants to be told."""


class Run:
    """One task on its way. Iterating gives its notices until it ends; `outcome()` waits for the end."""

    def __init__(
        self, system: System, agent: AgentId, run: RunId, after: int = 0, over: Callable[[], None] = untold
    ) -> None:
        """Name one run of an agent.

        Args:
            system: Where the agent lives.
            agent: Whose run it is.
            run: Which.
            after: All its notices have numbers above this.
            over: Called before anybody learns from this object that the run is over, each time.
        """
        self.agent = agent
        self.id = run
        self._system = system
        self._after = after
        self._told = over

    async def outcome(self) -> Outcome:
        """Wait for the end.

        Raises:
            AgentUnknown: There is no such agent.
            RunUnknown: There is no such run, or it ended too long ago.
            ChannelClosed: The agent died before it ended.
        """
        try:
            outcome = await self._system.outcome(self.agent, self.id)
        except (RunUnknown, ChannelClosed):
            self._told()
            raise
        self._told()
        return outcome

    async def __aiter__(self) -> AsyncIterator[Notice]:
        """The run's notices, in order, up to the one that says that it finished or that its agent died for good.

        Where the fleet has forgotten that one, they end once the run is over and the rest is read.
        """
        over = asyncio.create_task(self._over())
        try:
            async for notice in watch(self._system, self._after, over.done):
                last = self._ends(notice)
                if last:
                    self._told()
                if last or notice.run == self.id:
                    yield notice
                if last:
                    return
            await over
        finally:
            over.cancel()
            await asyncio.gather(over, return_exceptions=True)

    async def _over(self) -> None:
        """Wait until the run is over, however it ended, and until its last notices have had time to come."""
        with suppress(RunUnknown, ChannelClosed):
            await self.outcome()
        await asyncio.sleep(LAST_WORDS)

    def _ends(self, notice: Notice) -> bool:
        """Whether the run has no further notices."""
        match notice.type, notice.extra_type:
            case NoticeType.RUN, "finished":
                return notice.run == self.id
            case NoticeType.AGENT, "died":
                if notice.agent != self.agent or notice.data.get("restarts"):
                    return False
                life = notice.data.get("incarnation")
                return isinstance(life, int) and life >= life_of(self.id)
            case _:
                return False


def never() -> bool:
    """The watch goes on for ever."""
    return False


async def watch(system: System, after: int, over: Callable[[], bool] = never) -> AsyncIterator[Notice]:
    """Notices numbered above `after`, as they come; once it is `over`, only those that are there."""
    while True:
        last = over()
        found = await system.notices(after, 0 if last else WATCH_WAIT)
        for notice in found:
            after = notice.number
            yield notice
        if last and not found:
            return
