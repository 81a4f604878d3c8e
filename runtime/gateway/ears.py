"""Who listens to agents for all who watch them through the gateway: what their models say while they say it.

It travels beside the notices: it has no number, is written nowhere, and the Supervisor never hears of it.
"""

import asyncio
import logging
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager

from ...protocols.errors import FleetError
from ...protocols.insight import NOTHING, Spoken
from ..errors import AgentUnknown, FleetClosed
from ..journal_errors import FleetTaken
from ..ports import Clock
from ..standing_work import StandingWork
from .errors import NotRecorded
from .source import FleetSource

__all__ = ("Ear", "Ears")

log = logging.getLogger(__name__)

PATIENCE = 20.0
"""Seconds that a question waits for something to be said."""

RETRY = 1.0
"""Seconds until an agent that did not answer is asked again; each further time twice as many, up to `PATIENCE`."""

ENDED = (AgentUnknown, FleetClosed, FleetTaken, NotRecorded)
"""Errors after which there is nothing to be heard, however often it is asked."""

BUG = "this is a bug in Amrita Fleet: the log of the gateway's process says more"
CLOSED = "the gateway is closed"


class Ear:
    """What was heard of an agent's reply so far.

    Attributes:
        heard: How much that is.
        text: Its text.
        reasoning: Its reasoning.
        followers: How many follow it.
        lost: Why nobody listens to it any more; empty: somebody does.
    """

    def __init__(self) -> None:
        """Nothing was heard."""
        self.heard = NOTHING
        self.text = ""
        self.reasoning = ""
        self.followers = 0
        self.lost = ""
        self.work: StandingWork | None = None

    def take(self, spoken: Spoken) -> bool:
        """Take in what came; gives whether that is anything."""
        if spoken.heard == self.heard:
            return False
        if spoken.begins:
            self.text = self.reasoning = ""
        self.heard = spoken.heard
        self.text += spoken.text
        self.reasoning += spoken.reasoning
        return True


class Ears:
    """Asks each agent that is followed once, however many follow it. It belongs to one event loop.

    Attributes:
        news: Set, and replaced by a fresh one, whenever something is heard.
    """

    def __init__(self, source: FleetSource, clock: Clock) -> None:
        """Nobody is followed."""
        self.news = asyncio.Event()
        self._source = source
        self._clock = clock
        self._ears: dict[str, Ear] = {}
        self._ending = set[asyncio.Task[None]]()
        self._closed = False

    @contextmanager
    def following(self, agents: Iterable[str]) -> Generator[dict[str, Ear]]:
        """Meanwhile these agents are listened to; gives what was heard of each."""
        with ExitStack() as stack:
            yield {agent: stack.enter_context(self._follow(agent)) for agent in dict.fromkeys(agents)}

    async def aclose(self) -> None:
        """Listen to nobody any more, not to those either who are followed from now on. Safe to call twice."""
        self._closed = True
        ears, self._ears = tuple(self._ears.values()), {}
        for ear in ears:
            self._end(ear)
            self._lose(ear, CLOSED)
        await asyncio.gather(*self._ending)

    @contextmanager
    def _follow(self, agent: str) -> Generator[Ear]:
        ear = self._ear_at(agent)
        ear.followers += 1
        try:
            yield ear
        finally:
            ear.followers -= 1
            if not ear.followers:
                if self._ears.get(agent) is ear:  # else another one is at the agent by now
                    del self._ears[agent]
                self._end(ear)

    def _ear_at(self, agent: str) -> Ear:
        """The one that listens, or a new one: who comes after one that gave up has the agent asked again."""
        ear = self._ears.get(agent)
        if ear is not None and not ear.lost:
            return ear
        ear = Ear()
        if self._closed:
            ear.lost = CLOSED
            return ear
        self._ears[agent] = ear
        ear.work = StandingWork(self._listen(agent, ear), f"nobody listens to {agent} for the gateway any more")
        return ear

    def _end(self, ear: Ear) -> None:
        work, ear.work = ear.work, None
        if work is not None:
            ending = asyncio.ensure_future(work.aclose())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    async def _listen(self, agent: str, ear: Ear) -> None:
        try:
            await self._hear(agent, ear)
        except ENDED as error:
            log.info("the gateway listens to %s no longer: %s", agent, error)
            self._lose(ear, str(error))
        except Exception:
            self._lose(ear, BUG)
            raise

    async def _hear(self, agent: str, ear: Ear) -> None:
        """Ask for as long as there may be something to be heard; raises what says that there never will be."""
        pause = RETRY
        while True:
            try:
                spoken = await self._source.listen(agent, ear.heard, PATIENCE)
            except ENDED:
                raise
            except FleetError:  # it is dead or away, and may come back; that it is, its row says
                await self._clock.sleep(pause)
                pause = min(2 * pause, PATIENCE)
                continue
            pause = RETRY
            if ear.take(spoken):
                self._wake()

    def _lose(self, ear: Ear, reason: str) -> None:
        ear.lost = ear.lost or reason
        self._wake()

    def _wake(self) -> None:
        told, self.news = self.news, asyncio.Event()
        told.set()
