"""The way to an MCP server, and what is noticed on it: its end, what is no message, a program's last words."""

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO, cast

from ....protocols.secret import Secret
from ..servers import McpHttp, McpServer, McpStdio
from ..text import dumps

if TYPE_CHECKING:
    from httpx2 import Response
    from mcp.client import Transport
    from mcp.client._transport import ReadStream, TransportStreams
    from mcp.shared.message import SessionMessage

__all__ = ("Trace", "transport_to")

WORDS_KEPT = 2000
"""Bytes of what a program wrote last to its standard error."""

LINES_SHOWN = 5
"""Lines of these that an error shows."""

HIDDEN = 4
"""Characters from which a secret is looked for in what a server says; a shorter one would be found in any text."""

LINE_SHOWN = 200
"""Characters of a line that is no message."""

WORDS_PATIENCE = 1.0
"""Seconds to wait for a program's last words once it has ended: a child of its own may hold the pipe open."""

READ_TIMEOUT = 300.0
"""Seconds that a stream of the server's own may be silent, at least."""

BAD_REQUEST = 400
NOT_FOUND = 404
SESSION = "mcp-session-id"

ID = r'"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(?:(?P<number>[0-9]{1,18})|"(?P<name>[^"]*)")\s*'
ANSWER = re.compile(rf'\s*{{\s*{ID},\s*"(?:result|error)"')
ANSWER_FIRST = re.compile(r'\s*{\s*"(?:result|error)"')
ANSWER_LAST = re.compile(rf"{ID}}}\s*$")
"""How a text begins that is meant as an answer, or how it begins and ends: SDKs put the request before or last."""


class Trace:
    """What was noticed on the way to a server.

    Attributes:
        over: Set once no answer can come any more, or none is wanted.
        left: The way back has begun: the SDK closes what it opened, and is not to be disturbed.
        forgotten: The server, a new one at the same address, knows our session no more.
        words: The last that its program wrote to its standard error.
        flaw: The last that was no message.
        secrets: Texts never to be shown.
    """

    def __init__(self) -> None:
        """Nothing was noticed yet."""
        self.over = asyncio.Event()
        self.left = False
        self.forgotten = False
        self.words = b""
        self.flaw = ""
        self.secrets: set[str] = set()

    def revealed(self, values: Mapping[str, str | Secret]) -> dict[str, str]:
        """A server's values as it needs them, here and now.

        Raises:
            PresetInvalid: An environment variable is not set.
        """
        texts = {name: each.reveal(os.environ) for name, each in values.items() if isinstance(each, Secret)}
        long = {each for each in texts.values() if len(each) >= HIDDEN}
        self.secrets |= long | {dumps(each)[1:-1] for each in long}  # and as JSON spells them
        return {name: texts.get(name, str(each)) for name, each in values.items()}

    def last_lines(self) -> list[str]:
        """The last that its program wrote, but for a line whose beginning is lost, which may be a piece of a secret."""
        lines = self.words.decode(errors="replace").splitlines()[len(self.words) == WORDS_KEPT :]
        return [self.masked(line).strip() for line in lines if line.strip()][-LINES_SHOWN:]

    def masked(self, text: str) -> str:
        """The text without any secret: a server may show its environment to whoever asks."""
        for each in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(each, "***")
        return text

    @contextmanager
    def leaving(self) -> Generator[None, None, None]:
        """Note the beginning of the way back."""
        try:
            yield
        finally:
            self.left = True

    async def found(self, response: "Response") -> None:
        """Look at an HTTP answer: whether it says that our session is gone, by 404, or by 400 and in words."""
        if SESSION not in response.request.headers or response.status_code not in {BAD_REQUEST, NOT_FOUND}:
            return
        self.forgotten |= response.status_code == NOT_FOUND or b"session" in (await response.aread()).lower()


