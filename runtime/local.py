"""The system in this process: the same hosts, Supervisor and channel as on a cluster, without Ray."""

import asyncio
import logging
import os
import secrets
from functools import partial
from pathlib import Path

from ..protocols.checkin import AgentStatus
from ..protocols.ids import USER, AgentId, Incarnation, RunId
from ..protocols.limits import Limits
from ..protocols.notices import Notice
from ..protocols.outcome import Outcome
from ..protocols.restarts import RestartPolicy
from .agent import Agent
from .approvals import ApprovalPort
from .budgets import BudgetPort
from .clock import SystemClock
from .config import adopt_config
from .control import Controls, Kill
from .dead_letters import DeadLetterOffice
from .draining import Drain
from .errors import FleetClosed
from .host import AgentHost, Seat, Surroundings
from .insight import Sights
from .journal.choose import open_journal
from .journal.fleet_log import FleetLog
from .journal_errors import JournalUnavailable
from .local_children import LocalChildren
from .local_succession import LocalSuccession
from .local_watch import LocalReach
from .local_ways import LocalAgents, LocalApprovals, LocalBudgets, LocalDrain, LocalLink, LocalPost, one_owner
from .notes import FIRST, NotePoster
from .ports import Clock, Journal, PostOffice
from .standing_work import StandingWork
from .supervision.account import Account
from .supervision.command_log import JournaledCommands
from .supervision.policy import WatchPolicy
from .supervision.replay import bury_all, perform
from .supervision.restart import USUAL
from .supervision.state import BEGINNING
from .supervision.supervisor import Supervisor
from .supervision.wait_watch import WaitWatch
from .supervision.wording import ENDED, UNSPAWNED
from .suspension import Stand
from .system import STOP_PATIENCE, Progress, SpawnOrder, Stopped, with_children
from .tools.mcp.pool import ServerPool
from .tools.served import served_tools
from .trace_setup import open_tracer
from .tracing import Tracer, current_traceparent
from .watchdog import Watchdog, watch_over
from .watching import next_notices

__all__ = ("LocalSystem", "open_system")

log = logging.getLogger(__name__)


