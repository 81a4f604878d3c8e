"""A stream between a producer and you: its objects come out, your texts go in, and you can make it stand still.

The producer is anything that awaits `yield_response` and `point`, or a run: `AgentRef.start(task, stream=stream)`.
"""

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

from ..protocols.ids import RunId
from .bounded_queue import BoundedQueue, LoopAffinity, Reader
from .control import AgentControl, Relay
from .errors import NumberInvalid
from .given import text_flaw
from .stream_errors import StreamClosed, StreamExpected, StreamFull, StreamMisused, SuspensionRefused
from .suspension import Stand, Suspension, check_seconds

__all__ = ("ProducerEnd", "SuspendObjectStream", "expect_stream")

log = logging.getLogger(__name__)

Callback = Callable[[object], object]
"""Takes each object; where it gives an awaitable, that is awaited."""

DONE = "the producer is done"


class ProducerEnd(Reader[str]):
    """The texts that are sent to a stream's producer, and what a run does with the stream beside reading them."""

    def __init__(
        self, texts: BoundedQueue[str], relay: Relay, suspension: Suspension, check_open: Callable[[], None]
    ) -> None:
        """Read from now on; dropping this object is going away."""
        super().__init__(texts)
        self._relay = relay
        self._suspension = suspension
        self._check_open = check_open

    def begin(self, control: AgentControl) -> tuple[tuple[str, ...], Stand | None]:
        """Have a live agent for the producer, of which a run is about to be asked for.

        Returns:
            What the run begins with: the texts sent so far, and what `wait_to_suspend` waits for already.

        Raises:
            StreamClosed: The stream is done.
            StreamMisused: This is another event loop.
        """
        self._check_open()
        return self._queue.take_all(), self._relay.begin(control)

    def serve(self, run: RunId | None) -> None:
        """Say which run it is, which `wait_to_suspend` suspends from now on; None: nobody knows of one."""
        self._relay.serve(run)

    def end(self, reason: str) -> None:
        """Let no more texts be sent, and no suspension be asked for; texts that were sent are still read.

        Raises:
            StreamMisused: This is another event loop.
        """
        self._queue.end(reason)
        self._suspension.close(reason)


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
        self._affinity = LoopAffinity()
        self._out = BoundedQueue[object](queue_size, self._affinity)
        self._in = BoundedQueue[str](queue_size, self._affinity)
        self._callback: Callback | None = None
        self._calling = asyncio.Lock()
        self._relay = Relay()
        self._suspension = Suspension(self._relay.take)

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
        self._suspension.close(DONE)

    def get_producer_input_generator(self) -> ProducerEnd:
        """The texts that are sent to the producer, until no more come.

        Raises:
            StreamMisused: Somebody reads them already (with a run, that is the run), or this is another event loop.
        """
        self._in.claim("its producer")
        return ProducerEnd(self._in, self._relay, self._suspension, self._check_open)

    async def point(self, tag: str) -> None:
        """Stand here for as long as `wait_to_suspend` asked for it; else return at once.

        Raises:
            StreamMisused: The tag is no text, or this is another event loop.
        """
        self._affinity.enter()
        if flaw := text_flaw(tag):
            raise StreamMisused(reason=f"a tag {flaw}")
        await self._suspension.point(tag)

    # --- your side ---

    def get_response_generator(self) -> AsyncIterator[object]:
        """The producer's objects, until it is done. Leaving the iteration is going away: later ones are dropped.

        Raises:
            StreamMisused: An iteration or a callback takes them already, or this is another event loop.
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
        if flaw := text_flaw(text):
            raise StreamMisused(reason=f"what is sent to a producer {flaw}")
        if not await self._in.put(text, self._timeout):
            if self._in.abandoned:
                raise StreamClosed(reason="the producer reads no more")
            raise StreamFull(seconds=self._timeout)

    async def send_done_to_producer(self) -> None:
        """Say that no more texts come.

        Raises:
            StreamMisused: This is another event loop.
        """
        self._in.end("send_done_to_producer() was called")

    async def wait_to_suspend(self, *tags: str, timeout: float | None = None) -> str:  # noqa: ASYNC109
        """Ask the producer to stand still at its next point with one of these tags, and wait until it does.

        The points of an agent are `boundary`, `model` and `tool`. It stands there until `resume`, until it is stopped,
        or until the time of its run is over. With a run, the agent stands at points of that run, and no other stream's
        suspension of the same agent is touched.

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
        self._affinity.enter()
        for tag in tags:
            if flaw := text_flaw(tag):
                raise SuspensionRefused(reason=f"a tag {flaw}")
        return await self._suspension.request(tags, timeout)

    def resume(self) -> Awaitable[None]:
        """Let the producer go on, or give up the request that it has not met; without one, nothing happens.

        It begins at once. Awaiting what this gives tells that the producer was told, or why it could not be.

        Raises:
            StreamMisused: This is another event loop, or none.
        """
        self._affinity.enter(running=True)
        self._suspension.resume()
        return self._relay.carried

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
        self._affinity.enter()
        if self._out.ended:
            raise StreamClosed(reason=self._out.ended)


def expect_stream(given: object) -> SuspendObjectStream:
    """What is given, if it is a stream.

    Raises:
        StreamExpected: It is something else, a mock for example, on which an iteration would never end.
    """
    if not isinstance(given, SuspendObjectStream):
        raise StreamExpected(given=type(given).__name__)
    return given
