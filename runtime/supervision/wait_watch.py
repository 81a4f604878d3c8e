"""Looks after waits that have begun, as long as there are any.

Those it waits for may die or stop later, and a Supervisor that has taken over for another one does not know who waits.
And where all agents are idle or waiting, nobody will write, although no knot says so: an idle agent could act, but
nobody has it do anything.
"""

import asyncio
import logging

from ...protocols.checkin import AgentStatus
from ...protocols.waits import WaitRequest
from ..ports import Clock
from ..standing_work import StandingWork
from .quiescence import RESTING, Look, is_quiet, releasable
from .supervisor import Supervisor
from .wait_desk import GONE, WAITING, Agents, WaitDesk
from .wording import QUIET

__all__ = ("LOOK_PAUSE", "WaitWatch")

log = logging.getLogger(__name__)

LOOK_PAUSE = 10.0
"""Seconds between two looks. A fleet that is quiet at two of them, and the same, stays so."""

DONE = "done"
"""The phase of an agent that hands out an outcome. Nothing need be reported after that, so it may be idle since."""


class WaitWatch:
    """Looks after the waits of one fleet. It belongs to one event loop.

    Attributes:
        desk: Where agents say that they begin to wait.
    """

    def __init__(self, supervisor: Supervisor, agents: Agents, clock: Clock) -> None:
        """Begin, in the running loop."""
        self._supervisor = supervisor
        self.desk = WaitDesk(supervisor, agents)
        self._agents = agents
        self._clock = clock
        if any(row.phase == WAITING for row in self._living()):  # as an earlier Supervisor has known
            self.desk.news.set()
        self._watching = StandingWork(self._watch(), "nobody looks after the waits of agents any more")

    async def aclose(self) -> None:
        """Look no more."""
        await self._watching.aclose()

    async def _watch(self) -> None:
        while True:
            await self.desk.news.wait()
            before: Look | None = None
            while await self._somebody_waits():
                before = await self._look(before)
                await self._clock.sleep(LOOK_PAUSE)

    async def _somebody_waits(self) -> bool:
        """Whether there is anything to look after, once what the desk knows and what agents report agree."""
        self.desk.news.clear()
        living = self._living()
        await asyncio.gather(*(self._learn(row, self.desk.waits.get(row.agent)) for row in living))
        names = {row.agent for row in living}
        for wait in self.desk.waits.values():
            if wait.agent not in names:
                self.desk.end(wait)
        return bool(self.desk.waits) or any(row.phase == WAITING for row in self._living())

    async def _learn(self, row: AgentStatus, wait: WaitRequest | None) -> None:
        """Ask an agent that waits, as it reports, and has not said so here, or the other way round."""
        if (row.phase == WAITING) == (wait is not None):
            return
        standing = await self._agents.standing(row.agent)
        if standing is None:
            return
        if standing.wait:
            begun = WaitRequest(row.agent, standing.incarnation, standing.step, standing.wait, standing.senders)
            if wait != begun:
                self.desk.begin(begun)
        elif wait is not None:
            self.desk.end(wait)

    async def _look(self, before: Look | None) -> Look | None:
        """End the waits that nobody would; gives how the fleet stands if it is quiet, and was not so before."""
        for wait in self.desk.waits.values():
            if (refusal := await self.desk.judged(wait)) is not None:
                await self._agents.end_wait(wait.agent, wait.incarnation, wait.op, refusal)
        look = await self._standings()
        if look is None or not is_quiet(look):
            return None
        if look != before:
            return look
        for agent, each in releasable(look).items():
            await self._agents.end_wait(agent, each.incarnation, each.wait, QUIET)
        return None

    async def _standings(self) -> Look | None:
        """How all agents stand; None where some do not say, or have reported that they are at work."""
        rows = self._living()
        if any(row.phase not in (*RESTING, DONE) for row in rows):
            return None
        agents = [row.agent for row in rows]
        found = await asyncio.gather(*map(self._agents.standing, agents))
        look = {agent: each for agent, each in zip(agents, found, strict=True) if each is not None}
        return look if len(look) == len(agents) else None

    def _living(self) -> list[AgentStatus]:
        return [row for row in self._supervisor.statuses() if row.phase not in GONE]
