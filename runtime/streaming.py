"""Joins a stream to a run, in the user's process: what happens comes out of it, what is sent into it becomes mail."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from ..protocols.errors import FleetError
from ..protocols.mail import Receipt, ReceiptState
from .control import AgentControl
from .errors import ChannelClosed, RunUnknown
from .run import Run
from .run_suspensions import OVER
from .stream import SuspendObjectStream
from .suspension import Stand

__all__ = ("StreamBridge", "StreamBridges")

log = logging.getLogger(__name__)

PATIENCE = 2.0
"""Seconds an agent has to hear, at the end of a run, that it may go on."""

Send = Callable[[str], Awaitable[Receipt]]


class StreamBridge:
    """Keeps one stream and one run together.

    1. Made before the run is asked for: the stream then has no other reader of its texts.
    2. `begin` gives what the run begins with: the texts sent so far, and where it shall stand still.
    3. `run` puts the run's notices into the stream and sends its texts as mail, from the run's first notice on, so that
       no run before it gets them. A text that was not accepted comes back as its `Receipt`, or as the error that says
       why.
    4. At the end the texts that were sent are mailed, then the `Outcome` comes, or the error that says why there is
       none, and the stream is closed both ways.
    """

    def __init__(self, stream: SuspendObjectStream, send: Send) -> None:
        """Become the reader of the stream's texts.

        Raises:
            StreamMisused: Somebody reads them already, or the stream belongs to another event loop.
        """
        self._stream = stream
        self._send = send
        self._texts = stream.get_producer_input_generator()
        self._begun = asyncio.Event()

    def begin(self, control: AgentControl) -> tuple[tuple[str, ...], Stand | None]:
        """Give the texts that the run begins with, and where it shall stand; `control` is the way to its agent.

        Raises:
            StreamClosed: The stream is done.
        """
        return self._texts.begin(control)

    def over(self) -> None:
        """Take no more texts, and no suspension: the run is over."""
        self._texts.end(OVER)

    async def run(self, run: Run) -> None:
        """Pass on what comes from either side until the run is over.

        Raises:
            Exception: What the stream's callback raised; it then gets nothing more.
        """
        self._texts.serve(run.id)
        carrying = asyncio.create_task(self._carry())
        try:
            async for notice in run:
                self._begun.set()
                await self._stream.yield_response(notice)
            last = await outcome(run)
            self._begun.set()
            await carrying
            await self._stream.yield_response(last)
        finally:
            carrying.cancel()
            await asyncio.gather(carrying, return_exceptions=True)
            await self.close()

    async def close(self) -> None:
        """Close the stream both ways; an agent that stands still because of it goes on."""
        self._stream.set_queue_done()
        self._texts.serve(None)
        try:
            with suppress(FleetError):  # it is dead, or the log says so already
                async with asyncio.timeout(PATIENCE):
                    await self._stream.resume()
        except TimeoutError:
            log.warning("an agent was not told in %g s that it need not stand still for its stream", PATIENCE)

    async def _carry(self) -> None:
        await self._begun.wait()
        async for text in self._texts:
            try:
                answer: Receipt | FleetError = await self._send(text)
            except FleetError as error:
                answer = error
            if not isinstance(answer, Receipt) or answer.state is not ReceiptState.ACCEPTED:
                await self._stream.yield_response(answer)


class StreamBridges:
    """The bridges that stand in this process."""

    def __init__(self) -> None:
        """Begin with none."""
        self._tasks = set[asyncio.Task[None]]()

    def start(self, bridge: StreamBridge, run: Run) -> None:
        """Have one run from now on."""
        task = asyncio.create_task(bridge.run(run))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def aclose(self) -> None:
        """End them; their streams are closed."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a stream was closed before its run was over", exc_info=error)


async def outcome(run: Run) -> object:
    """A run's outcome, or the error that says why there is none."""
    try:
        return await run.outcome()
    except (ChannelClosed, RunUnknown) as error:
        return error
