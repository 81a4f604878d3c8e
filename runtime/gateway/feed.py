"""The one who reads a fleet for all who watch it through the gateway, however many they are."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any

from ...protocols.errors import FleetError
from ..errors import ChannelClosed, FleetClosed
from ..first_of import first_of
from ..journal_errors import FleetTaken
from ..ports import Clock
from ..standing_work import StandingWork
from .ears import Ears
from .source import FleetSource
from .view import View

__all__ = ("PACE", "Feed", "first_of")

log = logging.getLogger(__name__)

PACE = 0.25
"""Seconds between two looks at rows and accounts, at least."""

PART = 9
"""A look that takes long is followed by a pause so many times as long: the Supervisor has others to serve."""

QUIET_PACE = 1.0
"""Seconds between two looks while somebody watches and no notice says that anything changed."""

GATHER = 0.1
"""Seconds in which notices gather before the next question for them."""

PATIENCE = 20.0
"""Seconds that a question for notices waits for one."""

RETRY = 1.0
"""Seconds until somebody who did not answer is asked again."""

LONGEST_RETRY = 30.0
"""Seconds until it is tried again to read where that met a bug: each further time twice as many, up to these."""

BUG = "this is a bug in Amrita Fleet: the log of the gateway's process says more"

NOTICES, ROWS = "notices", "rows"
"""What is read, each by a reader of its own."""

OVER = (ChannelClosed, FleetClosed, FleetTaken)
"""Errors after which there is nothing to be read any more."""


class Feed:
    """Reads rows, accounts and notices into a `View`. It belongs to one event loop.

    Attributes:
        view: What was read.
        ears: What the models of agents say that somebody follows.
        news: Set, and replaced by a fresh one, whenever something changes.
        over: Why there is nothing more to come; empty: there is.
    """

    def __init__(self, source: FleetSource, clock: Clock) -> None:
        """Nothing is read before `open`."""
        self.view = View(source.name)
        self.ears = Ears(source, clock)
        self.news = asyncio.Event()
        self.over = ""
        self._troubles: dict[str, str] = {}
        self._source = source
        self._clock = clock
        self._watchers = 0
        self._watched = asyncio.Event()
        self._happened = asyncio.Event()
        self._reading: asyncio.Task[None] | None = None
        self._touched, self._shown = 0, -1
        self._due = 0.0
        self._work: list[StandingWork] = []

    async def open(self) -> None:
        """Read what there is, then go on.

        Raises:
            FleetError: The fleet cannot be read.
        """
        while self.view.notices.extend(await self._source.notices(self.view.notices.last, 0)):
            pass
        await self.look()
        lost = "nobody reads the fleet for the gateway any more"
        readers = {NOTICES: self._listen, ROWS: self._look_on}
        self._work = [StandingWork(self._read_on(what, once), lost) for what, once in readers.items()]

    async def aclose(self) -> None:
        """Read no more, and have whoever watches told so. Safe to call twice."""
        self._end("the gateway is closed")
        await self.ears.aclose()
        for work in self._work:
            await work.aclose()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    @property
    def trouble(self) -> str:
        """Why the fleet does not answer now; empty: it does."""
        return next(filter(None, self._troubles.values()), "")

    @contextmanager
    def watching(self) -> Generator[None, None, None]:
        """Meanwhile somebody watches, so rows are read whether anybody asks for them or not."""
        self._watchers += 1
        self._watched.set()
        try:
            yield
        finally:
            self._watchers -= 1
            if not self._watchers:
                self._watched.clear()

    def touch(self) -> None:
        """Somebody has pulled a lever: what was read before is out of date."""
        self._touched += 1
        self._happened.set()

    async def look(self) -> View:
        """The view with rows and accounts as they are now, or were moments ago. Who asks meanwhile shares one look.

        Raises:
            FleetError: They cannot be read now.
        """
        asked = self._touched
        while self._shown < asked or self._clock.monotonic() >= self._due:
            if self._reading is None:
                self._reading = asyncio.create_task(self._read())
                self._reading.add_done_callback(self._has_read)
            await asyncio.shield(self._reading)
        return self.view

    def _has_read(self, _task: "asyncio.Task[None]") -> None:
        self._reading = None

    async def _read(self) -> None:
        mark, began = self._touched, self._clock.monotonic()
        rows = await self._source.rows()
        changed = self.view.update(rows, await self._source.accounts())
        self._tell_trouble(ROWS, "")
        ended = self._clock.monotonic()
        self._shown, self._due = mark, ended + max(PACE, PART * (ended - began))
        if changed:
            self._wake()

    async def _listen(self) -> None:
        found = await self._source.notices(self.view.notices.last, PATIENCE)
        self._tell_trouble(NOTICES, "")
        if self.view.notices.extend(found):
            self._happened.set()
            self._wake()
        await self._clock.sleep(GATHER)

    async def _look_on(self) -> None:
        await self._watched.wait()
        self._happened.clear()
        await self.look()
        await self._clock.sleep(max(0.0, self._due - self._clock.monotonic()))
        await first_of(self._happened.wait(), self._clock.sleep(QUIET_PACE))

    async def _read_on(self, what: str, once: Callable[[], Coroutine[Any, Any, None]]) -> None:
        pause = RETRY
        while not self.over:
            try:
                await once()
                pause = RETRY
            except OVER as error:
                self._end(str(error))
            except FleetError as error:
                log.info("the gateway asks again: %s", error)
                self._tell_trouble(what, str(error))
                await self._clock.sleep(RETRY)
            except Exception:
                log.exception("the gateway cannot read the %s of its fleet, and tries again", what)
                self._tell_trouble(what, BUG)
                await self._clock.sleep(pause)
                pause = min(2 * pause, LONGEST_RETRY)

    def _tell_trouble(self, what: str, reason: str) -> None:
        if reason != self._troubles.get(what, ""):
            self._troubles[what] = reason
            self._wake()

    def _end(self, reason: str) -> None:
        self.over = self.over or reason
        self._wake()

    def _wake(self) -> None:
        told, self.news = self.news, asyncio.Event()
        told.set()
