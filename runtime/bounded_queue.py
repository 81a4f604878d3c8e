"""One direction of a stream: a bounded queue with one reader, in one event loop."""

import asyncio
from collections import deque
from typing import Generic, Self, TypeVar

from .stream_errors import StreamClosed, StreamMisused

__all__ = ("BoundedQueue", "LoopAffinity", "Reader")

T = TypeVar("T")


class LoopAffinity:
    """The event loop that something belongs to: the first one in which it is used."""

    def __init__(self) -> None:
        """Belong to none yet."""
        self._loop: asyncio.AbstractEventLoop | None = None

    def enter(self, *, running: bool = False) -> None:
        """Check that this is the loop; what waits in another one is never woken.

        Args:
            running: It must run already.

        Raises:
            StreamMisused: It is not.
        """
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:  # before any loop runs, or in a thread without one
            here = None
        if self._loop is None:
            if here is None and running:
                raise StreamMisused(reason="no event loop runs here: call this in a coroutine")
            self._loop = here
        elif self._loop is not here:
            raise StreamMisused(
                reason="it belongs to the event loop that used it first; make a stream inside each asyncio.run()"
            )


class BoundedQueue(Generic[T]):
    """A queue between who puts and one reader.

    An object changes hands only after a wait, never by one: a wait that is cancelled, or that times out, has neither
    lost an object nor put it twice. (anyio's memory streams hand it to the task that waits in `receive`; where asyncio
    cancels that task in the same moment, as `asyncio.wait_for` may, it is lost. And a `send` that waits is not woken by
    the end of its side before anyio 4.16.)

    Attributes:
        ended: Why nothing more can be put; empty while it can.
        abandoned: The reader has gone, so that what is put would be read by nobody.
    """

    def __init__(self, size: int, affinity: LoopAffinity) -> None:
        """Hold at most `size` objects."""
        self.ended = ""
        self.abandoned = False
        self._size = size
        self._affinity = affinity
        self._items = deque[T]()
        self._reader = ""
        self._changed = asyncio.Event()  # one is enough: where a reader waits there is room, and nobody waits for it
        self._turn = asyncio.Lock()

    async def put(self, item: T, seconds: float) -> bool:
        """Put an object, after those who wait already, once there is room for it.

        Args:
            item: The object.
            seconds: How long it may wait for room; 0: not at all.

        Returns:
            Whether it was put: there was room in time, and there is or may be a reader.

        Raises:
            StreamClosed: The queue has ended, before or meanwhile.
            StreamMisused: This is another event loop.
        """
        from anyio import move_on_after

        self._affinity.enter()
        with move_on_after(seconds):
            async with self._turn:
                while not (put := self.put_now(item)) and not self.abandoned:
                    await self._change()
                return put
        return False

    def put_now(self, item: T) -> bool:
        """Put an object if there is room; gives whether there was, and is or may be a reader; raises as `put` does."""
        self._affinity.enter()
        if self.ended:
            raise StreamClosed(reason=self.ended)
        if self.abandoned or len(self._items) >= self._size:
            return False
        self._items.append(item)
        self._changed.set()
        return True

    @property
    def holds(self) -> bool:
        """Whether something waits in it to be read."""
        return bool(self._items)

    def take(self) -> tuple[T, ...]:
        """Take the oldest object out, if there is one."""
        if not self._items:
            return ()
        self._changed.set()
        return (self._items.popleft(),)

    def take_all(self) -> tuple[T, ...]:
        """Take out all that is there, oldest first."""
        taken = tuple(self._items)
        self._items.clear()
        self._changed.set()
        return taken

    def claim(self, reader: str) -> None:
        """Become the one reader.

        Raises:
            StreamMisused: There is one already, or this is another event loop.
        """
        self._affinity.enter()
        if self._reader:
            raise StreamMisused(reason=f"{self._reader} reads it already, and each object is read once")
        self._reader = reader

    async def next(self) -> tuple[T, ...]:
        """Wait for an object and take it out; none: the queue has ended, and all is read."""
        self._affinity.enter()
        while not ((taken := self.take()) or self.ended or self.abandoned):
            await self._change()
        return taken

    def end(self, reason: str) -> None:
        """Let nothing more be put; what is there can still be read. The first reason holds."""
        self._affinity.enter()
        self.ended = self.ended or reason
        self._changed.set()

    def abandon(self) -> None:
        """The reader goes away, and with it what it has not read."""
        self.abandoned = True
        self.take_all()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()


class Reader(Generic[T]):
    """The one reader of a queue. A wait for the next object may be cancelled and begun again: nothing is lost."""

    def __init__(self, queue: BoundedQueue[T]) -> None:
        """Read from now on; dropping this object is going away."""
        self._queue = queue

    def __aiter__(self) -> Self:
        """Itself."""
        return self

    async def __anext__(self) -> T:
        """The next object."""
        for item in await self._queue.next():
            return item
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Go away."""
        self._queue.abandon()

    def __del__(self) -> None:
        """Go away."""
        self._queue.abandon()
