"""A stream between a producer and you: its objects come out, your texts go in, and you can make it stand still.

The producer is anything that awaits `yield_response` and `point`, or a run: `AgentRef.start(task, stream=stream)`.
"""

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

from .control import AgentControl
from .errors import NumberInvalid
from .lane import Home, Lane, Reader
from .stream_errors import StreamClosed, StreamExpected, StreamFull, StreamMisused, SuspensionRefused
from .suspension import Suspension, check_seconds

__all__ = ("SuspendObjectStream", "expect_stream")

log = logging.getLogger(__name__)

Callback = Callable[[object], object]
"""Takes each object; where it gives an awaitable, that is awaited."""

DONE = "the producer is done"


class SuspendObjectStream:
    """One stream, for one producer, one reader each way and one event loop: the first in which it is used.

    What you do, in any order: iterate `get_response_generator()` or give a callback; send texts; suspend and resume.
    Both iterations end when their other side is done, also when they begin after that.

    A reader that is slow or has gone never holds up the producer for long: `yield_response` waits `queue_timeout` for
    room, then drops the oldest object, and says so in the log. Until the reader has made room it does not wait again.

    Attributes:
        dropped: Objects that nobody read because the queue was full or the reader had gone.
    """

    def __init__(self, queue_size: int = 256, queue_timeout: float = 10.0) -> None:
        """Begin with nothing in it; it may be made before any event loop runs.

        Args:
            queue_size: Objects, and as many texts, that may wait to be read.
            queue_timeout: Seconds that who puts something waits for room.

        Raises:
            NumberInvalid: A queue of that size holds nothing, or in that time nothing can happen.
        """
        if type(queue_size) is not int or queue_size < 1:  # a bool is none
            raise NumberInvalid(name="queue_size", given=repr(queue_size), reason="a queue holds at least one object")
        check_seconds("queue_timeout", queue_timeout)
        self.dropped = 0
        self._timeout = queue_timeout
        self._lagging = False
        self._home = Home()
        self._out = Lane[object](queue_size, self._home)
        self._in = Lane[str](queue_size, self._home)
        self._callback: Callback | None = None
        self._calling = asyncio.Lock()
        self._suspension = Suspension()
        self._control: AgentControl | None = None
        self._attached = False
        self._asked: object = None
        self._resuming: asyncio.Future[None] | None = None

    # --- the producer's side ---

    async def yield_response(self, response: object) -> None:
        """Give an object to the callback, or put it where the reader finds it.

        A callback is waited for, and what it raises is raised here. See the class for a reader that does not read.

        Raises:
            StreamClosed: `set_queue_done` was called.
            StreamMisused: This is another event loop.
        """
        if self._callback is not None:
            self._check_open()
            async with self._calling:
                answer = self._callback(response)
                if inspect.isawaitable(answer):
                    await answer
        elif await self._out.put(response, 0 if self._lagging else self._timeout):
            self._lagging = False
        else:
            self._drop(response)

    def set_queue_done(self) -> None:
        """Say that nothing more comes: iterations end, both ways, and nobody can suspend the producer any more.

        Raises:
            StreamMisused: This is another event loop.
        """
        self._out.end(DONE)
        self._in.end(DONE)
        self._control = None
        self._suspension.close(DONE)

    def get_producer_input_generator(self) -> AsyncIterator[str]:
        """The texts that are sent to the producer, until no more come.

        Raises:
            StreamMisused: Somebody reads them already; with a run, that is the run.
        """
        self._in.claim("its producer")
        return Reader(self._in)

    async def point(self, tag: str) -> None:
        """Stand here for as long as `wait_to_suspend` asked for it; else return at once.

        Raises:
            StreamMisused: This is another event loop.
        """
        self._home.enter()
        await self._suspension.point(tag)

    def attach(self, control: AgentControl) -> tuple[str, ...]:
        """Serve a run of a live agent from now on: it is what `wait_to_suspend` suspends.

        A suspension that somebody waits for already is asked of the agent; its time begins anew.

        Returns:
            The texts sent so far.

        Raises:
            StreamClosed: It is done.
            StreamMisused: It serves a run already: each takes a stream of its own.
        """
        self._check_open()
        if self._attached:
            raise StreamMisused(reason="it serves a run already; make a new one for each run")
        self._attached = True
        self._control = control
        self._suspension.resume()
        return self._in.take_all()

    def end_input(self, reason: str) -> None:
        """Let no more texts be sent; those that were are still read.

        Raises:
            StreamMisused: This is another event loop.
        """
        self._in.end(reason)

    # --- your side ---

    def get_response_generator(self) -> AsyncIterator[object]:
        """The producer's objects, until it is done. Leaving the iteration is going away: later ones are dropped.

        Raises:
            StreamMisused: An iteration or a callback takes them already.
        """
        self._out.claim("an iteration")
        return Reader(self._out)

    def set_callback_func(self, callback: Callback) -> None:
        """Have a function, sync or async, called with each object, one after the other.

        Set it before the producer begins. The producer waits for it, however long it takes.

        Raises:
            StreamClosed: The producer is done.
            StreamMisused: An iteration or a callback takes the objects already, some wait already to be read by an
                iteration, or this is no function.
        """
        self._check_open()
        if not callable(callback):
            raise StreamMisused(reason=f"a callback is a function, not {type(callback).__name__}")
        if self._out.holds:
            raise StreamMisused(reason="objects wait in it to be iterated; set a callback before the producer begins")
        self._out.claim("a callback")
        self._callback = callback

    async def send_to_producer(self, text: str) -> None:
        """Send a text. With a run it is mail of the user's: it comes to the agent at its next boundary.

        Raises:
            StreamClosed: The producer is done, its run is over, or `send_done_to_producer` was called.
            StreamFull: The producer took nothing for `queue_timeout`, and so many texts wait already.
            StreamMisused: This is no text, or one that no message can carry, or another event loop.
        """
        check_text(text)
        if not await self._in.put(text, self._timeout):
            if self._in.abandoned:
                raise StreamClosed(reason="the producer reads no more")
            raise StreamFull(seconds=self._timeout)

    async def send_done_to_producer(self) -> None:
        """Say that no more texts come.

        Raises:
            StreamMisused: This is another event loop.
        """
        self.end_input("send_done_to_producer() was called")

    async def wait_to_suspend(self, *tags: str, timeout: float | None = None) -> str:  # noqa: ASYNC109
        """Ask the producer to stand still at its next point with one of these tags, and wait until it does.

        The points of an agent are `boundary`, `model` and `tool`. It stands there until `resume`, until it is stopped,
        or until the time of its run is over.

        Args:
            tags: Where it may stand; none: at any point.
            timeout: Seconds it has to get there; after that the request is withdrawn. None: any time.

        Returns:
            The tag of the point where it stands.

        Raises:
            NumberInvalid: The time-out is not above 0.
            SuspendTimedOut: It did not get there in time.
            SuspensionRefused: A suspension is asked for already, was given up by `resume`, or the producer is done; or
                there is no such tag.
            StreamMisused: This is another event loop.
            ChannelClosed: The agent is dead.
        """
        self._home.enter()
        if timeout is not None:
            check_seconds("timeout", timeout)
        for tag in tags:
            if not isinstance(tag, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise SuspensionRefused(reason=f"a tag is a text, not {type(tag).__name__}")
        if self._resuming is not None and not self._resuming.done():
            await asyncio.wait({self._resuming})
        if self._asked is not None:
            raise SuspensionRefused(reason="one is asked for already: resume() ends it")
        asked = self._asked = object()
        try:
            return await self._suspend(tags, timeout)
        except BaseException:
            if self._asked is asked:
                self._asked = None
            raise

    def resume(self) -> Awaitable[None]:
        """Let the producer go on, or give up the request that it has not met; without one, nothing happens.

        It begins at once. Awaiting what this gives tells that the producer was told, or why it could not be.

        Raises:
            StreamMisused: This is another event loop.
        """
        self._home.enter()
        asked, self._asked = self._asked, None
        if asked is not None and self._control is not None:  # others may have asked the agent to stand still as well
            self._resuming = asyncio.ensure_future(self._control.resume_point())
        else:
            self._suspension.resume()
            self._resuming = asyncio.get_running_loop().create_future()
            self._resuming.set_result(None)
        return self._resuming

    async def _suspend(self, tags: tuple[str, ...], timeout: float | None) -> str:  # noqa: ASYNC109
        while True:
            control = self._control
            try:
                if control is None:
                    return await self._suspension.request(tags, timeout)
                return await control.suspend(tags, timeout)
            except SuspensionRefused:
                if control is self._control:
                    raise

    def _drop(self, response: object) -> None:
        """Make room at the cost of the oldest; the first of several says so."""
        kept = not self._out.abandoned
        if kept:
            self._out.take()
            self._out.put_now(response)
        if not self._lagging:
            what = "nobody reads them, the oldest" if kept else "the reader has gone, these"
            log.warning("objects of a stream are dropped: %s first", what)
        self._lagging = True
        self.dropped += 1

    def _check_open(self) -> None:
        self._home.enter()
        if self._out.ended:
            raise StreamClosed(reason=self._out.ended)


def check_text(given: object) -> None:
    """Refuse what cannot be mail.

    Raises:
        StreamMisused: It is no text, or holds half a surrogate pair.
    """
    if not isinstance(given, str):
        raise StreamMisused(reason=f"what is sent to a producer is a text, not {type(given).__name__}")
    try:
        given.encode()
    except UnicodeEncodeError:
        raise StreamMisused(reason="the text holds half a surrogate pair, which no message can carry") from None


def expect_stream(given: object) -> SuspendObjectStream:
    """What is given, if it is a stream.

    Raises:
        StreamExpected: It is something else, a mock for example, on which an iteration would never end.
    """
    if not isinstance(given, SuspendObjectStream):
        raise StreamExpected(given=type(given).__name__)
    return given
