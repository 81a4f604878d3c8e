"""The Supervisor's actor: thin methods around `runtime.supervision.Supervisor`.

Those for agents are in `link.py`, those for people in `steering_desk.py`. Every method is quick: a call costs Ray half
a millisecond of CPU, many times what the Supervisor itself needs.
"""

import asyncio
import logging
import os
import sys
from functools import partial
from typing import cast

import ray

from ..protocols.checkin import DEAD, AgentStatus
from ..protocols.codec import decode, encode
from ..protocols.errors import FleetError
from ..protocols.ids import SUPERVISOR, AgentId, Incarnation, MessageId
from ..protocols.mail import Receipt
from ..protocols.spawning import SpawnRequest, StopRequest
from ..runtime.agent_channel import Seat
from ..runtime.clock import SystemClock
from ..runtime.dead_letters import DeadLetterOffice
from ..runtime.errors import PeerUnreachable
from ..runtime.journal.fleet_log import FleetLog
from ..runtime.journal_errors import Fenced, JournalConflict, JournalUnavailable
from ..runtime.log_context import LogPlace
from ..runtime.log_json import json_logs_asked, write_json_logs
from ..runtime.metrics.catalogue import CHECK_IN_SECONDS
from ..runtime.metrics.recorder import MetricsRecorder
from ..runtime.metrics.tally import NO_LABELS
from ..runtime.notes import FIRST, NotePoster
from ..runtime.standing_work import StandingWork
from ..runtime.supervision.command_log import JournaledCommands
from ..runtime.supervision.commands import Newcomer
from ..runtime.supervision.ownership import check_owner
from ..runtime.supervision.policy import WatchPolicy
from ..runtime.supervision.replay import bury_all, perform
from ..runtime.supervision.spawn_desk import SpawnDesk
from ..runtime.supervision.spawn_watch import SpawnWatch
from ..runtime.supervision.state import BEGINNING
from ..runtime.supervision.succession import next_life
from ..runtime.supervision.supervisor import Supervisor
from ..runtime.supervision.wait_desk import WaitDesk
from ..runtime.supervision.wait_watch import WaitWatch
from ..runtime.supervision.wording import ENDED
from ..runtime.watchdog import Watchdog, watch_over
from .channel import CONTROL, RayPost, namespace
from .journal import RayJournal
from .link import Charter
from .metrics import RayMeter
from .reach import RayReach, Watched
from .reborn import Reborn, myself
from .replaced import RETRY_PAUSE, give_way
from .spawn_orders import Ordered, SpawnOrders
from .steering_desk import SteeringDesk
from .tool_server_link import ToolServersDesk
from .tool_servers import create_tool_servers
from .unopened import RayBirths
from .waits import RayAgents

__all__ = ("SupervisorActor",)

log = logging.getLogger(__name__)

TELL_PATIENCE = 1.0
"""Seconds an agent has to hear that it is stopped; its next check-in tells it all the same."""


