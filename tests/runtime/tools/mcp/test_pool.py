"""Servers over standard input and output: who shares them, how they begin and end, and what goes wrong."""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from dataclasses import replace

import pytest

from amrita_fleet import McpStdio, Secret, ToolOutput, ToolServerFailed
from amrita_fleet.protocols.ids import AgentId, Incarnation
from amrita_fleet.protocols.messages import Json
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.tools.mcp.pool import STARTS, WINDOW, ServerPool

from ....contracts.gate import Gate

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ANA = (AgentId("ana"), Incarnation(1))
BOB = (AgentId("bob"), Incarnation(1))

HANGS = "import time; time.sleep(600)"


def program(code: str, timeout: float = 60.0, **env: str | Secret) -> McpStdio:
    return McpStdio("bad", sys.executable, ("-c", code), timeout=timeout, env=env)


async def pid(pool: ServerPool, server: McpStdio) -> int:
    return int((await pool.call(ANA, server, "pid", {})).content)


def lives(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


async def test_equal_servers_are_one_process_until_the_last_holder_lets_go(pool: ServerPool, desk: McpStdio) -> None:
    tools = await pool.acquire(ANA, desk)
    assert await pool.acquire(BOB, replace(desk)) == tools
    process = await pid(pool, desk)
    assert (await pool.call(BOB, replace(desk), "pid", {})).content == str(process)
    await pool.release(ANA)
    await pool.release(ANA)
    assert lives(process)
    await pool.release(BOB)
    assert not lives(process)


async def test_tools_come_with_name_description_and_an_object_schema(pool: ServerPool, desk: McpStdio) -> None:
    tools = {one.name: one for one in await pool.acquire(ANA, replace(desk, tools=["files.read", "place"]))}
    assert list(tools) == ["files.read", "place"]
    assert tools["files.read"].description == "Refuse."
    assert (tools["files.read"].parameters["type"], tools["files.read"].parameters["required"]) == ("object", ["path"])
    assert tools["place"].parameters["properties"] == {}


@pytest.mark.parametrize(
    ("tool", "arguments", "output"),
    [
        ("place", {}, '{\n  "name": "Köln",\n  "floor": 3\n}'),
        ("picture", {}, "A dot.\n[left out: image, image/png, 4 bytes]"),
        ("files.read", {"path": "a.txt"}, "ERROR: Error executing tool files.read: a.txt cannot be read"),
        ("nothing", {}, "ERROR: Unknown tool: nothing"),
    ],
)
async def test_what_a_call_gives(
    pool: ServerPool, desk: McpStdio, tool: str, arguments: dict[str, Json], output: str
) -> None:
    await pool.acquire(ANA, desk)
    assert (await pool.call(ANA, desk, tool, arguments)).content == output


async def test_a_secret_reaches_the_server_and_is_shown_nowhere(
    pool: ServerPool, desk: McpStdio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESK_KEY", 'open "sesame"')
    keyed = replace(desk, env={"KEY": "env:DESK_KEY", "PLAIN": "as it is"})
    await pool.acquire(ANA, keyed)
    assert (await pool.call(ANA, keyed, "show_environment", {"name": "PLAIN"})).content == "as it is"
    assert (await pool.call(ANA, keyed, "show_environment", {"name": "DESK_KEY"})).content == "not set"
    assert (await pool.call(ANA, keyed, "show_environment", {"name": "KEY"})).content == "***"


async def test_a_server_killed_in_a_call_fails_that_call_and_is_started_again_by_the_next(
    pool: ServerPool, desk: McpStdio
) -> None:
    await pool.acquire(ANA, desk)
    process = await pid(pool, desk)
    async with Gate() as gate:
        call = asyncio.create_task(pool.call(ANA, desk, "gate", {"port": gate.port, "name": "a"}))
        await gate.begun("a")
        os.kill(process, signal.SIGKILL)
        output = await call
    assert output.failed
    assert output.content.startswith("ERROR: The MCP server 'desk' cannot be used: it ended during this call of gate")
    assert not lives(process)
    assert await pid(pool, desk) != process


async def test_a_server_that_crashes_says_its_last_words(pool: ServerPool, desk: McpStdio) -> None:
    await pool.acquire(ANA, desk)
    assert "the disk is full" in (await pool.call(ANA, desk, "crash", {})).content


async def test_a_server_that_crashes_again_and_again_is_not_started_for_ever(desk: McpStdio) -> None:
    clock = VirtualClock(0.0)
    pool = ServerPool(clock.monotonic)
    await pool.acquire(ANA, desk)
    for _ in range(STARTS):
        assert "it ended during this call" in (await pool.call(ANA, desk, "crash", {})).content
    assert f"started {STARTS} times" in (await pool.call(ANA, desk, "pid", {})).content
    await clock.advance(WINDOW)
    assert not (await pool.call(ANA, desk, "pid", {})).failed
    await pool.aclose()


async def test_a_cancelled_call_is_cancelled_in_the_server_which_goes_on(pool: ServerPool, desk: McpStdio) -> None:
    await pool.acquire(ANA, desk)
    process = await pid(pool, desk)
    async with Gate() as gate:
        call = asyncio.create_task(pool.call(ANA, desk, "gate", {"port": gate.port, "name": "a"}))
        await gate.begun("a")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await gate.cut("a")
    assert await pid(pool, desk) == process


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (McpStdio("bad", "no-such-program"), "it cannot be started: No such file or directory: 'no-such-program'"),
        (program("", K="env:NOT_SET_ANYWHERE"), "The environment variable NOT_SET_ANYWHERE is not set"),
        (program("raise SystemExit('no licence')"), "Connection closed; its last words: no licence"),
        (program("import os; exit('my ' + os.environ['K'])", K=Secret("sesame")), r"its last words: my \*\*\*"),
        (program(HANGS, timeout=0.5), "it did not answer as an MCP server within 0.5 seconds"),
        (program(f"print('hello', flush=True); {HANGS}", timeout=1), "it wrote what is no MCP message: 'hello'"),
    ],
    ids=["missing", "variable", "exits", "secret", "hangs", "rubbish"],
)
async def test_a_server_that_does_not_start_is_an_error_that_says_why(
    pool: ServerPool, server: McpStdio, reason: str
) -> None:
    with pytest.raises(ToolServerFailed, match=f"'bad' cannot be used: .*{reason}") as failed:
        await pool.acquire(ANA, server)
    assert failed.value.server == "bad"


async def test_a_tool_that_the_server_lacks_is_named_with_those_it_has(pool: ServerPool, desk: McpStdio) -> None:
    with pytest.raises(ToolServerFailed, match="no tool named lamp, bell; it has pid, gate"):
        await pool.acquire(ANA, replace(desk, tools=["lamp", "pid", "bell"]))


async def test_a_start_that_is_given_up_leaves_no_process() -> None:
    async with Gate() as gate:
        line = f"import socket; s = socket.create_connection(('127.0.0.1', {gate.port})); s.sendall(b'a\\n'); s.recv(9)"
        pool = ServerPool()
        start = asyncio.create_task(pool.acquire(ANA, program(line)))
        await gate.begun("a")
        start.cancel()
        with pytest.raises(asyncio.CancelledError):
            await start
        await gate.cut("a")


async def test_a_pool_that_is_closed_ends_its_servers_and_starts_none(desk: McpStdio) -> None:
    pool = ServerPool()
    await pool.acquire(ANA, desk)
    process = await pid(pool, desk)
    await pool.aclose()
    assert not lives(process)
    assert await pool.call(ANA, desk, "pid", {}) == ToolOutput.failure(
        "The MCP server 'desk' cannot be used: the fleet ends."
    )
