"""A server that sends a recorded answer byte for byte, in chunks of random sizes."""

import asyncio
import random
from http import HTTPStatus
from itertools import pairwise
from types import TracebackType
from typing import Final, Self

from .recording import Recording

__all__ = ("ReplayServer", "cut")

PIECES: Final = 40
"""At most so many chunks an answer: where single bytes are cut off is tried without a socket, in `test_cuts`."""


def cut(body: bytes, chance: random.Random) -> list[bytes]:
    """The body in pieces, none of them empty."""
    cuts = sorted({chance.randrange(1, len(body)) for _ in range(chance.randrange(PIECES))})
    return [body[start:end] for start, end in pairwise([0, *cuts, len(body)])]


class ReplayServer:
    """Answers every request with one recording."""

    def __init__(self, recording: Recording, seed: int) -> None:
        self._recording = recording
        self._chance = random.Random(seed)  # noqa: S311
        self.requests: list[bytes] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.partition("content-length:")[2].partition("\r\n")[0])
            self.requests.append(await reader.readexactly(length))
            await self._answer(writer)
        finally:
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter) -> None:
        recording = self._recording
        phrase = HTTPStatus(recording.status).phrase if recording.status in set(HTTPStatus) else "Overloaded"
        lines = [f"HTTP/1.1 {recording.status} {phrase}", "transfer-encoding: chunked", "connection: close"]
        lines += [f"{name}: {value}" for name, value in recording.headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        for chunk in cut(recording.sent, self._chance):
            writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            await writer.drain()
            # Lets the reader run, so that it meets the chunks one by one and not as one large block.
            await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
