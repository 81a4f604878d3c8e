"""The Supervisor's actor: thin methods around `runtime.supervision.Supervisor`.

Those for agents are in `link.py`, those for people in `steering_desk.py`. Every method is quick: a call costs Ray half
a millisecond of CPU, many times what the Supervisor itself needs.
"""

import asyncio
import logging
from functools import partial

import ray

from ..protocols.checkin import AgentStatus
from ..protocols.errors import FleetError
from ..protocols.ids import SUPERVISOR, AgentId, Incarnation
from ..runtime.clock import SystemClock
from ..runtime.errors import PeerUnreachable
from ..runtime.journal.fleet_log import FleetLog
from ..runtime.journal_errors import Fenced, JournalConflict, JournalUnavailable
from ..runtime.notes import FIRST, NotePoster
from ..runtime.ports import Clock
from ..runtime.supervision.command_log import JournaledCommands
from ..runtime.supervision.commands import Newcomer
from ..runtime.supervision.ownership import check_owner
from ..runtime.supervision.policy import WatchPolicy
from ..runtime.supervision.replay import bury_all, perform
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
from .reach import RayReach
from .reborn import Reborn
from .replaced import RETRY_PAUSE, give_way
from .steering_desk import SteeringDesk
from .tool_server_link import ToolServersDesk
from .tool_servers import create_tool_servers
from .waits import RayAgents

__all__ = ("SupervisorActor",)

log = logging.getLogger(__name__)


class SupervisorActor(SteeringDesk, Reborn):
    """The whole Supervisor, for systems and people."""

    _made: Supervisor | None = None
    _watchdog: Watchdog | None = None
    _watching: asyncio.Task[None] | None = None
    _log: JournaledCommands | None = None
    _watch: WaitWatch | None = None

    def __init__(self, charter: Charter, policy: WatchPolicy | None) -> None:
        """Keep what `open` needs. `policy`: what the watch does; None: the defaults."""
        super().__init__(charter)
        self._policy = policy
        self._closed = asyncio.Event()
        self._opening = asyncio.Lock()
        self._failed = ""
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
        commands = await self._commands(clock, first=first)
        state = BEGINNING if commands is None else await commands.open()
        epoch = FIRST if commands is None else commands.epoch
        fleet, limit = self._charter.fleet, self._charter.limit
        post = RayPost(namespace(fleet), self._row)
        self._notes = NotePoster(post, clock, epoch)
        made = Supervisor(fleet=fleet, limit=limit, now=clock.now, post=self._notes, log=commands, state=state)
        if commands is not None:
            commands.begin(partial(perform, made))
        if first:
            made.begin(self._charter.owner, limit)
            bury_all(made, ENDED)
        self._log, self._watch = commands, WaitWatch(made, RayAgents(post), clock)
        reach = RayReach(post, made.stop, service=self._charter.service)
        watchdog = Watchdog(made, reach, self._notes, clock, self._policy)
        self._made = made
        self._watchdog = watchdog  # the last: with both, other groups answer
        self._watching = watch_over(watchdog)
        await self._written()

    def _rows(self) -> tuple[AgentStatus, ...]:
        """The rows of all agents, each with a note that says why it is so."""
        return self._calls.explained(super()._rows())

    async def _commands(self, clock: Clock, *, first: bool) -> JournaledCommands | None:
        """What the journal keeps of the Supervisors before, if there is a journal."""
        if self._charter.journal is None:
            return None
        log = FleetLog(RayJournal(self._charter.journal, self._charter.fleet), self._charter.fleet)
        if not first:
            await check_owner(log, self._charter.owner)
        return JournaledCommands(await log.ledger(clock), clock)

    async def _written(self) -> None:
        try:
            await self._supervisor.log.written()
        except (Fenced, JournalConflict) as error:  # another process has the accounts: this one may answer nobody more
            give_way(str(error))

    @ray.method
    async def close(self) -> None:
        """Give up on notes that are still on their way, and write the rest."""
        self._closed.set()
        if self._watching is not None:
            self._watching.cancel()
        if self._watch is not None:
            await self._watch.aclose()
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
        lives = self._supervisor.admit_all(newcomers, pid)
        await self._written()
        return list(lives)

    @ray.method(concurrency_group=CONTROL)
    async def died(self, agent: AgentId, incarnation: Incarnation, reason: str, restart: bool) -> bool:  # noqa: FBT001
        """Note that a life is over; gives whether the next one is to be begun, if its owner would `restart` it."""
        again = self._supervisor.died(agent, incarnation, reason, restart=restart)
        await self._written()
        return again

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

    async def _row(self, agent: AgentId) -> AgentStatus:
        return self._supervisor.find(agent)
