"""Lets somebody outside stop an agent, or any producer, at one of its points, and let it go on.

A point is a place in the producer's work, named by a tag, where it can stand for as long as anybody likes. At each it
awaits `point(tag)`, which returns at once unless somebody asked it to stand there.
"""

import asyncio

from .errors import NumberInvalid
from .stream_errors import SuspendTimedOut, SuspensionRefused

__all__ = ("Suspension", "check_seconds")


class Wish:
    """One suspension that was asked for.

    Attributes:
        tags: Where the producer may stand; none: anywhere.
        at: The tag of the point where it stands; empty until it does.
        reached: Told that tag.
        over: Set when the producer may go on.
    """

    def __init__(self, tags: tuple[str, ...]) -> None:
        """Belong to the running loop."""
        self.tags = tags
        self.at = ""
        self.reached: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.over = asyncio.Event()

    def met(self, tag: str) -> None:
        """The producer stands at a point."""
        self.at = self.at or tag
        if not self.reached.done():
            self.reached.set_result(tag)

    def end(self, error: Exception) -> None:
        """Let the producer go on; who still waits for it to stand somewhere gets the error."""
        self.over.set()
        if not self.reached.done():
            self.reached.set_exception(error)


class Suspension:
    """The piece inside a producer. It belongs to one event loop; only `asked` and `note` may be read from any thread.

    1. `request` asks for a stop and waits until the producer stands at a point.
    2. The producer's tasks that come to such a point stand there, all of them, until `resume`.
    3. A task that is cancelled where it stands ends the suspension: a stop or a deadline is stronger.
    4. `close` ends it for good: nobody stands any more, and nobody can ask.
    """

    def __init__(self) -> None:
        """Begin with nobody asking."""
        self._wish: Wish | None = None
        self._closed = ""

    @property
    def asked(self) -> bool:
        """Whether somebody asked the producer to stand somewhere; while nobody has, no point needs to be awaited."""
        return self._wish is not None

    @property
    def note(self) -> str:
        """What watchers are told: where the producer stands, or is to stand; empty when nobody asked."""
        wish = self._wish
        if wish is None:
            return ""
        return f"suspended at {wish.at}" if wish.at else f"to be suspended at {' or '.join(wish.tags) or 'any point'}"

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
        if timeout is not None:
            check_seconds("timeout", timeout)
        if self._closed:
            raise SuspensionRefused(reason=self._closed)
        if self._wish is not None:
            raise SuspensionRefused(reason="one is asked for already: resume() ends it")
        wish = self._wish = Wish(tags)
        try:
            async with asyncio.timeout(timeout):
                return await wish.reached
        except TimeoutError:
            self._end(wish, "")
            raise SuspendTimedOut(tags=tags, seconds=timeout or 0.0) from None
        except BaseException:  # who asked is gone, and nobody else would let the producer go on
            self._end(wish, "")
            raise

    def resume(self) -> None:
        """Let the producer go on, or give up a request that it has not met yet; without one, nothing happens."""
        if self._wish is not None:
            self._end(self._wish, "it was given up before the producer came to such a point")

    def close(self, reason: str) -> None:
        """Let the producer go on for good; `reason` is what those are told who ask, or have asked."""
        self._closed = self._closed or reason
        if self._wish is not None:
            self._end(self._wish, self._closed)

    async def point(self, tag: str) -> None:
        """Stand here if somebody asked for it. The producer awaits this at each of its points."""
        wish = self._wish
        if wish is None or (wish.tags and tag not in wish.tags):
            return
        wish.met(tag)
        try:
            await wish.over.wait()
        except asyncio.CancelledError:
            self._end(wish, "")
            raise

    def _end(self, wish: Wish, reason: str) -> None:
        """End a suspension, unless a later one has taken its place."""
        wish.end(SuspensionRefused(reason=reason))
        if self._wish is wish:
            self._wish = None


def check_seconds(name: str, seconds: object) -> None:
    """Refuse a time-out in which nothing can happen.

    Raises:
        NumberInvalid: It is no number, or not above 0.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:  # nan is not above 0
        reason = "nothing can happen in no time: give it a moment, such as 0.001 seconds"
        raise NumberInvalid(name=name, given=repr(seconds), reason=reason)
