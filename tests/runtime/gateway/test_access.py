"""What the gateway lets in and answers over HTTP, whatever a client does."""

import asyncio
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from amrita_fleet.runtime.gateway.guard import BODY_LIMIT

from .house import house

pytestmark = pytest.mark.anyio

MESSAGES = "/api/agents/ana/messages"


async def in_pieces(size: int) -> AsyncIterator[bytes]:
    """A body that nobody says the length of."""
    for _ in range(size // 1024):
        yield b"x" * 1024


@pytest.mark.parametrize("path", ["/", "/api/fleet", "/api/events", "/api/openapi.json", "/api/nothing", "/docs"])
@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}], ids=["nothing", "wrong"])
async def test_nothing_is_answered_without_the_token_not_even_what_there_is(path: str, headers: dict[str, str]) -> None:
    async with house() as at, at.stranger(**headers) as stranger:
        found = await stranger.get(path)
        assert found.status_code == httpx.codes.UNAUTHORIZED
        assert found.headers["www-authenticate"] == "Bearer"
        assert found.json().keys() == {"error", "help"}


async def test_a_foreign_host_or_origin_is_refused_with_the_right_token() -> None:
    async with house() as at:
        for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "null"}):
            found = await at.client.get("/api/agents", headers=headers)
            assert found.status_code == httpx.codes.FORBIDDEN
            assert "ana" not in found.text
            assert not [name for name in found.headers if name.startswith("access-control")]


async def test_a_browser_asks_in_vain_whether_another_site_may_come() -> None:
    async with house() as at, at.stranger() as stranger:
        headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
        found = await stranger.options(MESSAGES, headers=headers)
        assert found.status_code == httpx.codes.FORBIDDEN
        assert not [name for name in found.headers if name.startswith("access-control")]


async def test_the_link_gives_a_browser_a_cookie_with_which_it_goes_on() -> None:
    async with house() as at, at.stranger() as browser:
        found = await browser.get("/", params={"token": at.token})
        assert (found.status_code, found.headers["location"]) == (httpx.codes.SEE_OTHER, "/")
        assert at.token not in found.headers["set-cookie"]
        assert found.headers["referrer-policy"] == "no-referrer"
        assert (await browser.get("/")).status_code == httpx.codes.OK
        assert (await browser.get("/api/fleet")).status_code == httpx.codes.OK
        refused = await browser.post(MESSAGES, json={"body": "?"})
        assert refused.status_code == httpx.codes.FORBIDDEN
        origin = str(browser.base_url).rstrip("/")
        sent = await browser.post(MESSAGES, json={"body": "?"}, headers={"Origin": origin})
        assert sent.json()["state"] == "accepted"


async def test_a_wrong_link_gives_none() -> None:
    async with house() as at, at.stranger() as browser:
        found = await browser.get("/", params={"token": "wrong"})
        assert found.status_code == httpx.codes.UNAUTHORIZED
        assert "set-cookie" not in found.headers


@pytest.mark.parametrize("announced", [True, False], ids=["announced", "in pieces"])
async def test_a_body_that_is_too_large_is_refused(announced: bool) -> None:
    size = BODY_LIMIT + 64 * 1024
    async with house() as at:
        content = b"x" * size if announced else in_pieces(size)
        found = await at.client.post(MESSAGES, content=content)
        assert found.status_code == httpx.codes.REQUEST_ENTITY_TOO_LARGE
        assert found.json().keys() == {"error", "help"}
        assert (await at.get("/api/agents/ana"))["phase"] == "idle"


async def test_a_body_of_which_only_the_length_is_a_lie_ends_nothing() -> None:
    async with house() as at:
        for length in (b"9" * 30, b"-1", b"ten"):
            reader, writer = await asyncio.open_connection(at.client.base_url.host, at.client.base_url.port)
            head = f"POST {MESSAGES} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {at.token}\r\n"
            writer.write(head.encode() + b"Content-Length: " + length + b"\r\n\r\n")
            status = (await asyncio.wait_for(reader.readline(), 10)).split()[1]
            assert status in {b"400", b"413"}
            writer.close()
        assert await at.get("/api/fleet")


async def test_the_largest_message_that_an_agent_takes_goes_through() -> None:
    async with house() as at:
        body = json.dumps({"body": "ü" * (32 * 1024)}, ensure_ascii=False)
        found = await at.client.post(MESSAGES, content=body.encode(), headers={"Content-Type": "application/json"})
        assert found.json()["state"] == "accepted"
        beyond = await at.post(MESSAGES, {"body": "x" * (64 * 1024 + 1)})
        assert (beyond["state"], beyond["refusal"]) == ("refused", "too_large")


async def test_every_answer_says_that_it_is_not_to_be_kept_or_guessed_at() -> None:
    async with house() as at:
        for path in ("/", "/api/fleet", "/api/nothing", "/api/openapi.json"):
            headers = (await at.client.get(path)).headers
            assert headers["cache-control"] == "no-store"
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert "server" not in headers
