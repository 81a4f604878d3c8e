"""The gateway's door stands before the pages, what they are made of, and their WebSocket."""

import asyncio
import re
import threading

import httpx
import pytest
from nicegui import core
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from amrita_fleet import Fleet
from amrita_fleet.runtime.gateway.errors import DashboardElsewhere

from ..gateway.house import House, house

pytestmark = pytest.mark.anyio

SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
HTML = {"Accept": "text/html"}


async def cookie_of(at: House) -> str:
    """The cookie that a browser gets by the link."""
    async with at.stranger() as browser:
        given = await browser.get("/", params={"token": at.token})
        return str(given.headers["set-cookie"]).partition(";")[0]


def address(at: House) -> str:
    return str(at.client.base_url).replace("http://", "ws://").rstrip("/") + SOCKET


async def status_of(at: House, **headers: str) -> int:
    """How a WebSocket is answered: 101 if it is let in."""
    try:
        async with connect(address(at), additional_headers=headers, proxy=None):
            return 101
    except InvalidStatus as error:
        return error.response.status_code


@pytest.mark.parametrize(
    "path", ["/", "/alerts", "/agent/ana", "/favicon.ico", "/_nicegui/", "/_nicegui_ws/socket.io/"]
)
async def test_no_page_and_nothing_it_is_made_of_is_had_without_the_token(path: str) -> None:
    async with house() as at, at.stranger(**HTML) as stranger:
        assert (await stranger.get(path)).status_code == httpx.codes.UNAUTHORIZED


async def test_a_websocket_is_refused_without_the_token_and_let_in_with_it() -> None:
    async with house() as at:
        assert await status_of(at) == 403
        assert await status_of(at, Authorization="Bearer wrong") == 403
        assert await status_of(at, Authorization=f"Bearer {at.token}") == 101


async def test_a_websocket_with_the_cookie_needs_an_origin_that_is_the_gateways_own() -> None:
    async with house() as at:
        cookie, origin = await cookie_of(at), str(at.client.base_url).rstrip("/")
        assert await status_of(at, Cookie=cookie) == 403
        assert await status_of(at, Cookie=cookie, Origin="https://evil.example") == 403
        assert await status_of(at, Cookie=cookie, Origin=origin) == 101


async def test_a_websocket_anywhere_else_is_refused() -> None:
    async with house() as at:
        url = address(at).replace(SOCKET, "/api/events")
        with pytest.raises(InvalidStatus):
            async with connect(url, additional_headers={"Authorization": f"Bearer {at.token}"}, proxy=None):
                pass


async def test_a_browser_gets_pages_that_load_nothing_from_elsewhere_and_a_program_is_told_of_the_api() -> None:
    async with house() as at:
        for path in ("/", "/agent/ana", "/messages", "/budgets", "/alerts"):
            found = await at.client.get(path, headers=HTML)
            assert found.status_code == httpx.codes.OK
            assert found.headers["content-type"].startswith("text/html")
            assert found.headers["cache-control"] == "no-store"
            elsewhere = re.findall(r"""(?:src|href|from|import)[=( ]+["']https?://[^"']+""", found.text)
            assert elsewhere == []
        assert (await at.client.get("/")).json()["fleet"] == "house"


async def test_what_pages_are_made_of_may_be_kept_by_a_browser() -> None:
    async with house() as at:
        page = await at.client.get("/", headers=HTML)
        asset = re.search(r"/_nicegui/[^\"']+\.js", page.text)
        assert asset is not None
        found = await at.client.get(asset.group())
        assert found.status_code == httpx.codes.OK
        assert "max-age" in found.headers["cache-control"]
        assert found.headers["x-content-type-options"] == "nosniff"


async def test_two_fleets_of_one_process_have_pages_of_their_own() -> None:
    async with house() as at, Fleet("other", system="local") as fleet:
        other = await fleet.serve_dashboard()
        ours = await at.client.get("/", headers=HTML)
        bearer = {"Authorization": f"Bearer {other.token}"}
        async with httpx.AsyncClient(base_url=other.url, headers=bearer) as client:
            theirs = await client.get("/", headers=HTML)
        assert "Fleet - house" in ours.text
        assert "Fleet - other" in theirs.text
        assert "Fleet - house" not in theirs.text


async def test_pages_are_served_again_after_the_last_dashboard_was_closed() -> None:
    for _ in range(2):
        async with house() as at:
            assert (await at.client.get("/", headers=HTML)).status_code == httpx.codes.OK
            assert await status_of(at, Authorization=f"Bearer {at.token}") == 101


async def test_another_event_loop_of_the_process_is_told_that_one_serves_already() -> None:
    async def serve() -> None:
        async with Fleet("late", system="local") as fleet:
            await fleet.serve_dashboard()

    caught: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(serve())
        except DashboardElsewhere as error:
            caught.append(error)

    async with house():
        thread = threading.Thread(target=run)
        thread.start()
        await asyncio.to_thread(thread.join)
    assert len(caught) == 1


async def test_pages_that_could_not_be_opened_count_for_none_and_open_the_next_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(_: object) -> None:
        raise OSError("no files left")

    async with Fleet("house", system="local") as fleet:
        with monkeypatch.context() as patch:
            patch.setattr(core.app.router, "lifespan_context", broken)
            with pytest.raises(OSError, match="no files left"):
                await fleet.serve_dashboard()
        dashboard = await fleet.serve_dashboard()
        async with httpx.AsyncClient(headers={"Authorization": f"Bearer {dashboard.token}", **HTML}) as client:
            assert (await client.get(dashboard.url)).status_code == httpx.codes.OK