class SupervisorActor(SteeringDesk, Reborn):
    """The whole Supervisor, for systems and people."""

    _made: Supervisor | None = None
    _watchdog: Watchdog | None = None
    _watching: StandingWork | None = None
    _recording: StandingWork | None = None
    _log: JournaledCommands | None = None
    _office: DeadLetterOffice | None = None
    _spawns: SpawnWatch | None = None
    _watch: WaitWatch | None = None
    _children: SpawnDesk | None = None

    def __init__(self, charter: Charter, policy: WatchPolicy | None) -> None:
        """Keep what `open` needs. `policy`: what the watch does; None: the defaults."""
        super().__init__(charter)
        self._policy = policy
        self._closed = asyncio.Event()
        self._opening = asyncio.Lock()
        self._orders = SpawnOrders()
        self._failed = ""
        self._meter = RayMeter(charter.fleet)
        if json_logs_asked(os.environ):
            write_json_logs(sys.stderr, LogPlace(charter.fleet, SUPERVISOR))
        self._born(service=charter.service)

    @property
    def _supervisor(self) -> Supervisor:
        """The Supervisor, once the fleet is open.

        Raises:
            PeerUnreachable: It is still being started; the caller may try again.
        """
        if self._made is None:
            raise self._starting()
        return self._made

    @property
    def _calls(self) -> Watchdog:
        """Who answers check-ins and takes settlements; raises what `_supervisor` raises."""
        if self._watchdog is None:
            raise self._starting()
        return self._watchdog

    @property
    def _waits(self) -> WaitDesk:
        """Who is told of waits; raises what `_supervisor` raises."""
        if self._watch is None:
            raise self._starting()
        return self._watch.desk

    @property
    def _letters(self) -> DeadLetterOffice:
        """Who knows of the mail of the dead; raises what `_supervisor` raises."""
        if self._office is None or self._made is None:
            raise self._starting()
        return self._office

    def _starting(self) -> PeerUnreachable:
        return PeerUnreachable(agent=SUPERVISOR, reason=self._failed or "the fleet is being started")

    @property
    def _why_over(self) -> str:
        if self._made is None:
            return self._failed
        return f"it was stopped: {self._made.over}" if self._made.over else ""

    async def _again(self) -> None:
        """Go on with the fleet, in a process that Ray started after one that died."""
        async with self._opening:
            while self._made is None:
                try:
                    await self._open(first=False)
                except (PeerUnreachable, JournalUnavailable) as error:
                    log.warning("the fleet %s waits for its journal to go on: %s", self._charter.fleet, error)
                    await asyncio.sleep(RETRY_PAUSE)
                except FleetError as error:
                    self._failed = f"the fleet cannot go on: {error}"
                    log.exception("the fleet %s cannot go on", self._charter.fleet)
                    return

    @ray.method
    async def open(self, first: bool) -> None:  # noqa: FBT001  Ray's calls are positional
        """Begin a fleet without agents, or go on with what its journal knows; notes are posted from this group's loop.

        `first`: no process of this fleet's owner had a Supervisor before, so whoever lived then has died with it.
        """
        async with self._opening:
            if self._made is None:  # else a further process of this actor has begun by itself meanwhile
                await self._open(first=first)

    async def _open(self, *, first: bool) -> None:
        clock = SystemClock()
        log = await self._fleet_log(first=first)
        commands = None if log is None else JournaledCommands(await log.ledger(clock), clock)
        state = BEGINNING if commands is None else await commands.open()
        epoch = FIRST if commands is None else commands.epoch
        fleet, limit = self._charter.fleet, self._charter.limit
        post = RayPost(namespace(fleet), self._row, self._left)
        self._notes = NotePoster(post, clock, epoch)
        made = Supervisor(fleet=fleet, limit=limit, now=clock.now, post=self._notes, log=commands, state=state)
        if commands is not None:
            commands.begin(partial(perform, made))
        if first:
            made.begin(self._charter.owner, limit, self._charter.restarts)
            bury_all(made, ENDED)
        self._post, self._log, self._watch = post, commands, WaitWatch(made, RayAgents(post), clock)
        self._children = SpawnDesk(made, self._written, self._close)
        self._office = DeadLetterOffice(made, log, clock)
        if self._charter.service:
            self._spawns = SpawnWatch(made, RayBirths(fleet), clock, self._charter.spawn_patience)
        reach = RayReach(post, made.stop, service=self._charter.service)
        watchdog = Watchdog(made, reach, self._notes, clock, self._policy)
        self._made = made
        self._watchdog = watchdog  # the last: with both, other groups answer
        self._watching = watch_over(watchdog)
        self._recording = StandingWork(
            MetricsRecorder(made, self._meter, clock).record(), "nobody keeps the fleet's metrics any more"
        )
        await self._written()

    def _answered(self, seconds: float) -> None:
        self._meter.observe(CHECK_IN_SECONDS, NO_LABELS, seconds)

    def _rows(self) -> tuple[AgentStatus, ...]:
        """The rows of all agents, each with a note that says why it is so."""
        return self._calls.explained(super()._rows())

    async def _fleet_log(self, *, first: bool) -> FleetLog | None:
        """The fleet's streams, which are this owner's; None: there is no journal."""
        if self._charter.journal is None:
            return None
        log = FleetLog(RayJournal(self._charter.journal, self._charter.fleet), self._charter.fleet)
        if not first:
            await check_owner(log, self._charter.owner)
        return log

    async def _written(self) -> None:
        try:
            await self._supervisor.log.written()
        except (Fenced, JournalConflict) as error:  # another process has the accounts: this one may answer nobody more
            give_way(str(error))

    async def _close(self, agents: tuple[AgentId, ...]) -> None:
        """Close the mailboxes of those that are dead for good, before they are admitted again."""
        try:
            await self._letters.close(agents)
        except Fenced as error:  # another process has the fleet, and this agent lives there
            give_way(str(error))

    @ray.method
    async def close(self) -> None:
        """Give up on notes that are still on their way, and write the rest."""
        self._closed.set()
        if self._watching is not None:
            await self._watching.aclose()
        if self._recording is not None:
            await self._recording.aclose()
        if self._children is not None:
            await self._children.aclose()
        if self._watch is not None:
            await self._watch.aclose()
        if self._office is not None:
            await self._office.aclose()
        if self._spawns is not None:
            await self._spawns.aclose()
        if self._made is not None:
            await self._notes.aclose()
        if self._log is not None:
            await self._log.aclose()

    @ray.method
    async def closed(self) -> None:
        """Park until `close`; see `AgentActor.closed`."""
        await self._closed.wait()

    @ray.method(concurrency_group=CONTROL)
    async def admit(self, newcomers: list[Newcomer], pid: int) -> list[Incarnation]:
        """Take in agents, all or none; `pid` is the process that asks. Gives the numbers of their lives."""
        await self._close(tuple(newcomer.agent for newcomer in newcomers))
        lives = self._supervisor.admit_all(newcomers, pid)
        await self._written()
        return list(lives)

    @ray.method(concurrency_group=CONTROL)
    async def died(self, agent: AgentId, incarnation: Incarnation, reason: str, restart: bool) -> bool:  # noqa: FBT001
        """Note that a life is over; gives whether the next one is to be begun, if its owner would `restart` it."""
        again = self._supervisor.died(agent, incarnation, reason, restart=restart)
        await self._written()
        return again

    @ray.method
    async def spawn(self, request: bytes, *description: bytes) -> bytes:
        """Let a child in and have it come to life; see `AgentsDesk`."""
        if self._children is None:
            raise self._starting()
        asked = decode(request, SpawnRequest)
        return encode(await self._children.ask(asked, partial(self._bear, asked, description)))

    async def _bear(self, asked: SpawnRequest, description: tuple[bytes, ...], life: Incarnation) -> None:
        seat = Seat(asked.name, life, asked.agent)
        if self._charter.bear is None:
            await self._orders.carry_out(seat, description)
        else:
            await self._charter.bear(self._charter, myself(), seat, description)

    @ray.method
    async def stop_child(self, request: bytes) -> bytes:
        """Stop one below an agent, and all under it; see `AgentsDesk`. Who cannot be told has the tombstone."""
        asked = decode(request, StopRequest)
        answer = self._supervisor.stop_child(asked)
        await self._written()
        await asyncio.gather(*(self._tell_stopped(agent, asked.reason) for agent in answer.stopped))
        return encode(answer)

    async def _tell_stopped(self, agent: AgentId, reason: str) -> None:
        try:
            async with asyncio.timeout(TELL_PATIENCE):
                await self._post.ask(agent, lambda handle: cast("type[Watched]", handle).stop.remote(reason))
        except (TimeoutError, FleetError) as error:
            log.info("%s was not told that it is stopped: %s", agent, str(error) or "it takes too long")

    @ray.method
    async def spawn_orders(self, known: list[str]) -> list[Ordered]:
        """Park until there are children for the owner to bring to life, beside those that it knows of."""
        return await self._orders.fresh(known)

    @ray.method
    async def spawn_ended(self, order: str, seat: Seat, failure: str) -> bool:
        """The owner has brought a child to life, or cannot, for the reason `failure`; gives whether it is to live.

        One that was ordered of an earlier process of this actor is to live if it was let in and nobody gave it up.
        """
        if self._orders.ended(order, failure):
            return True
        row = self._supervisor.find(seat.name)
        return row.incarnation == seat.incarnation and row.phase != DEAD

    @ray.method(concurrency_group=CONTROL)
    async def next_life(self, agent: AgentId, ended: Incarnation, pid: int) -> Incarnation | None:
        """Bury a life and admit the next; see `AgentsDesk`."""
        life = next_life(self._supervisor, agent, ended, pid)
        await self._written()
        return life

    @ray.method(concurrency_group=CONTROL)
    async def tool_servers(self, node: str) -> type[ToolServersDesk]:
        """The actor that runs MCP servers on a node; see `AgentsDesk`."""
        return await asyncio.to_thread(create_tool_servers, self._charter.fleet, node, service=True)

    @ray.method(concurrency_group=CONTROL)
    async def receipt(self, agent: AgentId, message: MessageId) -> bytes:
        """What became of a message to an agent that has no process; see `AgentsDesk`."""
        found = await self._left(agent, message)
        return b"" if found is None else encode(found)

    async def _row(self, agent: AgentId) -> AgentStatus:
        return self._supervisor.find(agent)

    async def _left(self, agent: AgentId, message: MessageId) -> Receipt | None:
        return await self._letters.receipt(agent, message)
