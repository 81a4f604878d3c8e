"""The API and the pages behind one door."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from starlette.types import ASGIApp, Receive, Scope, Send

from ..ports import Clock
from .feed import Feed
from .source import FleetSource

__all__ = ("Both", "OpenPages", "Pages")


class Pages(Protocol):
    """What a gateway shows to a browser, beside its API."""

    @property
    def app(self) -> ASGIApp:
        """What answers, for HTTP and for WebSocket."""
        ...

    def has(self, path: str) -> bool:
        """Whether a path is theirs."""
        ...

    async def aclose(self) -> None:
        """Show them no longer."""
        ...


OpenPages: TypeAlias = Callable[[FleetSource, Feed, Clock], Awaitable[Pages]]
"""Opens the pages of one fleet."""


class Both:
    """Has each request answered by whom its path belongs to."""

    def __init__(self, api: ASGIApp, pages: Pages | None) -> None:
        """Stand before both; None: there are no pages."""
        self._api = api
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        theirs = self._pages is not None and self._pages.has(scope["path"])
        if self._pages is not None and theirs and (scope["path"] != "/" or wants_page(scope)):
            await self._pages.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close"})
        else:
            await self._api(scope, receive, send)


def wants_page(scope: Scope) -> bool:
    """Whether a browser asks: a program is told where the API is."""
    return any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])
