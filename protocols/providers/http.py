"""The one sender: it drives an adapter over HTTP with httpx, one attempt a call.

httpx is imported at the first call, never before: an agent that was only spawned does not pay for it. Requests go
straight to a transport. What a client adds to it (merging, cookies, redirects, authentication flows) is not wanted
here and costs a third of the CPU of a round.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from ..errors import AuthRefused, BadRequest, PresetInvalid, ProviderError, ProviderUnreachable, StreamBroken
from ..messages import Reply, Turn
from .base import Adapter, Draft, ToolSchema, Watcher

if TYPE_CHECKING:
    import httpx

__all__ = ("HttpProvider",)

CONNECT = 10.0
"""Seconds a connection may take to be made; never more than half the call, so that its failure is known as such."""

KEPT = 60.0
"""Seconds an idle connection is kept: most tools are done by then."""

LINGER = 0.1
"""Seconds the end of a body may take after the end of the answer in it; then its connection can serve again."""

SHORT_KEY = 8
"""Characters; a shorter key is a placeholder, and would be found by chance in any text."""

FIXED_HEADERS: Final = {"user-agent": "amrita-fleet", "accept": "*/*", "accept-encoding": "identity"}


@dataclass(frozen=True, slots=True)
class Line:
    """An open way to the provider.

    Attributes:
        transport: Makes the calls and keeps the connections.
        url: Where requests go.
        headers: What each request says, but its length.
        key: The key in them; empty when there is none.
    """

    transport: "httpx.AsyncHTTPTransport"
    url: "httpx.URL"
    headers: tuple[tuple[bytes, bytes], ...] = field(repr=False)
    key: str = field(repr=False)


class HttpProvider:
    """Makes model calls over HTTP/1.1. One object serves one agent and keeps its own connections."""

    def __init__(self, adapter: Adapter) -> None:
        """Keep the adapter; nothing is opened before the first call."""
        self._adapter = adapter
        self._line: Line | None = None

    def draft(self, turns: tuple[Turn, ...], tools: tuple[ToolSchema, ...], before: Draft | None) -> Draft:
        """Write the request. `before` is an earlier draft of this provider: what is the same is used again."""
        return self._adapter.draft(turns, tools, before)

    async def call(self, draft: Draft, output: int, watch: Watcher | None = None) -> Reply:
        """Make exactly one attempt, with at most `output` tokens of output.

        Raises:
            ProviderError: The provider refused or failed.
        """
        limit = self._adapter.preset.config.timeout
        try:
            async with asyncio.timeout(limit):
                reply = await self._attempt(draft, draft.body(output), watch)
        except TimeoutError:
            sentence = f"{self._address} gave no whole answer within {limit:g} s."
            raise self._quotable(StreamBroken(sentence=sentence)) from None
        except ProviderError as error:
            raise self._quotable(error) from None
        return reply if reply.request_id else replace(reply, request_id=own_id())

    async def aclose(self) -> None:
        """Close connections. Safe to call twice."""
        line, self._line = self._line, None
        if line:
            await line.transport.aclose()

    @property
    def _address(self) -> str:
        """The base URL as people may see it."""
        scheme, _, rest = self._adapter.preset.base_url.partition("?")[0].partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]}"

    async def _attempt(self, draft: Draft, body: bytes, watch: Watcher | None) -> Reply:
        import httpx

        line = self._line = self._line or self._open()
        patience = min(CONNECT, self._adapter.preset.config.timeout / 2)
        request = httpx.Request(
            "POST",
            line.url,
            headers=[*line.headers, (b"content-length", b"%d" % len(body))],
            stream=httpx.ByteStream(body),
            extensions={"timeout": {"connect": patience}},
        )
        try:
            response = await line.transport.handle_async_request(request)
            try:
                return await self._read(response, draft, watch)
            finally:
                await response.aclose()
        except httpx.RequestError as error:
            raise explain(error, self._address, patience) from None

    def _open(self) -> Line:
        """Get ready for calls.

        Raises:
            AuthRefused: There is no key where the preset says, or one that cannot be sent.
            BadRequest: The address or the proxy cannot be used.
        """
        import httpx

        preset = self._adapter.preset
        try:
            headers = FIXED_HEADERS | self._adapter.headers(os.environ)
            key = preset.api_key.reveal(os.environ)
        except PresetInvalid as error:
            raise AuthRefused(sentence=str(error)) from None
        try:
            base = httpx.URL(preset.base_url)
            url = base.copy_with(path=base.path.rstrip("/") + self._adapter.path)
            transport = httpx.AsyncHTTPTransport(
                verify=tls(url.scheme), proxy=proxy_for(url), limits=httpx.Limits(keepalive_expiry=KEPT)
            )
        except (httpx.InvalidURL, ValueError, ImportError) as error:
            raise BadRequest(sentence=f"{self._address} cannot be called: {error}") from None
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        return Line(transport, url, ((b"host", url.netloc), *encoded), key)

    async def _read(self, response: "httpx.Response", draft: Draft, watch: Watcher | None) -> Reply:
        headers = dict(response.headers.items())
        if response.status_code != HTTPStatus.OK:
            raise self._adapter.refusal(response.status_code, headers, await whole(response))
        # What came decides, not what was asked for: some servers always stream, others never do.
        kind = headers.get("content-type", "")
        if "event-stream" in kind or (self._adapter.preset.config.stream and "json" not in kind):
            return await self._read_stream(response, headers, draft, watch)
        return self._adapter.reply(headers, await whole(response), draft)

    async def _read_stream(
        self, response: "httpx.Response", headers: dict[str, str], draft: Draft, watch: Watcher | None
    ) -> Reply:
        import httpx

        reader = self._adapter.stream(headers, draft)
        try:
            async with asyncio.timeout(None) as linger:
                async for chunk in response.aiter_bytes():
                    for delta in reader.feed(chunk):
                        if watch:
                            watch(delta)
                    if reader.done and linger.when() is None:
                        linger.reschedule(asyncio.get_running_loop().time() + LINGER)
        except (TimeoutError, httpx.RequestError):
            # Once the answer is whole, it does not matter what becomes of its connection.
            if not reader.done:
                raise
        return reader.close()

    def _quotable(self, error: ProviderError) -> ProviderError:
        """The error with an id, and its words without the key that some providers repeat in theirs."""
        key = self._line.key if self._line else ""
        sentence = error.sentence.replace(key, "***") if len(key) >= SHORT_KEY else error.sentence
        return error.quoted(sentence, error.request_id or own_id())


def own_id() -> str:
    """An id of ours, for what a provider gave none."""
    return f"local-{uuid4().hex}"


async def whole(response: "httpx.Response") -> bytes:
    """The body. Where nothing is to be decoded, httpx's decoders are passed by."""
    if "content-encoding" in response.headers or not isinstance(response.stream, AsyncIterable):
        return await response.aread()
    return b"".join([chunk async for chunk in response.stream])


