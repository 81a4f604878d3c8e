"""The journal's actor: thin methods around a `Journal`, and the way to it from all other processes of a fleet.

Whoever writes waits for the answer before anything follows from it, so a call that got lost is simply made again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import ray

from ..protocols.codec import encode
from ..runtime.errors import ChannelClosed, PeerUnreachable
from ..runtime.journal.door import Addition, JournalDoor, add
from ..runtime.journal_errors import JournalUnavailable
from ..runtime.ports import Journal, Record, Stored
from .channel import CONTROL
from .journal_lines import Door, JournalLines, this_node
from .reborn import Reborn
from .replaced import Replaced

__all__ = ("JOURNAL", "READ", "JournalActor", "JournalPlace", "RayJournal", "journal_place")

log = logging.getLogger(__name__)

JOURNAL = "journal"
"""The actor's name among its fleet's."""

READ = "read"
"""Concurrency group of what reads whole streams: however many there are, none takes the turn of one who writes."""

PAUSES = (0.05, 0.1, 0.2, 0.4)
"""Seconds before each further try of a call that got lost on its way. After the last one the caller is told."""

T = TypeVar("T")


class JournalPlace(NamedTuple):
    """Where a fleet's records are.

    Attributes:
        url: What `open_journal` takes; a path is absolute, for other processes work in other folders.
        local: It is a file, which only processes of its own machine can open.
    """

    url: str
    local: bool


def journal_place(url: str | Path) -> JournalPlace:
    """Where a URL or a path leads.

    Raises:
        JournalInvalid: It is none, or one of something else.
    """
    from ..runtime.journal.sql import database_of
    from ..runtime.journal.sqlite import SqliteFile

    database = database_of(url)
    local = isinstance(database, SqliteFile)
    return JournalPlace(database.where if local else str(url), local)


class JournalActor(Reborn):
    """The one process of a fleet that writes its journal.

    1. Made with a URL; nothing is opened yet.
    2. `begin` makes the journal in the default group, whose event loop it belongs to.
    3. `claim`, `open` and `append` have that group's turns, readers have a group of their own.
       Whoever added records is told where the door is, for the next ones.
    4. `close` finishes what was asked for.
    """

    _made: Journal | None = None
    _door: JournalDoor | None = None

    def __init__(self, url: str, create: bool, service: bool) -> None:  # noqa: FBT001  Ray's calls are positional
        """Keep what `begin` needs.

        `create`: a missing file becomes a journal; not where one was there before. `service`: it is a service's.
        """
        self._url = url
        self._create = create
        self._closed = asyncio.Event()
        self._born(service=service)

    async def _again(self) -> None:
        """Begin in a process that Ray started after one that died: what was there is there, or lost."""
        self._create = False
        await self._begin()

    @property
    def _journal(self) -> Journal:
        """The journal, once it has begun.

        Raises:
            PeerUnreachable: It is still being started; the caller may try again.
        """
        if self._made is None:
            raise PeerUnreachable(agent=JOURNAL, reason="it is being started")
        return self._made

    @ray.method
    async def begin(self) -> None:
        """Make the journal; the database is opened by the first call."""
        await self._begin()

    async def _begin(self) -> None:
        from ..runtime.journal.choose import open_journal

        self._loop = asyncio.get_running_loop()
        self._made = open_journal(self._url, known=not self._create)
        door = JournalDoor(self._made)
        try:
            await door.open()
        except OSError as error:
            log.warning("all records come by Ray, for the journal can have no door of its own: %s", error)
        else:
            self._door = door

    @ray.method
    async def claim(self, stream: str) -> int:
        """Claim a stream for a life newer than all before; see `Journal.claim`."""
        return await self._journal.claim(stream)

    @ray.method
    async def open(self, stream: str, incarnation: int) -> tuple[Record, ...]:
        """Claim a stream and read it; see `Journal.open`."""
        return await self._journal.open(stream, incarnation)

    @ray.method
    async def append(self, addition: bytes) -> Door | None:
        """Take an `Addition`; gives where further ones may come in, from processes of this node."""
        await add(self._journal, addition)
        return None if self._door is None else Door(this_node(), self._door.address)

    @ray.method
    async def drop(self, stream: str) -> None:
        """Forget a stream."""
        await self._journal.drop(stream)

    @ray.method
    async def drop_all(self, prefix: str, before: float | None) -> int:
        """Forget all streams whose names begin so, or none; see `Journal.drop_all`."""
        return await self._journal.drop_all(prefix, before=before)

    @ray.method(concurrency_group=READ)
    async def read(self, stream: str, after: int) -> tuple[Record, ...]:
        """All records with numbers above `after`."""
        return await self._there(self._journal.read(stream, after))

    @ray.method(concurrency_group=READ)
    async def streams(self, prefix: str) -> tuple[str, ...]:
        """The names of all streams."""
        return await self._there(self._journal.streams(prefix))

    @ray.method(concurrency_group=READ)
    async def stored(self, prefix: str) -> tuple[Stored, ...]:
        """What there is of each stream."""
        return await self._there(self._journal.stored(prefix))

    async def _there(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it in the loop that the journal belongs to."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    @ray.method(concurrency_group=CONTROL)
    async def ping(self) -> None:
        """Answer."""

    @ray.method
    async def close(self) -> None:
        """Finish what was asked for, and let go of the database."""
        if self._made is not None:
            await self._made.aclose()
        if self._door is not None:
            await self._door.aclose()
        self._closed.set()

    @ray.method
    async def closed(self) -> None:
        """Park until `close`; see `AgentActor.closed`."""
        await self._closed.wait()


class RayJournal:
    """The port `Journal` over the actor's handle. Any loop of any process may use it."""

    def __init__(self, actor: type[JournalActor], fleet: str) -> None:
        """Keep the actor's handle; another one follows it when its process dies."""
        self._actor = Replaced(actor, JOURNAL, fleet, again=True)
        self._lines = JournalLines()

    async def claim(self, stream: str) -> int:
        """Claim the stream for a life newer than all before; see `Journal.claim`."""
        return await self._ask(lambda actor: actor.claim.remote(stream))

    async def open(self, stream: str, incarnation: int) -> tuple[Record, ...]:
        """Claim the stream for this life and read it; see `Journal.open`."""
        return await self._ask(lambda actor: actor.open.remote(stream, incarnation))

    async def append(
        self, stream: str, incarnation: int, first: int, records: tuple[bytes, ...], *, snapshot: bool = False
    ) -> None:
        """Add records, all or none; see `Journal.append`."""
        addition = encode(Addition(stream, incarnation, first, records, snapshot))
        if not await self._lines.add(addition):
            self._lines.learn(await self._ask(lambda actor: actor.append.remote(addition)))

    async def read(self, stream: str, after: int = 0) -> tuple[Record, ...]:
        """All records that are still there with numbers above `after`."""
        return await self._ask(lambda actor: actor.read.remote(stream, after))

    async def streams(self, prefix: str = "") -> tuple[str, ...]:
        """The names of all streams, in order."""
        return await self._ask(lambda actor: actor.streams.remote(prefix))

    async def stored(self, prefix: str = "") -> tuple[Stored, ...]:
        """What there is of each stream."""
        return await self._ask(lambda actor: actor.stored.remote(prefix))

    async def drop(self, stream: str) -> None:
        """Forget a stream and whose it is."""
        await self._ask(lambda actor: actor.drop.remote(stream))

    async def drop_all(self, prefix: str, *, before: float | None = None) -> int:
        """Forget all streams whose names begin so, or none; see `Journal.drop_all`."""
        return await self._ask(lambda actor: actor.drop_all.remote(prefix, before))

    async def aclose(self) -> None:
        """Hang up. The actor belongs to the fleet's owner."""
        await self._lines.aclose()

    async def _ask(self, call: Callable[[type[JournalActor]], Awaitable[T]]) -> T:
        """Make a call until it is answered, or too many got lost.

        Raises:
            JournalUnavailable: The actor, or its database, does not answer now.
            FleetError: What the journal raised.
        """
        for pause in PAUSES:
            try:
                return await self._actor.ask(call)
            except PeerUnreachable:
                await asyncio.sleep(pause)
        try:
            return await self._actor.ask(call)
        except (PeerUnreachable, ChannelClosed) as error:
            raise JournalUnavailable(where="actor", reason=error.reason) from None
