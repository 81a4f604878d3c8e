"""What binds an agent's actor to its fleet, and what it asks there before it lives."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, TypeVar, cast

import ray

from ..protocols.checkin import AgentStatus
from ..protocols.codec import decode
from ..protocols.ids import SUPERVISOR, AgentId, Incarnation
from ..runtime.clock import SystemClock
from ..runtime.errors import PeerUnreachable
from ..runtime.journal.fleet_log import FleetLog
from ..runtime.surroundings import Surroundings
from ..runtime.tracing import Tracer
from .channel import RayPost, namespace
from .children import RayChildren
from .journal import JournalActor, RayJournal
from .link import AgentsDesk, RayLink
from .replaced import RETRY_PAUSE, Replaced, give_way
from .tool_server_link import ToolServersDesk

__all__ = ("Ties",)

log = logging.getLogger(__name__)

T = TypeVar("T")


class Ties(NamedTuple):
    """What binds an agent's actor to its fleet.

    Attributes:
        fleet: The fleet's name.
        desk: The Supervisor's actor.
        journal: The journal's; None: the fleet has none, and nothing follows an actor that dies.
        service: The fleet outlives the process that began it: Ray starts another process of an actor that dies.
    """

    fleet: str
    desk: type[AgentsDesk]
    journal: type[JournalActor] | None
    service: bool = False

    @property
    def supervisor(self) -> Replaced[type[AgentsDesk]]:
        """The way to the Supervisor."""
        return Replaced(self.desk, SUPERVISOR, self.fleet, again=self.journal is not None)

    async def next_life(self, agent: AgentId) -> Incarnation | None:
        """The number of an agent's next life, after its process died; None: there is to be none."""
        way = self.supervisor
        ended = decode(await asked(way, lambda desk: desk.find.remote(agent)), AgentStatus).incarnation
        return await asked(way, lambda desk: desk.next_life.remote(agent, ended, os.getpid()))

    async def stopped(self, agent: AgentId) -> str:
        """Why an agent may do nothing more, in whichever life; empty: it may."""
        return decode(await asked(self.supervisor, lambda desk: desk.find.remote(agent)), AgentStatus).stopped

    async def tool_servers(self) -> type[ToolServersDesk]:
        """The actor that runs MCP servers on this process's node."""
        node = ray.get_runtime_context().get_node_id()
        return await asked(self.supervisor, lambda desk: desk.tool_servers.remote(node))

    def surroundings(self, kinds: Mapping[str, bytes], tracer: Tracer | None) -> Surroundings:
        """The ports of an agent's host, in this process.

        `kinds` are the descriptions that it may spawn, `tracer` is where spans go; None: nowhere.
        """
        link = RayLink(self.supervisor)
        log = None if self.journal is None else FleetLog(RayJournal(self.journal, self.fleet), self.fleet)
        post = RayPost(namespace(self.fleet), link.find, link.receipt)
        return Surroundings(
            link,
            post,
            SystemClock(),
            log,
            give_way,
            leased=self.journal is not None,
            children=RayChildren(self.supervisor, kinds),
            fleet=self.fleet,
            tracer=tracer,
            node=cast("Callable[[], str]", ray.util.get_node_ip_address)(),
        )


async def asked(way: Replaced[type[AgentsDesk]], call: Callable[[type[AgentsDesk]], Awaitable[T]]) -> T:
    """Ask the Supervisor until it answers: without it this actor can do nothing."""
    while True:
        try:
            return await way.ask(call)
        except PeerUnreachable as error:
            log.warning("the Supervisor is asked again: %s", error)
            await asyncio.sleep(RETRY_PAUSE)