@cache
def tls(scheme: str) -> ssl.SSLContext:
    """The one TLS context of this process for a scheme; making one costs 30 ms, so all providers share it.

    For http it holds no certificates, which are most of its memory, and verifies nothing.
    """
    import httpx

    return httpx.create_ssl_context() if scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def proxy_for(url: "httpx.URL") -> str | None:
    """The proxy that the environment names for an address; never one for this machine itself."""
    from urllib.request import getproxies, proxy_bypass

    if url.host in {"localhost", "127.0.0.1", "::1"} or proxy_bypass(url.host):
        return None
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


def explain(error: "httpx.RequestError", address: str, patience: float) -> ProviderError:
    """What went wrong with the connection, in plain words; `patience` is what connecting was given, in seconds."""
    import httpx

    match error:
        case httpx.ConnectTimeout():
            return ProviderUnreachable(sentence=f"{address} did not accept a connection within {patience:g} s.")
        case httpx.ProxyError():
            return ProviderUnreachable(sentence=f"{address} cannot be reached: the proxy answered {error}.")
        case httpx.ConnectError() | httpx.UnsupportedProtocol():
            return ProviderUnreachable(sentence=f"{address} {unreachable(error)}.")
        case httpx.LocalProtocolError():
            # Its text may hold the header, and the header the key.
            return BadRequest(sentence="A header of the request cannot be sent: see ModelPreset.extra_headers.")
        case httpx.DecodingError():
            return StreamBroken(sentence=f"{address} sent an answer whose compression is broken.")
        case _:
            return StreamBroken(sentence=f"{address} closed the connection before its answer was whole.")


def unreachable(error: BaseException) -> str:
    """Why no connection was made."""
    for cause in causes(error):
        match cause:
            case ConnectionRefusedError():
                return "refused the connection"
            case socket.gaierror():
                return "has a host name that cannot be found"
            case ssl.SSLCertVerificationError():
                return f"has a certificate that cannot be trusted: {cause.verify_message}"
            case ssl.SSLError():
                return "does not speak TLS as it should"
            case _:
                continue
    return "cannot be reached"


def causes(error: BaseException) -> Iterator[BaseException]:
    """An error and all it came from; several addresses of one name are tried together and fail as a group."""
    yield error
    together: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    behind = error.__cause__ or error.__context__
    for inner in (*together, behind) if behind else together:
        yield from causes(inner)
