"""One direction of a stream: a bounded queue with one reader, in one event loop."""

import asyncio
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from .stream_errors import StreamClosed, StreamMisused

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

__all__ = ("Home", "Lane", "Reader")

T = TypeVar("T")


class Home:
    """The event loop that something belongs to: the first one in which it is used."""

    def __init__(self) -> None:
        """Belong to none yet."""
        self._loop: asyncio.AbstractEventLoop | None = None

    def enter(self) -> None:
        """Check that this is the loop; what waits in another one is never woken.

        Raises:
            StreamMisused: It is not.
        """
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:  # before any loop runs, or in a thread without one
            running = None
        if self._loop is None:
            self._loop = running
        elif self._loop is not running:
            raise StreamMisused(
                reason="it belongs to the event loop that used it first; make a stream inside each asyncio.run()"
            )


class Lane(Generic[T]):
    """A queue between who puts and one reader.

    anyio's memory stream holds the objects. Waiting is done here, and nothing is handed over but by a call that does
    not wait: so a wait that is cancelled, or that times out, has neither lost an object nor put it twice.

    Attributes:
        ended: Why nothing more can be put; empty while it can.
        abandoned: The reader has gone, so that what is put would be read by nobody.
    """

    def __init__(self, size: int, home: Home) -> None:
        """Hold at most `size` objects."""
        from anyio import create_memory_object_stream

        self.ended = ""
        self.abandoned = False
        self._home = home
        self._claimed = ""
        self._room = asyncio.Event()
        self._news = asyncio.Event()
        self._turn = asyncio.Lock()
        put: MemoryObjectSendStream[T]
        get: MemoryObjectReceiveStream[T]
        put, get = create_memory_object_stream[T](size)
        self._put, self._get = put, get

    def __del__(self) -> None:
        """Close the ends; anyio warns of those that are left open."""
        self._put.close()
        self._get.close()

    async def put(self, item: T, seconds: float) -> bool:
        """Put an object, after those who wait already, once there is room for it.

        Args:
            item: The object.
            seconds: How long it may wait for room; 0: not at all.

        Returns:
            Whether it was put: there was room in time, and there is or may be a reader.

        Raises:
            StreamClosed: The lane has ended, before or meanwhile.
            StreamMisused: This is another event loop.
        """
        self._home.enter()
        if not seconds:
            return self.put_now(item)
        try:
            async with asyncio.timeout(seconds), self._turn:
                while not self.put_now(item):
                    if self.abandoned:
                        return False
                    self._room.clear()
                    await self._room.wait()
        except TimeoutError:
            return False
        return True

    def put_now(self, item: T) -> bool:
        """Put an object if there is room; gives whether there was, and is or may be a reader; raises as `put` does."""
        from anyio import WouldBlock

        self._home.enter()
        if self.ended:
            raise StreamClosed(reason=self.ended)
        if self.abandoned:
            return False
        try:
            self._put.send_nowait(item)
        except WouldBlock:
            return False
        self._news.set()
        return True

    @property
    def holds(self) -> bool:
        """Whether something waits in it to be read."""
        return self._get.statistics().current_buffer_used > 0

    def take(self) -> tuple[T, ...]:
        """Take the oldest object out, if there is one."""
        from anyio import EndOfStream, WouldBlock

        try:
            item = self._get.receive_nowait()
        except (EndOfStream, WouldBlock):
            return ()
        self._room.set()
        return (item,)

    def take_all(self) -> tuple[T, ...]:
        """Take out all that is there, oldest first."""
        taken: list[T] = []
        while found := self.take():
            taken.extend(found)
        return tuple(taken)

    def claim(self, reader: str) -> None:
        """Become the one reader.

        Raises:
            StreamMisused: There is one already.
        """
        if self._claimed:
            raise StreamMisused(reason=f"{self._claimed} reads it already, and each object is read once")
        self._claimed = reader

    async def next(self) -> tuple[T, ...]:
        """Wait for an object and take it out; none: the lane has ended, and all is read."""
        while True:
            self._home.enter()
            if self.abandoned:
                return ()
            if (taken := self.take()) or self.ended:
                return taken
            self._news.clear()
            await self._news.wait()

    def end(self, reason: str) -> None:
        """Let nothing more be put; what is there can still be read. The first reason holds."""
        self._home.enter()
        self.ended = self.ended or reason
        self._put.close()
        self._wake()

    def abandon(self) -> None:
        """The reader goes away."""
        self.abandoned = True
        self._get.close()
        self._wake()

    def _wake(self) -> None:
        self._room.set()
        self._news.set()


class Reader(Generic[T]):
    """The one reader of a lane. A wait for the next object may be cancelled and begun again: nothing is lost."""

    def __init__(self, lane: Lane[T]) -> None:
        """Read from now on; dropping this object is going away."""
        self._lane = lane

    def __aiter__(self) -> Self:
        """Itself."""
        return self

    async def __anext__(self) -> T:
        """The next object."""
        for item in await self._lane.next():
            return item
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Go away."""
        self._lane.abandon()

    def __del__(self) -> None:
        """Go away."""
        self._lane.abandon()
