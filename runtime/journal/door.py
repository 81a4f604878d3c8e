"""A door of the journal for those on its own machine: additions over a loopback connection, without Ray between.

Who knows the door's `Address` opens a `JournalLine` (`line.py`). On the connection:

- The line sends the door's key first, `KEY` bytes. Who sends another one is sent away.
- Then additions follow, each behind a `HEAD`: its length, and a number that the line gave it.
- Each is answered, in any order, by an `ANSWER`: that number, and whether the records are there for good.

What is not written is not explained: the line's owner asks again the other way, where errors arrive as they are. That
changes nothing, for an addition may be asked for any number of times.
"""

import asyncio
import hmac
import logging
import secrets
import struct
from typing import NamedTuple, cast

from ...protocols.codec import decode
from ..ports import Journal

__all__ = ("ANSWER", "HEAD", "KEY", "LARGEST", "MOST_LINES", "Addition", "Address", "JournalDoor", "add")

log = logging.getLogger(__name__)

HOST = "127.0.0.1"

KEY = 32
"""Bytes of a door's key."""

HEAD = struct.Struct(">II")
"""Before each addition: how many bytes it has, and its number on this line."""

ANSWER = struct.Struct(">I?")
"""To each addition: its number, and whether it is written."""

LARGEST = 64 * 1024 * 1024
"""Bytes of an addition that a door takes; a larger one goes the other way."""

MOST_LINES = 512
"""Connections that a door holds. Who comes later is sent away, and goes the other way."""

PATIENCE = 5.0
"""Seconds in which a new connection must have shown the key."""


class Addition(NamedTuple):
    """What `Journal.append` takes, in one piece: Ray packs each argument of a call for itself, which costs a fifth."""

    stream: str
    incarnation: int
    first: int
    records: tuple[bytes, ...]
    snapshot: bool


class Address(NamedTuple):
    """Where a door is: a port of the machine's loopback address, and the key that opens it."""

    port: int
    key: bytes


async def add(journal: Journal, addition: bytes) -> None:
    """Add what an encoded `Addition` says.

    Raises:
        DecodeError: It is none.
        FleetError: What `Journal.append` raises.
    """
    stream, incarnation, first, records, snapshot = decode(addition, Addition)
    await journal.append(stream, incarnation, first, records, snapshot=snapshot)


class JournalDoor:
    """The door of one journal. It belongs to one event loop, which is the journal's.

    Attributes:
        address: Where it is.
        journal: What is added to.
        lines: Who has come in, or is about to.
        adding: What is being added.
    """

    def __init__(self, journal: Journal, server: asyncio.Server | None = None) -> None:
        """Make one; `open` lets others in."""
        self.journal = journal
        self.address = Address(0, secrets.token_bytes(KEY))
        self.lines: set[Visitor] = set()
        self.adding: set[asyncio.Task[None]] = set()
        self._server = server

    async def open(self) -> None:
        """Wait for lines from now on.

        Raises:
            OSError: This machine has no loopback address, or no port left.
        """
        self._server = await asyncio.get_running_loop().create_server(lambda: Visitor(self), HOST, 0)
        self.address = self.address._replace(port=self._server.sockets[0].getsockname()[1])

    async def aclose(self) -> None:
        """Let nobody in any more, answer what was asked, and hang up."""
        if self._server is not None:
            self._server.close()
        if self.adding:
            await asyncio.wait(self.adding)
        for line in tuple(self.lines):
            line.hang_up()


class Visitor(asyncio.Protocol):
    """One connection, as the door sees it."""

    def __init__(self, door: JournalDoor) -> None:
        """Know the door."""
        self._door = door
        self._known = False
        self._read = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection, if there is room, for as long as it takes to show the key."""
        self._line = cast("asyncio.Transport", transport)
        if len(self._door.lines) >= MOST_LINES:
            log.warning("the journal's door has %d lines, and takes no more", MOST_LINES)
            self._line.close()
            return
        self._door.lines.add(self)
        self._doubt = asyncio.get_running_loop().call_later(PATIENCE, self._line.abort)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  asyncio's
        """Forget it. What it asked for is done nevertheless."""
        if self in self._door.lines:
            self._door.lines.remove(self)
            self._doubt.cancel()

    def data_received(self, data: bytes) -> None:
        """Take the key, then one addition after the other."""
        self._read += data
        if not self._known and not self._introduced():
            return
        while len(self._read) >= HEAD.size:
            length, number = HEAD.unpack_from(self._read)
            if length > LARGEST:
                log.warning("somebody wanted to add %d bytes at once to the journal, and was sent away", length)
                self._line.abort()
                return
            end = HEAD.size + length
            if len(self._read) < end:
                return
            self._begin(number, bytes(self._read[HEAD.size : end]))
            del self._read[:end]

    def hang_up(self) -> None:
        """Send what is to be sent, and no more."""
        self._line.close()

    def _introduced(self) -> bool:
        """Whether the key has been shown. Another one ends the connection."""
        if len(self._read) < KEY:
            return False
        self._known = hmac.compare_digest(bytes(self._read[:KEY]), self._door.address.key)
        self._doubt.cancel()
        if self._known:
            del self._read[:KEY]
        else:
            log.warning("somebody without its key was sent away from the journal's door")
            self._line.abort()
        return self._known

    def _begin(self, number: int, addition: bytes) -> None:
        """Add it beside all others."""
        task = asyncio.get_running_loop().create_task(self._add(number, addition))
        self._door.adding.add(task)
        task.add_done_callback(self._door.adding.discard)

    async def _add(self, number: int, addition: bytes) -> None:
        """Add it, and say whether it is there for good."""
        try:
            await add(self._door.journal, addition)
        except Exception as refusal:  # noqa: BLE001  whatever it is, it is raised where the same is asked again
            log.debug("not added by the journal's door: %s", refusal)
            self._line.write(ANSWER.pack(number, False))  # noqa: FBT003  struct's
        else:
            self._line.write(ANSWER.pack(number, True))  # noqa: FBT003
