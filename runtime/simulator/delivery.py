"""How the bytes of an answer reach the client: in which pieces, and where they stop."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from starlette.types import Receive, Scope, Send

from .modes import Active

__all__ = ("Delivery", "HangUp", "stream_chunks", "upto")

COMMENT = ": keep-alive\n\n"

HangUp = Callable[[tuple[str, int]], None]
"""Closes the connection of the client at an address."""


def stream_chunks(events: Iterable[str], active: Active, failure: str) -> Iterator[bytes]:
    """The chunks of a stream.

    Args:
        events: Server-sent events, each with its blank line.
        active: Faults that hit the answer.
        failure: The event that says the stream has failed.
    """
    whole = list(events)
    if "error" in active:
        whole[min(int(active["error"]), len(whole) - 1) :] = [failure]
    for event in whole:
        yield encoded(COMMENT + event if "comments" in active else event, active)


def encoded(event: str, active: Active) -> bytes:
    """An event as bytes; JSON holds no line end of its own."""
    return (event.replace("\n", "\r\n") if "crlf" in active else event).encode(errors="replace")


def upto(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """The first `limit` bytes of the chunks."""
    for chunk in chunks:
        if limit <= 0:
            return
        yield chunk[:limit]
        limit -= len(chunk)


class Delivery:
    """An answer of status 200 as an ASGI application."""

    def __init__(self, chunks: Iterable[bytes], headers: Mapping[str, str], *, active: Active, hang_up: HangUp) -> None:
        """Send `chunks`, as far as the faults let them."""
        ends = [int(active[name]) for name in ("cut", "end") if name in active]
        self._chunks = upto(chunks, min(ends)) if ends else chunks
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        self._active = active
        self._hang_up = hang_up

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await send({"type": "http.response.start", "status": 200, "headers": self._headers})
        for chunk in self._chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        if "cut" in self._active:
            self._hang_up(scope["client"])
        if "cut" in self._active or "open" in self._active:
            await receive()  # the request was read, so what comes now is that the client has gone
        await send({"type": "http.response.body", "body": b""})
