"""Where the pages of all dashboards of this process are at home: NiceGUI, which has one application a process.

A page learns from its request which fleet it is to show, so fleets that are served side by side are never mixed.
NiceGUI belongs to one event loop at a time; a second loop is told so.
"""

import asyncio
from contextlib import AbstractAsyncContextManager

from fastapi import FastAPI, Request
from nicegui import core, ui
from starlette.types import Receive, Scope, Send

from ..gateway.errors import DashboardElsewhere
from ..gateway.feed import Feed
from ..gateway.source import FleetSource
from ..ports import Clock
from .agent_page import agent_page
from .alerts_page import alerts_page
from .budgets_page import budgets_page
from .fleet_page import fleet_page
from .frame import VIEWS
from .messages_page import messages_page
from .seat import Seat

__all__ = ("open_pages",)

SEAT = "amrita_fleet.seat"
"""Under this a request says which fleet it is about."""

BELOW = ("/_nicegui/", "/_nicegui_ws/", "/agent/")

ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#2563eb"/>'
    '<path d="M4 11h8l-1.2 2H5.2zM8 3l4 7H8z" fill="#fff"/></svg>'
)


class Hall:
    """Opens NiceGUI for the first dashboard, and closes it after the last."""

    def __init__(self) -> None:
        """It is closed, and has no pages yet."""
        self._furnished = False
        self._guests = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn = asyncio.Lock()
        self._life: AbstractAsyncContextManager[object] | None = None

    async def enter(self) -> None:
        """One more dashboard is served.

        Raises:
            DashboardElsewhere: One is served from another event loop that runs.
        """
        loop = asyncio.get_running_loop()
        if self._guests and self._loop is not loop:
            if self._loop is not None and not self._loop.is_closed():
                raise DashboardElsewhere
            self._guests = 0  # that loop was closed before its dashboards were
        if self._loop is not loop:
            self._loop, self._turn = loop, asyncio.Lock()
        async with self._turn:
            if not self._guests:
                await self._open()
            self._guests += 1

    async def leave(self) -> None:
        """One less is."""
        async with self._turn:
            self._guests -= 1
            if not self._guests:
                await self._close()

    async def _open(self) -> None:
        """Open NiceGUI in this loop."""
        self._furnish()
        # What socket.io made in an earlier loop is gone with that; it makes it anew for the first connection.
        core.sio.eio.start_service_task = True
        core.sio.eio.service_task_handle = core.sio.eio.service_task_event = None
        life: AbstractAsyncContextManager[object] = core.app.router.lifespan_context(core.app)
        await life.__aenter__()
        self._life = life

    async def _close(self) -> None:
        """Close it."""
        life, self._life = self._life, None
        if life is not None:
            if core.sio.eio.service_task_handle is not None:
                await core.sio.shutdown()
            await life.__aexit__(None, None, None)

    def _furnish(self) -> None:
        """Make the pages known, once in a process."""
        if self._furnished:
            return
        self._furnished = True
        ui.page("/")(overview)
        ui.page("/agent/{name}")(agent)
        ui.page("/messages")(messages)
        ui.page("/budgets")(budgets)
        ui.page("/alerts")(alerts)
        ui.run_with(FastAPI(), title="Amrita Fleet", favicon=ICON, dark=None, show_welcome_message=False)


HALL = Hall()
"""NiceGUI has its application as a global of the process, so what keeps count of its users has to be one as well."""


class SeatedPages:
    """The pages of one fleet."""

    def __init__(self, seat: Seat) -> None:
        """Show what is seen from there."""
        self._seat = seat

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await core.app({**scope, SEAT: self._seat}, receive, send)

    def has(self, path: str) -> bool:
        """Whether a path is one of the pages, or of what they are made of."""
        return path in VIEWS or path == "/favicon.ico" or path.startswith(BELOW)

    async def aclose(self) -> None:
        """Show no more."""
        await self._seat.aclose()
        await HALL.leave()


async def open_pages(source: FleetSource, feed: Feed, clock: Clock) -> SeatedPages:
    """The pages of one fleet.

    Raises:
        DashboardElsewhere: Another event loop of this process serves some.
    """
    await HALL.enter()
    seat = Seat(source, feed, clock)
    seat.open()
    return SeatedPages(seat)


def seat_of(request: Request) -> Seat:
    """Which fleet a request is about."""
    seat = request.scope[SEAT]
    assert isinstance(seat, Seat)  # noqa: S101  the door through which all requests come has put it there
    return seat


def overview(request: Request) -> None:
    """The fleet."""
    fleet_page(seat_of(request))


def agent(request: Request, name: str) -> None:
    """One agent."""
    agent_page(seat_of(request), name)


def messages(request: Request) -> None:
    """Who talks to whom."""
    messages_page(seat_of(request))


def budgets(request: Request) -> None:
    """What is spent."""
    budgets_page(seat_of(request))


def alerts(request: Request) -> None:
    """What went wrong, and what waits for a person."""
    alerts_page(seat_of(request))
