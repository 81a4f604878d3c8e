"""An agent's actor: thin methods around an `AgentHost`. It is never decorated; `lifecycle.py` makes it a Ray class."""

import asyncio
import logging
import os
import sys
from dataclasses import replace

import ray

from ..protocols.codec import encode
from ..protocols.ids import RunId
from ..protocols.limits import Limits
from ..runtime.config import set_config
from ..runtime.containment import contained
from ..runtime.errors import PeerUnreachable
from ..runtime.host import AgentHost, Seat
from ..runtime.journal_errors import JournalUnavailable
from ..runtime.log_context import LogPlace
from ..runtime.log_json import json_logs_asked, write_json_logs
from ..runtime.suspension import Stand
from ..runtime.tools.served import served_tools
from ..runtime.tools.tool import Tool
from ..runtime.trace_setup import open_tracer
from .approvals import ApprovalHolder
from .channel import CONTROL
from .control import Controlled
from .description import unpacked
from .insight import LookedInto
from .reach import Watched
from .reborn import end_for_good
from .replaced import RETRY_PAUSE
from .ties import Ties
from .tool_server_link import RayToolServers, ToolServersDesk
from .unopened import Unopened
from .waits import WaitHolder

__all__ = ("AgentActor",)

log = logging.getLogger(__name__)


class AgentActor(ApprovalHolder, WaitHolder, Controlled, LookedInto, Watched, Unopened):
    """One agent in its own process. `Outcome` and `AgentStatus` travel as the codec's bytes.

    1. Made with what it is; nothing of it runs, so that making it cannot fail half way.
    2. `open` builds the host in the default group, whose event loop is the work loop.
    3. The groups `mail` and `control` answer while that loop is blocked.
    4. `close` ends the host. The process ends when its owner kills it.
    """

    def __init__(self, seat: Seat, ties: Ties, *description: bytes) -> None:
        """Keep what `open` needs; the description in pieces."""
        super().__init__(seat.name)
        self._agent, self._kinds = unpacked(description)
        self._seat = seat
        self._ties = ties
        self._closed = asyncio.Event()
        self._opening = asyncio.Lock()
        self._draining = False
        if json_logs_asked(os.environ):
            write_json_logs(sys.stderr, LogPlace(ties.fleet, seat.name))
        self._tracer = open_tracer(ties.fleet, seat.name)
        self._born(service=ties.service)

    async def _again(self) -> None:
        """Begin the next life, in a process that Ray started after one that died; or end, if there is to be none."""
        async with self._opening:
            life = await self._ties.next_life(self._seat.name)
            if life is None:
                await end_for_good()
            self._seat = replace(self._seat, incarnation=life)
            while True:
                try:
                    await self._open(None)
                except (JournalUnavailable, PeerUnreachable) as error:
                    log.warning("%s waits to live again: %s", self._seat.name, error)
                    await asyncio.sleep(RETRY_PAUSE)
                else:
                    return

    @ray.method(concurrency_group=CONTROL)
    async def node(self) -> str:
        """The node it is on."""
        return ray.get_runtime_context().get_node_id()

    @ray.method
    async def open(self, servers: type[ToolServersDesk] | None) -> None:
        """Begin to live, or go on, in a loop that no tool can end; nobody reaches the host before.

        `servers` runs the node's MCP servers, if it needs one; None: it is asked for, or not needed.
        """
        async with self._opening:
            if self._host is None:  # else a further process of this actor has begun by itself meanwhile
                await self._open(servers)

    async def _open(self, servers: type[ToolServersDesk] | None) -> None:
        asyncio.get_running_loop().set_task_factory(contained)
        set_config(self._agent.config)
        if servers is None and self._agent.servers:
            servers = await self._ties.tool_servers()
        tools = () if servers is None else await self._served(servers)
        host = AgentHost(self._agent, self._seat, self._ties.surroundings(self._kinds, self._tracer), tools)
        try:
            if self._draining:
                await host.drain()
            await host.open(await self._ties.stopped(self._seat.name))
        except BaseException:
            await host.close()
            raise
        self._host = host
        if self._stopped:  # after the tombstone was looked for, and before there was a host to stop
            host.stop(self._stopped)

    async def _served(self, servers: type[ToolServersDesk]) -> tuple[Tool, ...]:
        holder = self._seat.name, self._seat.incarnation
        return await served_tools(RayToolServers(servers), holder, self._agent.servers, self._agent.tools)

    @ray.method
    async def start(
        self,
        task: str,
        time_limit: float | None,
        said: list[str],
        stand: Stand | None,
        limit: Limits | None,
        caller: str,
    ) -> RunId:
        """Queue a run.

        Args:
            task: What is asked for.
            time_limit: Seconds.
            said: What the user added to the task.
            stand: Where it stands.
            limit: The most it may spend.
            caller: W3C traceparent of the span in which it is asked for, or empty.
        """
        return await self._living.start(task, time_limit, tuple(said), stand, limit, caller)

    @ray.method
    async def outcome(self, run: RunId) -> bytes:
        """Wait for the end of a run and give its `Outcome`."""
        return encode(await self._living.outcome(run))

    @ray.method(concurrency_group=CONTROL)
    async def ping(self) -> None:
        """Answer: the process lives, whatever its work loop does."""

    @ray.method(concurrency_group=CONTROL)
    async def pause(self, reason: str | None) -> None:
        """Pause at the next boundary or model call; without a reason, go on."""
        self._living.pause(reason)

    @ray.method
    async def drain(self, lasts: float | None) -> None:
        """Begin nothing new, and wait until it stands at a boundary; one that does not live yet will stand there.

        `lasts`: seconds after which it goes on if it still lives, for whoever was about to end it is gone; None: never.
        """
        self._draining = True
        if lasts is not None:
            asyncio.get_running_loop().call_later(lasts, self._undrain)
        if self._host is not None:
            await self._host.drain()

    def _undrain(self) -> None:
        self._draining = False
        if self._host is not None:
            self._host.undrain()

    @ray.method
    async def close(self) -> None:
        """End everything the host does."""
        if self._host is not None:
            await self._host.close()
        if self._tracer is not None:
            await self._tracer.aclose()
        self._closed.set()

    @ray.method
    async def closed(self) -> None:
        """Park until `close`. A death ends the call with an error, which is how it is noticed without polling."""
        await self._closed.wait()
