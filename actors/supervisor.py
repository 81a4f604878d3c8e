"""The Supervisor's actor: thin methods around `runtime.supervision.Supervisor`. Those for agents are in `link.py`.

Every method is quick. A call costs Ray half a millisecond of CPU, many times what the Supervisor itself needs.
"""

import asyncio
from functools import partial

import ray

from ..protocols.checkin import AgentStatus
from ..protocols.codec import decode, encode
from ..protocols.ids import SUPERVISOR, USER, AgentId, Incarnation
from ..runtime.clock import SystemClock
from ..runtime.errors import Fenced, JournalConflict, JournalInvalid, JournalUnavailable, PeerUnreachable
from ..runtime.journal.fleet_log import FleetLog
from ..runtime.notes import FIRST, NotePoster
from ..runtime.ports import Clock
from ..runtime.supervision.command_log import JournaledCommands
from ..runtime.supervision.replay import bury_all, perform
from ..runtime.supervision.supervisor import Newcomer, Supervisor
from ..runtime.supervision.wording import ENDED
from ..runtime.system import STOP_PATIENCE
from ..runtime.watching import next_notices
from .channel import CONTROL, RayPost, namespace
from .journal import JournalActor, RayJournal
from .link import AgentsDesk
from .replaced import give_way

__all__ = ("WATCH", "SupervisorActor")

WATCH = "watch"
"""Concurrency group beside `CONTROL`, the default one and those of agents: watchers never delay anybody."""


class SupervisorActor(AgentsDesk):
    """The whole Supervisor, for systems and people."""

    _made: Supervisor | None = None
    _log: JournaledCommands | None = None

    def __init__(self, fleet: str, limit: int | None, journal: type[JournalActor] | None) -> None:
        """Keep what `open` needs."""
        super().__init__(fleet, limit, journal)
        self._closed = asyncio.Event()

    @property
    def _supervisor(self) -> Supervisor:
        """The Supervisor, once the fleet is open.

        Raises:
            PeerUnreachable: It is still being started; the caller may try again.
        """
        if self._made is None:
            raise PeerUnreachable(agent=SUPERVISOR, reason="the fleet is being started")
        return self._made

    @ray.method
    async def open(self, first: bool) -> None:  # noqa: FBT001  Ray's calls are positional
        """Begin a fleet without agents, or go on with what its journal knows; notes are posted from this group's loop.

        `first`: no process of this fleet's owner had a Supervisor before, so whoever lived then has died with it.
        """
        clock = SystemClock()
        commands = await self._commands(clock)
        epoch = FIRST if commands is None else commands.epoch
        self._notes = NotePoster(RayPost(namespace(self._fleet), self._row), clock, epoch)
        made = Supervisor(fleet=self._fleet, limit=self._limit, now=clock.now, post=self._notes, log=commands)
        if commands is not None:
            if epoch == FIRST and not first:  # to begin again with empty accounts would be to forget the limits
                raise JournalInvalid(
                    where=f"What is left of {self._fleet!r}", reason="the fleet was deleted while it ran"
                )
            await commands.open(partial(perform, made))
            if first:
                bury_all(made, ENDED)
        self._log, self._made = commands, made
        await self._written()

    async def _commands(self, clock: Clock) -> JournaledCommands | None:
        """What the journal keeps of the Supervisors before, if there is a journal."""
        if self._journal is None:
            return None
        log = FleetLog(RayJournal(self._journal, self._fleet), self._fleet)
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
    async def admit_user(self, pid: int) -> Incarnation:
        """Number one more process through which a person speaks."""
        life = self._supervisor.admit(USER, None, None, pid)
        await self._written()
        return life

    @ray.method(concurrency_group=CONTROL)
    async def died(self, agent: AgentId, incarnation: Incarnation, reason: str, restart: bool) -> bool:  # noqa: FBT001
        """Note that a life is over; gives whether the next one is to be begun, if its owner would `restart` it."""
        again = self._supervisor.died(agent, incarnation, reason, restart=restart)
        await self._written()
        return again

    @ray.method(concurrency_group=CONTROL)
    async def statuses(self, fresh: list[bytes]) -> bytes:
        """The rows of all agents, after these `AgentStatus` were taken in."""
        for status in fresh:
            self._supervisor.report(decode(status, AgentStatus), ())
        return encode(self._supervisor.statuses())

    @ray.method(concurrency_group=CONTROL)
    async def accounts(self) -> bytes:
        """All accounts."""
        return encode(self._supervisor.accounts())

    @ray.method(concurrency_group=CONTROL)
    async def stop(self, agents: list[AgentId], reason: str) -> list[AgentId]:
        """Put tombstones; gives those that must be told."""
        return list(self._supervisor.stop(tuple(agents), reason))

    @ray.method(concurrency_group=CONTROL)
    async def pause(self, agents: list[AgentId], reason: str | None) -> list[AgentId]:
        """Pause, or without a reason resume; gives those that must be told."""
        return list(self._supervisor.pause(tuple(agents), reason))

    @ray.method(concurrency_group=CONTROL)
    async def written(self) -> None:
        """Wait until what was asked so far is written; raises `JournalUnavailable` when that takes too long."""
        try:
            async with asyncio.timeout(STOP_PATIENCE):
                await self._written()
        except TimeoutError:
            raise JournalUnavailable(where=f"of {self._fleet}", reason="it does not answer") from None

    @ray.method(concurrency_group=WATCH)
    async def notices(self, after: int, wait: float) -> bytes:
        """Notices numbered above `after`, from the end if below 0; parks up to `wait` seconds while there are none."""
        return encode(await next_notices(self._supervisor.feed, after, wait))

    async def _row(self, agent: AgentId) -> AgentStatus:
        return self._supervisor.find(agent)
