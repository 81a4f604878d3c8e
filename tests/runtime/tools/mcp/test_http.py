"""Servers over streamable HTTP."""

import asyncio
from urllib.parse import urlsplit

import pytest

from amrita_fleet import McpHttp, ToolServerFailed
from amrita_fleet.protocols.ids import AgentId, Incarnation
from amrita_fleet.runtime.tools.mcp.pool import ServerPool

from ....contracts.gate import Gate
from .elsewhere import EVERYTHING, LOOPBACK, desk_at, listening, needs_npm

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ANA = (AgentId("ana"), Incarnation(1))


async def test_a_server_on_the_network_is_called_like_any_other(pool: ServerPool) -> None:
    async with listening(*desk_at(0)) as url:
        desk = McpHttp("desk", url)
        assert "place" in [one.name for one in await pool.acquire(ANA, desk)]
        assert (await pool.call(ANA, desk, "place", {})).content == '{\n  "name": "Köln",\n  "floor": 3\n}'
        assert (await pool.call(ANA, desk, "files.read", {"path": "a"})).failed
        await pool.release(ANA)


async def test_headers_are_sent_and_a_server_that_refuses_is_an_error_that_does_not_show_them(
    pool: ServerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESK_KEY", "sesame")
    monkeypatch.setenv("OLD_KEY", "poppies")
    async with listening(*desk_at(0, key="sesame")) as url:
        desk = McpHttp("desk", url, headers={"X-Key": "env:DESK_KEY"})
        await pool.acquire(ANA, desk)
        assert not (await pool.call(ANA, desk, "pid", {})).failed
        with pytest.raises(ToolServerFailed, match="'late' cannot be used") as failed:
            await pool.acquire(ANA, McpHttp("late", url, headers={"X-Key": "env:OLD_KEY"}))
        assert "poppies" not in str(failed.value)
        await pool.release(ANA)


async def test_a_cancelled_call_is_cancelled_in_the_server(pool: ServerPool) -> None:
    async with listening(*desk_at(0)) as url, Gate() as gate:
        desk = McpHttp("desk", url)
        await pool.acquire(ANA, desk)
        call = asyncio.create_task(pool.call(ANA, desk, "gate", {"port": gate.port, "name": "a"}))
        await gate.begun("a")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await gate.cut("a")
        assert not (await pool.call(ANA, desk, "pid", {})).failed
        await pool.release(ANA)


async def test_a_server_that_is_away_is_an_error_and_one_that_is_back_is_used_again(pool: ServerPool) -> None:
    async with listening(*desk_at(0)) as url:
        desk = McpHttp("desk", url)
        await pool.acquire(ANA, desk)
        first = await pool.call(ANA, desk, "pid", {})
    assert (await pool.call(ANA, desk, "pid", {})).content.startswith("ERROR: ")
    async with listening(*desk_at(urlsplit(url).port or 0)):
        again = await pool.call(ANA, desk, "pid", {})
        assert not again.failed
        assert again != first
        await pool.release(ANA)


async def test_nobody_at_the_address_is_an_error(pool: ServerPool) -> None:
    async with listening(*desk_at(0)) as url:
        pass
    with pytest.raises(ToolServerFailed, match=r"does at http://127\.0\.0\.1.*: All connection attempts failed"):
        await pool.acquire(ANA, McpHttp("desk", url))


@needs_npm
async def test_a_server_of_another_maker_that_keeps_sessions_is_used_again_after_it_was_started_anew(
    pool: ServerPool,
) -> None:
    command = ("node", "--require", LOOPBACK, EVERYTHING, "streamableHttp")
    async with listening(*command) as url:
        every = McpHttp("everything", url, tools=["echo"])
        await pool.acquire(ANA, every)
        assert (await pool.call(ANA, every, "echo", {"message": "hi"})).content == "Echo: hi"
    assert (await pool.call(ANA, every, "echo", {"message": "hi"})).failed
    port = str(urlsplit(url).port)
    async with listening(*command, LOOPBACK_PORT=port):
        assert (await pool.call(ANA, every, "echo", {"message": "hi"})).content == "Echo: hi"
    # Nobody calls while it is away.
    async with listening(*command, LOOPBACK_PORT=port):
        assert "so echo did not run; call it again" in (await pool.call(ANA, every, "echo", {"message": "hi"})).content
        assert (await pool.call(ANA, every, "echo", {"message": "hi"})).content == "Echo: hi"
        await pool.release(ANA)
