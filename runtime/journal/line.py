"""A connection to a journal's door (`door.py`), as who adds to the journal sees it."""

import asyncio
from itertools import count
from typing import cast

from .door import ANSWER, HEAD, HOST, LARGEST, Address

__all__ = ("JournalLine",)


class JournalLine(asyncio.Protocol):
    """Adds to a journal over one connection. It belongs to one event loop.

    A line that broke stays broken: whoever has it adds the other way.
    """

    def __init__(self, key: bytes) -> None:
        """Begin without a connection; `open` makes one. The key is shown first."""
        self._key = key
        self._numbers = count()
        self._asked: dict[int, asyncio.Future[bool]] = {}
        self._read = bytearray()
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def open(cls, address: Address) -> "JournalLine":
        """Connect, and show the key.

        Raises:
            OSError: Nobody is there.
        """
        _, line = await asyncio.get_running_loop().create_connection(lambda: cls(address.key), HOST, address.port)
        return line

    async def add(self, addition: bytes) -> bool:
        """Ask for an encoded `Addition`; gives whether its records are there for good.

        Where they are not, or that is unknown because the line broke, the same is to be asked for the other way.
        """
        if self._transport is None or len(addition) > LARGEST:
            return False
        number = next(self._numbers) & 0xFFFF_FFFF
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        self._transport.writelines((HEAD.pack(len(addition), number), addition))
        try:
            return await answer
        finally:
            self._asked.pop(number, None)

    def close(self) -> None:
        """Hang up; what was asked for may be done nevertheless."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Add over it from now on."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._key)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  asyncio's
        """Nobody knows what became of what is not answered."""
        self._transport = None
        for answer in self._asked.values():
            if not answer.done():
                answer.set_result(False)

    def data_received(self, data: bytes) -> None:
        """Tell those whose answers these are."""
        self._read += data
        whole = len(self._read) // ANSWER.size * ANSWER.size
        number: int
        written: bool
        for number, written in ANSWER.iter_unpack(self._read[:whole]):
            answer = self._asked.get(number)
            if answer is not None and not answer.done():
                answer.set_result(written)
        del self._read[:whole]
