"""Servers of other makers over standard input and output."""

from pathlib import Path

import pytest

from amrita_fleet import Agent, Fleet, McpStdio
from amrita_fleet.protocols.ids import AgentId, Incarnation
from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.notices import NoticeType
from amrita_fleet.protocols.providers.scripted import call, say, scripted
from amrita_fleet.runtime.tools.mcp.pool import ServerPool

from .elsewhere import EVERYTHING, FILESYSTEM, needs_npm

pytestmark = [pytest.mark.anyio, pytest.mark.slow, needs_npm]

ANA = (AgentId("ana"), Incarnation(1))


async def test_the_server_with_everything_offers_all_it_has_and_answers_in_every_form(
    pool: ServerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED", "sesame-12345")
    every = McpStdio("everything", "node", (EVERYTHING, "stdio"), env={"PLANTED_KEY": "env:PLANTED"})
    tools = await pool.acquire(ANA, every)
    assert {"echo", "get-sum", "get-env", "get-tiny-image", "get-structured-content"} <= {one.name for one in tools}
    assert all(one.parameters["type"] == "object" for one in tools)

    async def told(tool: str, **arguments: Json) -> str:
        return (await pool.call(ANA, every, tool, arguments)).content

    assert await told("echo", message="hi") == "Echo: hi"
    assert "42" in await told("get-sum", a=40, b=2)
    assert "[left out: image, image/png, " in await told("get-tiny-image")
    assert "temperature" in await told("get-structured-content", location="Chicago")
    assert (await pool.call(ANA, every, "get-sum", {"a": "x"})).failed
    environment = await told("get-env")
    assert '"PLANTED_KEY"' in environment
    assert "sesame-12345" not in environment


async def test_a_path_outside_the_root_is_an_error_that_the_model_reads_and_it_goes_on(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("inside")
    files = McpStdio("files", "node", (FILESYSTEM, str(tmp_path)))
    moves = (
        call("read_text_file", path="/etc/hostname"),
        call("read_text_file", path=str(tmp_path / "a.txt")),
        say("done"),
    )
    async with Fleet(system="local") as fleet:
        (ana,) = await fleet.spawn(Agent(preset=scripted(*moves), servers=(files,)), ["ana"])
        run = await ana.start("?")
        notices = [notice async for notice in run]
        assert (await run.outcome()).text == "done"
    ends = [n for n in notices if n.type is NoticeType.TOOL and n.extra_type != "started"]
    assert len(ends) == 2
    assert ends[0].text.startswith("read_text_file: ERROR: Access denied")
    assert ends[1].extra_type != "failed"
