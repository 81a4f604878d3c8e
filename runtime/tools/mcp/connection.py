"""One MCP server while it runs."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, cast

from ....protocols.errors import PresetInvalid
from ....protocols.messages import Json
from ....protocols.plural import plural
from ....protocols.providers.base import ToolSchema
from ...errors import ToolServerFailed
from ..output import ToolOutput
from ..servers import McpHttp, McpServer
from .quiet import quieted
from .results import output_of
from .transport import Trace, transport_to

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult, Tool

__all__ = ("Connection",)

log = logging.getLogger(__name__)

PAGES = 100
"""Pages of a list of tools that are read: a server that never ends its list cannot hang a spawn."""

GRACE = 5.0
"""Seconds after which a call is given up whose caller should have done so, but is gone."""

MISSING = "the MCP SDK is not installed where it should run: pip install 'amrita-fleet[mcp]'"


class Connection:
    """A server that was started once, and its end.

    A task of its own enters and leaves what the SDK opens: its cancel scopes must be left in the task that entered
    them, whoever calls meanwhile.
    """

    def __init__(self, server: McpServer) -> None:
        """Begin to start it."""
        self._server = server
        self._trace = Trace()
        self._client: Client | None = None
        self._settled = asyncio.Event()
        self._late = False
        self._cut = False
        self._reason = "it was ended while it started"
        self._task = asyncio.create_task(self._live())
        # Not inside of it: a task that is cancelled before its first step does nothing at all.
        self._task.add_done_callback(self._ended)

    @property
    def over(self) -> bool:
        """It takes no further call."""
        return self._task.done() or self._trace.over.is_set() or self._trace.forgotten

    async def opened(self) -> "Client":
        """Wait until it has started.

        Raises:
            ToolServerFailed: It has not, in time or ever.
        """
        await self._settled.wait()
        if self._client is None:
            raise ToolServerFailed(server=self._server.name, reason=self._reason)
        return self._client

    async def tools(self) -> tuple[ToolSchema, ...]:
        """Ask for its tools.

        Raises:
            ToolServerFailed: It does not list them, or lacks one that was asked for.
        """
        client = await self.opened()
        try:
            async with asyncio.timeout(self._server.timeout):
                offered = await listed(client)
        except TimeoutError:
            raise self._failed(f"it did not list its tools within {plural(self._server.timeout, 'second')}") from None
        except Exception as error:  # noqa: BLE001  whatever the SDK makes of an answer
            raise self._failed(f"it does not list its tools: {gist(error)}") from None
        wanted = self._server.tools
        if wanted is None:
            return tuple(offered.values())
        if missing := [name for name in wanted if name not in offered]:
            there = ", ".join(offered) or "none"
            raise self._failed(f"it has no tool named {', '.join(missing)}; it has {there}")
        return tuple(offered[name] for name in dict.fromkeys(wanted))

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> ToolOutput:
        """Call a tool. Whatever goes wrong, but for the caller's own cancellation, is a failed output.

        Cancelled, it tells the server so.
        """
        try:
            client = await self.opened()
            patience = self._server.timeout + GRACE
            result = await client.call_tool(tool, dict(arguments), read_timeout_seconds=patience)
            return await asyncio.to_thread(self._read, result)
        except ToolServerFailed as error:
            return ToolOutput.failure(str(error))
        except Exception as error:  # noqa: BLE001  whatever the SDK makes of an answer, or of none
            return await self._failure(tool, error)

    async def close(self) -> None:
        """End it, and wait until it has ended. Safe to call twice."""
        self._trace.over.set()
        self._interrupt()
        await asyncio.wait({self._task})

    async def _live(self) -> None:
        try:
            # The first time that takes seconds, which are not the server's, and in which others want the loop.
            await asyncio.to_thread(import_module, "mcp")
            with quieted(self._server.name):
                await self._serve()
        # It ends here in any way. Only `_interrupt` cancels it.
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001
            self._reason = self._why(error)
            if self._client is not None:
                log.info("The connection to the MCP server %s broke: %s", self._server.name, self._reason)

    async def _serve(self) -> None:
        from mcp import Client

        timer = asyncio.get_running_loop().call_later(self._server.timeout, self._out_of_time)
        try:
            async with Client(transport_to(self._server, self._trace), cache=None) as client:
                timer.cancel()
                self._client = client
                self._settled.set()
                await self._trace.over.wait()
        finally:
            timer.cancel()

    def _read(self, result: "CallToolResult") -> ToolOutput:
        """What the model reads of a result."""
        output = output_of(result)
        return replace(output, content=self._trace.masked(output.content))

    def _ended(self, _: "asyncio.Task[None]") -> None:
        self._trace.over.set()
        self._settled.set()

    def _out_of_time(self) -> None:
        self._late = True
        self._interrupt()

    def _interrupt(self) -> None:
        """Cancel its start, once and not too late: else the SDK's clean-up is cut short, and a process stays."""
        if not (self._settled.is_set() or self._cut or self._trace.left):
            self._cut = True
            self._task.cancel()

    def _why(self, error: BaseException) -> str:
        """Why it did not start, or broke."""
        match error:
            case _ if self._late:
                what = f"it did not answer as an MCP server within {plural(self._server.timeout, 'second')}"
            case asyncio.CancelledError():
                return self._reason
            case ModuleNotFoundError(name="mcp"):
                return MISSING
            case PresetInvalid():
                return error.reason.removesuffix(".")
            case OSError(filename=str()):
                what = f"it cannot be started: {error.strerror}: {error.filename!r}"
            case _:
                where = f" at {self._server.url}" if isinstance(self._server, McpHttp) else ""
                what = f"it did not begin as an MCP server does{where}: {gist(error)}"
        return self._with_words(what)

    def _with_words(self, what: str) -> str:
        """A sentence, with what the program said last."""
        if self._trace.flaw:
            what += f"; it wrote what is no MCP message: {self._trace.flaw}"
        if lines := self._trace.last_lines():
            what += f"; its last words: {' | '.join(lines)}"
        return self._trace.masked(what).rstrip(".")

    def _failed(self, reason: str) -> ToolServerFailed:
        return ToolServerFailed(server=self._server.name, reason=self._trace.masked(reason).rstrip("."))

    async def _failure(self, tool: str, error: Exception) -> ToolOutput:
        """What a model reads of a call that gave no result."""
        if self._trace.forgotten:
            reason = f"it was started anew meanwhile, so {tool} did not run; call it again"
            return ToolOutput.failure(str(self._failed(reason)))
        if not self._trace.over.is_set():
            return ToolOutput.failure(self._trace.masked(f"{tool}: {gist(error)}"))
        await asyncio.wait({self._task})  # for its last words; the SDK bounds it
        reason = self._with_words(f"it ended during this call of {tool}, which may have run; the next starts it again")
        return ToolOutput.failure(str(self._failed(reason)))


async def listed(client: "Client") -> dict[str, ToolSchema]:
    """All pages of a server's list of tools, by name.

    Raises:
        Exception: Whatever the SDK makes of an answer.
    """
    found: dict[str, ToolSchema] = {}
    cursor: str | None = None
    for _ in range(PAGES):
        page = await client.list_tools(cursor=cursor)
        found |= {each.name: schema_of(each) for each in page.tools}
        cursor = page.next_cursor
        if cursor is None:
            break
    return found


def schema_of(tool: "Tool") -> ToolSchema:
    """A tool as a model sees it: what the server says, made the schema of an object."""
    given = cast("dict[str, Json]", tool.input_schema)
    about = tool.description or tool.title or f"The tool {tool.name}."
    return ToolSchema(tool.name, about, {**given, "type": "object", "properties": given.get("properties") or {}})


def gist(error: BaseException) -> str:
    """What went wrong, of a group the first thing, on one line."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