class Heard:
    """The messages that come in, passed on."""

    def __init__(self, inner: "ReadStream[SessionMessage | Exception]", trace: Trace) -> None:
        """Keep both."""
        self._inner = inner
        self._trace = trace

    @property
    def last_context(self) -> Any:  # noqa: ANN401  the SDK looks it up without declaring it
        """The sender's context variables."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> "SessionMessage | Exception":
        """The next message, or what came in the place of one."""
        return self._noted(await self._inner.receive())

    def __aiter__(self) -> "Heard":
        """Iterate."""
        return self

    async def __anext__(self) -> "SessionMessage | Exception":
        """The next message, or what came in the place of one."""
        try:
            return self._noted(await self._inner.__anext__())
        except StopAsyncIteration:
            self._trace.over.set()
            raise

    def _noted(self, item: "SessionMessage | Exception") -> "SessionMessage | Exception":
        """What came; in the place of an answer that is no message, the error which says so to who waits for it."""
        if not isinstance(item, Exception):
            return item
        given, why = unreadable(item)
        self._trace.flaw = flaw = repr(self._trace.masked(str(given))[:LINE_SHOWN])
        request = answered(given)
        return item if request is None else refusal(request, f"its answer is no MCP message ({why}): {flaw}")

    async def aclose(self) -> None:
        """Close."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        """Enter."""
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        """Close."""
        return await self._inner.__aexit__(exc_type, exc_val, exc_tb)


def unreadable(error: Exception) -> tuple[object, str]:
    """What was no message, a text or the object that it is the JSON of, and why it is none."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error), type(error).__name__
    errors = error.errors(include_url=False)
    for each in errors:
        if each["type"] == "missing" and isinstance(each["input"], dict):  # a field of the message itself
            return cast("object", each["input"]), "it has no such shape"
    return cast("object", errors[0]["input"]), errors[0]["msg"]


def answered(given: object) -> int | str | None:
    """The request that is answered by what is no message; None: none is, or which one cannot be told."""
    if isinstance(given, dict):
        message = cast("Mapping[str, object]", given)
        request = message.get("id") if message.keys() & {"result", "error"} else None
        return request if isinstance(request, int | str) else None
    text = str(given)
    found = ANSWER.match(text) or (ANSWER_FIRST.match(text) and ANSWER_LAST.search(text[-LINE_SHOWN:]))
    return found and (int(found["number"]) if found["number"] else found["name"])


def refusal(request: int | str, why: str) -> "SessionMessage":
    """The error that a request comes to."""
    from mcp.shared.message import SessionMessage
    from mcp.types import PARSE_ERROR, ErrorData, JSONRPCError

    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=PARSE_ERROR, message=why)))


@asynccontextmanager
async def transport_to(server: McpServer, trace: Trace) -> "AsyncGenerator[TransportStreams]":
    """The SDK's transport to a server, watched. It must be left in the task that entered it.

    Raises:
        PresetInvalid: An environment variable is not set.
        OSError: The program cannot be started.
    """
    if isinstance(server, McpStdio):
        async with last_words(trace) as errors, to_program(server, trace, errors) as (incoming, outgoing):
            with trace.leaving():
                yield Heard(incoming, trace), outgoing
    else:
        async with to_address(server, trace) as (incoming, outgoing):
            with trace.leaving():
                yield Heard(incoming, trace), outgoing


def to_program(server: McpStdio, trace: Trace, errors: TextIO) -> "Transport":
    """A program's standard input and output; it is ended, if need be by force, when this is left."""
    from mcp import StdioServerParameters, stdio_client

    env = trace.revealed(server.env)
    return stdio_client(
        StdioServerParameters(command=server.command, args=list(server.args), env=env, cwd=server.cwd), errlog=errors
    )


@asynccontextmanager
async def to_address(server: McpHttp, trace: Trace) -> "AsyncGenerator[TransportStreams]":
    """Streamable HTTP."""
    from httpx2 import AsyncClient, Timeout
    from mcp.client.streamable_http import streamable_http_client

    timeout = Timeout(server.timeout, read=max(server.timeout, READ_TIMEOUT))
    hooks = {"response": [trace.found]}
    async with (
        AsyncClient(headers=trace.revealed(server.headers), timeout=timeout, event_hooks=hooks) as client,
        streamable_http_client(server.url, http_client=client) as streams,
    ):
        yield streams


@asynccontextmanager
async def last_words(trace: Trace) -> AsyncGenerator[TextIO]:
    """A pipe for a program's standard error, emptied as it fills."""
    outlet, inlet = os.pipe()
    reader, loop = asyncio.StreamReader(), asyncio.get_running_loop()
    with os.fdopen(inlet, "w") as errors, os.fdopen(outlet, "rb", 0) as end:
        pipe, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), end)
        reading = asyncio.create_task(listen(reader, trace))
        try:
            yield errors
        finally:
            errors.close()
            await asyncio.wait({reading}, timeout=WORDS_PATIENCE)
            reading.cancel()
            pipe.close()


async def listen(reader: asyncio.StreamReader, trace: Trace) -> None:
    """Keep the end of what is read."""
    while chunk := await reader.read(WORDS_KEPT):
        trace.words = (trace.words + chunk)[-WORDS_KEPT:]