class LocalSystem:
    """Agents as objects of this process. Everything belongs to the loop that `open` was called in.

    Attributes:
        fleet: The fleet's name.
        approvals: The way to the calls that wait for a person; there once the system is open.
        control: Gives the way to a live agent; there once the system is open.
        insight: Gives the way to look into a live agent; there once the system is open.
        kill: Ends an agent's process; there once the system is open.
        drain: Has all agents go on to their next boundary; there once the system is open.
        budgets: The way to the limits; there once the system is open.
    """

    approvals: ApprovalPort
    budgets: BudgetPort
    control: Controls
    insight: Sights
    kill: Kill
    drain: Drain

    def __init__(  # noqa: PLR0913  what a fleet is told once
        self,
        fleet: str,
        limit: Limits | None,
        clock: Clock | None = None,
        journal: Journal | None = None,
        *,
        owns_journal: bool = False,
        restarts: RestartPolicy = USUAL,
        watch: WatchPolicy | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        """Nothing runs before `open`.

        Args:
            fleet: Its name; with a journal that has a fleet of this name, that one is gone on with.
            limit: The most that all agents together may spend; None: no limit.
            clock: Time; None: the machine's.
            journal: Where everything is written that another process needs to go on; None: nowhere.
            owns_journal: It is closed with the system.
            restarts: How often an agent may be restarted.
            watch: What is done about agents that hang or loop; None: the defaults.
            tracer: Where spans go; None: as the program or the environment says.
        """
        self.fleet = fleet
        self._limit = limit
        self._restarts = restarts
        self._clock = clock or SystemClock()
        self._log = None if journal is None else FleetLog(journal, fleet)
        self._owned = journal if owns_journal else None
        self._commands: JournaledCommands | None = None
        self._hosts: dict[AgentId, AgentHost] = {}
        self._policy = watch
        self._tracer = tracer
        self._watching: StandingWork | None = None
        self._servers = ServerPool(self._clock.monotonic)

    async def open(self) -> None:
        """Start the Supervisor, or go on with the accounts of an earlier process.

        Raises:
            JournalUnavailable: The journal cannot be reached.
            JournalInvalid: It is something else.
            RecordInvalid: What it holds of the fleet cannot be read.
        """
        try:
            self._tracer = self._tracer or open_tracer(self.fleet)
            await self._begin()
        except BaseException:
            await self._close_ports()
            raise

    async def _begin(self) -> None:
        clock = self._clock
        state = BEGINNING
        if self._log is not None:
            self._commands = JournaledCommands(await self._log.ledger(clock), clock)
            state = await self._commands.open()
        self._supervisor = Supervisor(
            fleet=self.fleet, limit=self._limit, now=clock.now, post=self._send_note, log=self._commands, state=state
        )
        self._post = LocalPost(self._hosts, self._supervisor)
        self.approvals = LocalApprovals(self._hosts, self._post)
        self.budgets = LocalBudgets(self._supervisor, partial(self._tell_pause, reason=None))
        self.control, self.insight = self._post.control, self._post.insight
        self.drain = self._drain = LocalDrain(self._hosts, self._supervisor, clock)
        self._notes = NotePoster(self._post, clock, self._commands.epoch if self._commands else FIRST)
        if self._commands is not None:
            self._commands.begin(partial(perform, self._supervisor))
        self._supervisor.begin(secrets.token_hex(8), self._limit, self._restarts)
        bury_all(self._supervisor, ENDED)
        self._post.office = self._office = DeadLetterOffice(self._supervisor, self._log, clock)
        self._watch = WaitWatch(self._supervisor, LocalAgents(self._hosts), clock)
        self._lives = LocalSuccession(
            self._supervisor,
            self._post,
            self._hosts,
            self._servers,
            self._bring_to_life,
            self._stop,
            again=self._log is not None,
        )
        self.kill = self._lives.end_process
        reach = LocalReach(self._post, self._lives.kill, lambda agent, reason: self.stop((agent,), reason))
        self._watchdog = Watchdog(self._supervisor, reach, self._send_note, clock, self._policy)
        link = LocalLink(self.fleet, self._supervisor, self._watch.desk, self._watchdog)
        self._children = LocalChildren(
            self.fleet, self._supervisor, self._post, self._hosts, self._lives, self._office.close
        )
        self._around = self._surroundings(link)
        self._watching = watch_over(self._watchdog)

    def _surroundings(self, link: LocalLink) -> Surroundings:
        post, clock, log, children = self._post, self._clock, self._log, self._children
        return Surroundings(link, post, clock, log, children=children, fleet=self.fleet, tracer=self._tracer)

    def _send_note(self, agent: AgentId, text: str) -> None:
        self._notes(agent, text)

    @property
    def post(self) -> PostOffice:
        """The way to the mailboxes."""
        return self._post

    async def close(self) -> None:
        """End every host, whatever becomes of another one. Safe to call twice."""
        self._drain.begun = True
        if self._watching is not None:
            await self._watching.aclose()
        await self._watch.aclose()
        await self._office.aclose()
        hosts = tuple(self._hosts.values())
        self._hosts.clear()
        ended = await asyncio.gather(*(host.close() for host in hosts), return_exceptions=True)
        await self._children.aclose()
        await self._servers.aclose()
        await self._notes.aclose()
        await self._close_ports()
        for error in filter(None, ended):
            raise error

    async def _close_ports(self) -> None:
        if self._commands is not None:
            await self._commands.aclose()
        if self._owned is not None:
            await self._owned.aclose()
        if self._tracer is not None:
            await self._tracer.aclose()

    async def spawn(self, orders: tuple[SpawnOrder, ...], progress: Progress) -> None:
        """Bring agents to life; all of them or none.

        Raises:
            NameTaken: The fleet has such an agent.
            NameInvalid: No agent can be named so.
            AgentUnknown: There is no such parent.
            ToolServerFailed: An MCP server of an agent cannot be used.
            FleetClosed: The system is being closed.
            FleetTaken: Another process has gone on with the fleet.
        """
        orders = with_children(orders, self._supervisor.statuses())
        newcomers = [order.newcomer for order in orders]
        with one_owner(self.fleet):
            await self._office.close(order.name for order in orders)
        lives = self._supervisor.admit_all(newcomers, os.getpid())
        names = {order.name for order in orders}
        self._post.coming |= names
        seats = [Seat(order.name, life, order.parent) for order, life in zip(orders, lives, strict=True)]
        try:
            with one_owner(self.fleet):
                await self._supervisor.log.written()
                for ready, (seat, order) in enumerate(zip(seats, orders, strict=True), start=1):
                    await self._lives.begin_first(seat, order)
                    progress(ready, len(orders))
        except BaseException:
            await self._undo(seats)
            raise
        finally:
            self._post.coming -= names

    async def _bring_to_life(self, seat: Seat, agent: Agent) -> None:
        self._expect_no_end()
        adopt_config(agent.config)
        tools = await served_tools(self._servers, (seat.name, seat.incarnation), agent.servers, agent.tools)
        host = AgentHost(agent, seat, self._around, tools)
        try:
            await host.open(self._supervisor.find(seat.name).stopped)
            self._expect_no_end()  # a drain or a close that began meanwhile has not seen this one
        except BaseException:
            await host.close()
            raise
        self._hosts[seat.name] = host
        self._post.coming.discard(seat.name)
        if stopped := self._supervisor.find(seat.name).stopped:  # a stop that came meanwhile has not seen it either
            host.stop(stopped)

    def _expect_no_end(self) -> None:
        if self._drain.begun:
            raise FleetClosed(fleet=self.fleet, stage="closed")

    async def _undo(self, seats: list[Seat]) -> None:
        """End those that were to live together with one that could not."""
        for seat in seats:
            self._supervisor.died(seat.name, seat.incarnation, UNSPAWNED)
        begun = [self._hosts.pop(seat.name) for seat in seats if seat.name in self._hosts]
        for error in filter(None, await asyncio.gather(*(host.close() for host in begun), return_exceptions=True)):
            log.error("an agent whose spawn was undone could not close", exc_info=error)
        for seat in seats:
            await self._servers.release((seat.name, seat.incarnation))

    async def admit_user(self) -> Incarnation:
        """A new life of the person who sends.

        Raises:
            FleetTaken: Another process has gone on with the fleet.
        """
        life = self._supervisor.admit(USER, None, None, os.getpid())
        with one_owner(self.fleet):
            await self._supervisor.log.written()  # mailboxes take the mail of a life that is given twice for copies
        return life

    async def start(
        self,
        agent: AgentId,
        task: str,
        time_limit: float | None,
        said: tuple[str, ...] = (),
        stand: Stand | None = None,
        limit: Limits | None = None,
    ) -> RunId:
        """Queue a run; see `System`.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It has stopped.
            QueueFull: Too many runs wait.
            PriceMissing: Its money is limited, and a preset does not say what its model costs.
        """
        return await self._post.host(agent).start(task, time_limit, said, stand, limit, current_traceparent())

    async def outcome(self, agent: AgentId, run: RunId) -> Outcome:
        """Wait for the end of a run.

        Raises:
            AgentUnknown: There is no such agent.
            RunUnknown: It has no such run, or it ended too long ago.
        """
        return await self._lives.outcome(agent, run)

    async def stop(self, agents: tuple[AgentId, ...], reason: str) -> Stopped:
        """Stop agents and those below them; none given: all.

        Raises:
            AgentUnknown: There is no such agent; nobody is stopped.
            FleetTaken: They are stopped; another process has gone on with the fleet, and has agents of its own.
            JournalUnavailable: They are stopped, but another process may not learn of it.
        """
        named = self._supervisor.stop(agents, reason)
        ended = await asyncio.gather(*(self._stop(name, reason) for name in named))
        await self._written()
        return Stopped.of(zip(named, ended, strict=True))

    async def _stop(self, agent: AgentId, reason: str) -> bool:
        """Stop one agent; gives whether its run has ended in time."""
        host = self._hosts.get(agent)
        if host is None:  # it is being spawned, and will be told at its first check-in
            return False
        host.stop(reason)
        run = host.status().run
        if run is None:
            return True
        try:
            async with asyncio.timeout(STOP_PATIENCE):
                await host.outcome(run)
        except TimeoutError:
            return False
        return True

    async def pause(self, agent: AgentId, reason: str | None) -> None:
        """Pause an agent and those below it at the next boundary or model call; without a reason, let them go on.

        Raises:
            AgentUnknown: There is no such agent.
            FleetTaken: They have been told; another process has gone on with the fleet, and has agents of its own.
            JournalUnavailable: They have been told, but another process may not learn of it.
        """
        await self._tell_pause(self._supervisor.pause((agent,), reason), reason)

    async def _tell_pause(self, named: tuple[AgentId, ...], reason: str | None) -> None:
        for host in [self._hosts[name] for name in named if name in self._hosts]:
            host.pause(reason)
        await self._written()

    async def _written(self) -> None:
        """What was asked of the Supervisor is written; nobody waits for ever to be told so.

        Raises:
            FleetTaken: Another process has gone on with the fleet.
            JournalUnavailable: It is not written yet.
        """
        try:
            with one_owner(self.fleet):
                async with asyncio.timeout(STOP_PATIENCE):
                    await self._supervisor.log.written()
        except TimeoutError:
            raise JournalUnavailable(where=f"of {self.fleet}", reason="it does not answer") from None

    async def statuses(self, *, fresh: bool = True) -> tuple[AgentStatus, ...]:  # noqa: ARG002  asking costs nothing here
        """One row for each agent; hosts are asked for what only they know now."""
        for host in self._hosts.values():
            self._supervisor.report(host.status(), ())
        return self._watchdog.explained(self._supervisor.statuses())

    async def notices(self, after: int, wait: float) -> tuple[Notice, ...]:
        """Notices numbered above `after`, from the end if below 0; waits up to `wait` seconds while there are none."""
        return await next_notices(self._supervisor.feed, after, wait)

    async def accounts(self) -> tuple[Account, ...]:
        """The Supervisor's accounts."""
        return self._supervisor.accounts()


def open_system(
    fleet: str,
    limit: Limits | None,
    _address: str | None = None,
    journal: Journal | str | Path | None = None,
    restarts: RestartPolicy | None = None,
    watch: WatchPolicy | None = None,
) -> LocalSystem:
    """A system for `load_system("local")`. A journal that it opens itself it closes too.

    Raises:
        JournalInvalid: The journal's URL is none.
    """
    policy = restarts or USUAL
    if isinstance(journal, str | Path):
        owned = open_journal(journal)
        return LocalSystem(fleet, limit, journal=owned, owns_journal=True, restarts=policy, watch=watch)
    return LocalSystem(fleet, limit, journal=journal, restarts=policy, watch=watch)
