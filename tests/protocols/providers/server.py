"""A provider over a raw socket: it sends the bytes a test gives it, and counts connections."""

import asyncio
import json
from types import TracebackType
from typing import Self

from amrita_fleet.protocols.messages import Json

__all__ = ("HANG", "Server", "completion", "http", "sse")

HANG = b""
"""In a script: say nothing more and keep the connection open."""


def http(status: int, body: str | bytes, *, headers: str = "", content_type: str = "application/json") -> bytes:
    """A whole answer."""
    raw = body.encode() if isinstance(body, str) else body
    lines = f"HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\ncontent-length: {len(raw)}\r\n{headers}\r\n"
    return lines.encode() + raw


def sse(*events: str, whole: bool = True, headers: str = "") -> bytes:
    """A streamed answer of status 200, chunk by chunk; without its end when it is not `whole`."""
    chunks = [f"data: {event}\n\n".encode() for event in events]
    start = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n{headers}\r\n"
    body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return start.encode() + body + (b"0\r\n\r\n" if whole else b"")


def completion(text: str, **fields: Json) -> str:
    """The JSON of a whole answer that says `text`; `fields` replace those of the answer."""
    message: Json = {"role": "assistant", "content": text}
    usage: Json = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    answer: dict[str, Json] = {"id": "c1", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
    return json.dumps(answer | fields)


class Server:
    """Answers request after request with what the test put into `answers`; the last one serves for all that follow.

    After an answer that is in `cut` too, the connection is closed; after a `greeting`, at once.
    """

    def __init__(self) -> None:
        self.answers: list[bytes] = []
        self.cut: set[bytes] = set()
        self.greeting = b""
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.paths: list[str] = []
        self.connections = 0
        self.asked = asyncio.Event()
        self.hung_up = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for writer in self._writers:
            writer.close()
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        port: int = self._server.sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/v1"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        writer.write(self.greeting)
        try:
            while not self.greeting and await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            self.hung_up.set()
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; False when the connection is to be closed after it."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.paths.append(head.split(" ", 2)[1])
        headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
        lower = {name.lower(): value for name, value in headers.items()}
        self.requests.append((lower, await reader.readexactly(int(lower["content-length"]))))
        self.asked.set()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        writer.write(answer)
        await writer.drain()
        return answer not in self.cut
