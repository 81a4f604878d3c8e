"""Servers whose answers are no messages, and servers that write too many that are none."""

import asyncio
import logging
import sys
import threading
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from uuid import uuid4

import pytest

from amrita_fleet import McpStdio, ToolServerFailed
from amrita_fleet.protocols.ids import AgentId, Incarnation
from amrita_fleet.runtime.tools.mcp.connection import MISSING
from amrita_fleet.runtime.tools.mcp.pool import ServerPool
from amrita_fleet.runtime.tools.mcp.quiet import KEPT, quieted

pytestmark = pytest.mark.anyio

ANA = (AgentId("ana"), Incarnation(1))
GOOD = '{"jsonrpc": "2.0", "id": NUMBER, "result": {"content": [{"type": "text", "text": "well"}]}}'
DEEP = '{"a":' * 300 + "1" + "}" * 300


@pytest.fixture
def rude() -> McpStdio:
    program = str(Path(__file__).with_name("rude.py"))
    return McpStdio(name="rude", command=sys.executable, args=(program, uuid4().hex), timeout=3600)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (f'{{"jsonrpc": "2.0", "id": NUMBER, "result": {DEEP}}}', "recursion limit exceeded"),
        (f'{{"result": {DEEP}, "jsonrpc": "2.0", "id": NUMBER}}', "recursion limit exceeded"),
        ('{"jsonrpc": "2.0", "id": NUMBER, "error": {"code": 1, "message": "\\ud800"}}', "hex escape"),
        ('{"jsonrpc": "2.0", "id": NUMBER, "error": {"code": "one"}}', "it has no such shape"),
        ('{"jsonrpc": "1.0", "id": NUMBER, "result": {}}', "it has no such shape"),
        ('{"jsonrpc": "2.0", "id": NUMBER, "result": "text"}', "it has no such shape"),
    ],
    ids=["deep", "deep, id last", "surrogate", "code", "version", "result"],
)
async def test_an_answer_that_is_no_message_fails_its_call_at_once_and_says_why(
    pool: ServerPool, rude: McpStdio, answer: str, why: str
) -> None:
    await pool.acquire(ANA, rude)
    output = await pool.call(ANA, rude, "say", {"text": answer})
    assert output.failed
    assert output.content.startswith("ERROR: say: its answer is no MCP message (")
    assert why in output.content
    assert (await pool.call(ANA, rude, "say", {"text": GOOD})).content == "well"


@pytest.mark.slow
async def test_rubbish_before_an_answer_does_no_harm_and_is_logged_in_brief(
    pool: ServerPool, rude: McpStdio, caplog: pytest.LogCaptureFixture
) -> None:
    await pool.acquire(ANA, rude)
    assert (await pool.call(ANA, rude, "say", {"text": GOOD, "noise": "starting ...", "times": 50})).content == "well"
    await pool.aclose()
    lines = [each for each in caplog.records if each.name.startswith("mcp")]
    assert len(lines) == KEPT
    assert f"Of the MCP server rude the SDK would have logged {50 - KEPT} more lines." in caplog.text


@pytest.mark.slow
async def test_content_that_is_nested_too_deeply_for_any_model_is_a_failed_output(
    pool: ServerPool, rude: McpStdio
) -> None:
    await pool.acquire(ANA, rude)
    deep = '{"a":' * 100 + "1" + "}" * 100
    answer = f'{{"jsonrpc": "2.0", "id": NUMBER, "result": {{"content": [], "structuredContent": {deep}}}}}'
    output = await pool.call(ANA, rude, "say", {"text": answer})
    assert output.failed
    assert "nested more than" in output.content


def test_what_the_sdk_logs_of_others_is_not_touched(caplog: pytest.LogCaptureFixture) -> None:
    sdk = logging.getLogger("mcp.client.stdio")
    before = list(sdk.filters)

    def warn(text: str) -> None:
        for _ in range(KEPT + 5):
            sdk.warning(text)

    with quieted("ours"):
        other = threading.Thread(target=warn, args=("theirs",))
        other.start()
        other.join()
        warn("ours")
    assert [each.message for each in caplog.records].count("theirs") == KEPT + 5
    assert [each.message for each in caplog.records].count("ours") == KEPT
    assert sdk.filters == before


class Importing(MetaPathFinder):
    """Sees the SDK being loaded, in which it is not there after all."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.thread = ""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: object = None) -> None:  # noqa: ARG002
        if fullname == "mcp":
            self.thread = threading.current_thread().name
            self.go.wait()
            raise ModuleNotFoundError(name="mcp")


async def test_loading_the_sdk_holds_up_neither_the_loop_nor_the_server(
    pool: ServerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    finder = Importing()
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    monkeypatch.delitem(sys.modules, "mcp", raising=False)
    asked = asyncio.create_task(pool.acquire(ANA, McpStdio(name="late", command="no-such-program", timeout=0.001)))
    try:
        await asyncio.wait({asked}, timeout=0.02)
        assert finder.thread not in {"", threading.current_thread().name}
    finally:
        finder.go.set()
    with pytest.raises(ToolServerFailed) as failed:
        await asked
    assert failed.value.reason == MISSING
