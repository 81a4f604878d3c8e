"""The short way to the journal's actor for processes on its node: additions go over a connection of their own.

A call by Ray passes through the caller's and the actor's core workers, four changes of thread each way, and who waits
for the disk before every answer pays that every time.
"""

import asyncio
import logging
from typing import NamedTuple
from weakref import WeakKeyDictionary

import ray

from ..runtime.journal.door import Address
from ..runtime.journal.line import JournalLine

__all__ = ("Door", "JournalLines", "this_node")

log = logging.getLogger(__name__)


class Door(NamedTuple):
    """Where the door of the journal's actor is, and on which node of Ray's."""

    node: str
    address: Address


class Opening(NamedTuple):
    """A line that is being opened or is open, and to which door. The task gives None where nobody was there."""

    door: Door
    line: asyncio.Task[JournalLine | None]


class JournalLines:
    """Lines to the newest known door, one for each event loop of this process that adds to the journal."""

    def __init__(self) -> None:
        """Know no door: whoever goes the long way is told."""
        self._door: Door | None = None
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, Opening] = WeakKeyDictionary()

    def learn(self, door: Door | None) -> None:
        """Know the door of the newest process. Only one on this node is of use."""
        if door is not None and door != self._door:
            self._door = door if door.node == this_node() else None

    async def add(self, addition: bytes) -> bool:
        """Whether an encoded `Addition` was written this way; else it is to be asked for the long way."""
        if self._door is None:
            return False
        line = await self._line(self._door)
        return line is not None and await line.add(addition)

    async def aclose(self) -> None:
        """Hang up the line of this event loop."""
        opening = self._lines.pop(asyncio.get_running_loop(), None)
        if opening is not None and (line := await opening.line) is not None:
            line.close()

    async def _line(self, door: Door) -> JournalLine | None:
        """This loop's line to the door. Who is cancelled while it is opened leaves it to the others."""
        loop = asyncio.get_running_loop()
        opening = self._lines.get(loop)
        if opening is None or opening.door != door:
            opening = self._lines[loop] = Opening(door, loop.create_task(opened(door)))
        return opening.line.result() if opening.line.done() else await asyncio.shield(opening.line)


async def opened(door: Door) -> JournalLine | None:
    """A line to the door; None where nobody is there any more."""
    try:
        return await JournalLine.open(door.address)
    except OSError as error:
        log.info("records go to the journal's actor by Ray, for its door does not answer: %s", error)
        return None


def this_node() -> str:
    """Ray's id of the node that this process is on."""
    return ray.get_runtime_context().get_node_id()
