"""Lets somebody outside stop an agent, or any producer, at one of its points, and let it go on.

A point is a place in the producer's work, named by a tag, where it can stand for as long as anybody likes. At each it
awaits `point(tag)`, which returns at once unless somebody asked it to stand there.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple
from uuid import uuid4

from .errors import NumberInvalid
from .given import is_duration
from .stream_errors import SuspendTimedOut, SuspensionRefused

__all__ = ("Stand", "SuspendRequest", "Suspension", "check_seconds")


class Stand(NamedTuple):
    """What is asked of a producer, as it travels: to stand still.

    Attributes:
        token: Whose wish this is: that of one request, and nobody else ends it.
        tags: Where it may stand; none: anywhere.
    """

    token: str
    tags: tuple[str, ...] = ()


class SuspendRequest:
    """One suspension that was asked for.

    Attributes:
        stand: Where, and whose wish it is.
        seconds: How long it has to get there; None: any time.
        at: The tag of the point where it stands; empty until it does.
        reached: Told that tag.
        over: Set when the producer may go on.
    """

    def __init__(self, stand: Stand, seconds: float | None = None) -> None:
        """Belong to the running loop."""
        self.stand = stand
        self.seconds = seconds
        self.at = ""
        self.reached: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.over = asyncio.Event()

    def met(self, tag: str) -> None:
        """The producer stands at a point."""
        self.at = self.at or tag
        if not self.reached.done():
            self.reached.set_result(tag)

    def answer(self, said: "asyncio.Task[str]") -> None:
        """Take what a producer elsewhere has said: where it stands, or why it will not."""
        if said.cancelled():
            return
        if (error := said.exception()) is not None:
            self.end(error)
        else:
            self.met(said.result())

    def end(self, error: BaseException) -> None:
        """Let the producer go on; who still waits for it to stand somewhere gets the error."""
        self.over.set()
        if not self.reached.done():
            self.reached.set_exception(error)
            self.reached.exception()  # nobody may be waiting


def unheard(_request: SuspendRequest) -> None:
    """A request that concerns nobody but the producer."""


class Suspension:
    """The piece inside a producer. It belongs to one event loop; only `asked` and `note` may be read from any thread.

    1. `request` asks for a stop and waits until the producer stands at a point. There is one at a time.
    2. The producer's tasks that come to such a point stand there, all of them, until `resume` or `withdraw`.
    3. A task that is cancelled where it stands ends the suspension: a stop or a deadline is stronger.
    4. `close` ends it for good: nobody stands any more, and nobody can ask.
    """

    def __init__(self, told: Callable[[SuspendRequest], None] = unheard) -> None:
        """Begin with nobody asking; `told` gets each request when it is made."""
        self._told = told
        self._request: SuspendRequest | None = None
        self._closed = ""

    @property
    def asked(self) -> bool:
        """Whether somebody asked the producer to stand somewhere; while nobody has, no point needs to be awaited."""
        return self._request is not None

    @property
    def note(self) -> str:
        """What watchers are told: where the producer stands, or is to stand; empty when nobody asked."""
        request = self._request
        if request is None:
            return ""
        return (
            f"suspended at {request.at}"
            if request.at
            else f"to be suspended at {' or '.join(request.stand.tags) or 'any point'}"
        )

    async def request(self, tags: tuple[str, ...] = (), timeout: float | None = None) -> str:  # noqa: ASYNC109
        """Wait until the producer stands at a point with one of the tags, or, with none, at any point.

        Args:
            tags: Where it may stand.
            timeout: Seconds it has to get there; after that the request is withdrawn. None: any time.

        Returns:
            The tag of the point where it stands. It stays there until `resume`.

        Raises:
            NumberInvalid: The time-out is not above 0.
            SuspendTimedOut: It did not get there in time.
            SuspensionRefused: A suspension is asked for already, was given up by `resume`, or can never be.
        """
        return await self.reached(Stand(uuid4().hex, tags), timeout)

    async def reached(self, stand: Stand, timeout: float | None = None) -> str:  # noqa: ASYNC109
        """Wait as `request` does, for a request that has a token; one that was made with it is this one."""
        if timeout is not None:
            check_seconds("timeout", timeout)
        request = self.ask(stand, timeout)
        try:
            async with asyncio.timeout(timeout):
                return await request.reached
        except TimeoutError:
            self._end(request, "")
            raise SuspendTimedOut(tags=stand.tags, seconds=timeout or 0.0) from None
        except BaseException:  # who asked is gone, and nobody else would let the producer go on
            self._end(request, "")
            raise

    def ask(self, stand: Stand, seconds: float | None = None) -> SuspendRequest:
        """Have the producer stand from now on, without waiting for that; what was asked for is given once more.

        Raises:
            SuspensionRefused: Another suspension is asked for already, or there can never be one.
        """
        if self._closed:
            raise SuspensionRefused(reason=self._closed)
        if self._request is None:
            self._request = SuspendRequest(stand, seconds)
            self._told(self._request)
        elif self._request.stand.token != stand.token:
            raise SuspensionRefused(reason="one is asked for already: resume() ends it")
        return self._request

    def resume(self) -> None:
        """Let the producer go on, or give up a request that it has not met yet; without one, nothing happens."""
        if self._request is not None:
            self.withdraw(self._request.stand.token)

    def withdraw(self, token: str) -> None:
        """Do what `resume` does, unless there is another request than that with this token."""
        if self._request is not None and self._request.stand.token == token:
            self._end(self._request, "it was given up before the producer came to such a point")

    def close(self, reason: str) -> None:
        """Let the producer go on for good; `reason` is what those are told who ask, or have asked."""
        self._closed = self._closed or reason
        if self._request is not None:
            self._end(self._request, self._closed)

    async def point(self, tag: str) -> None:
        """Stand here if somebody asked for it. The producer awaits this at each of its points."""
        request = self._request
        if request is None or (request.stand.tags and tag not in request.stand.tags):
            return
        request.met(tag)
        try:
            await request.over.wait()
        except asyncio.CancelledError:
            self._end(request, "")
            raise

    def _end(self, request: SuspendRequest, reason: str) -> None:
        """End a suspension, unless a later one has taken its place."""
        request.end(SuspensionRefused(reason=reason))
        if self._request is request:
            self._request = None


def check_seconds(name: str, seconds: object) -> None:
    """Refuse a time-out in which nothing can happen.

    Raises:
        NumberInvalid: It is no number, or not above 0.
    """
    if not is_duration(seconds):
        reason = "nothing can happen in no time: give it a moment, such as 0.001 seconds"
        raise NumberInvalid(name=name, given=repr(seconds), reason=reason)
