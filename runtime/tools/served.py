"""The tools of MCP servers as an agent has them: under names that every provider takes, called through a port."""

import asyncio
import re
from collections import Counter
from collections.abc import Collection, Iterable
from hashlib import sha256

from ...protocols.messages import Json
from .builtin import BUILTIN
from .output import ToolOutput
from .servers import Holder, McpServer, ToolServers
from .spawn_agent import SPAWN_AGENT, STOP_AGENT
from .tool import Tool
from .update_step import UPDATE_STEP_TOOL

__all__ = ("served_tools", "tool_names")

LONGEST = 64
"""Characters of a tool's name that every provider takes."""

MARK = 8
"""Hexadecimal digits that tell apart two names which would be one."""


class ServedCall:
    """The function of a tool that a server runs."""

    def __init__(self, servers: ToolServers, holder: Holder, server: McpServer, tool: str) -> None:
        """Keep what a call needs."""
        self._servers = servers
        self._holder = holder
        self._server = server
        self._tool = tool

    async def __call__(self, /, **arguments: Json) -> ToolOutput:
        """Call it."""
        return await self._servers.call(self._holder, self._server, self._tool, arguments)


async def served_tools(
    servers: ToolServers, holder: Holder, wanted: tuple[McpServer, ...], own: Iterable[Tool]
) -> tuple[Tool, ...]:
    """Have servers run for one life of an agent, and make tools of what they offer.

    They are asked once: the tools that an agent has stay the same as long as it lives, so that providers' prompt
    caches hold. What a server adds later is seen by agents that are spawned later.

    Args:
        servers: Who runs them. What was acquired before a failure is the caller's to release.
        holder: The life that holds them.
        wanted: In the order in which the model sees their tools.
        own: The agent's other tools; the built-in ones are known.

    Raises:
        ToolServerFailed: A server cannot be used.
    """
    try:
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(servers.acquire(holder, each)) for each in wanted]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    offers = [each.result() for each in asked]
    pairs = [(server, schema) for server, offer in zip(wanted, offers, strict=True) for schema in offer]
    taken = {UPDATE_STEP_TOOL.name, SPAWN_AGENT, STOP_AGENT, *(each.name for each in (*BUILTIN, *own))}
    names = tool_names([(server.name, schema.name) for server, schema in pairs], taken)
    return tuple(
        Tool(
            name=name,
            function=ServedCall(servers, holder, server, schema.name),
            description=schema.description,
            parameters=schema.parameters,
            timeout=server.timeout,
            approval=server.approval,
        )
        for name, (server, schema) in zip(names, pairs, strict=True)
    )


def tool_names(offers: Iterable[tuple[str, str]], taken: Collection[str]) -> tuple[str, ...]:
    """Names for tools, all different, the same each time.

    A tool keeps its own name where it can. One that clashes gets its server's before it.

    Args:
        offers: Each tool's server, and what that calls it; no pair comes twice.
        taken: Names that none may have.
    """
    pairs = tuple(offers)
    plain = Counter(valid(tool) for _, tool in pairs)
    used = {*taken, *plain}
    given: list[str] = []
    for server, tool in pairs:
        name = valid(tool)
        if name in taken or plain[name] > 1:
            name = valid(f"{server}_{tool}")
            while name in used:
                name = marked(name, f"{name}\n{tool}")
            used.add(name)
        given.append(name)
    return tuple(given)


def valid(name: str) -> str:
    """The name with what providers refuse replaced; a long one ends in a mark that tells it from its like."""
    fit = re.sub(r"[^A-Za-z0-9_-]", "_", name) or "tool"
    return fit if len(fit) <= LONGEST else marked(fit, name)


def marked(name: str, whole: str) -> str:
    """The name with a mark made of more than the name itself shows."""
    mark = sha256(whole.encode(errors="replace")).hexdigest()[:MARK]
    return f"{name[: LONGEST - MARK - 1]}_{mark}"
