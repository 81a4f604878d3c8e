"""Whoever reads a fleet's notices while its Supervisor dies misses none and gets none twice."""

import asyncio

from hypothesis import example, given
from hypothesis import strategies as st

from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.protocols.ids import AgentId, Incarnation
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.journal_errors import JournalUnavailable
from amrita_fleet.runtime.supervision.command_log import Cadence
from amrita_fleet.runtime.watching import next_notices

from .supervision.asked import Process

AGENTS = (AgentId("ana"), AgentId("bob"))
LIFE = Incarnation(1)


class AwayJournal(MemoryJournal):
    """Takes nothing while it is away."""

    away = False

    async def append(
        self, stream: str, incarnation: int, first: int, records: tuple[bytes, ...], *, snapshot: bool = False
    ) -> None:
        if self.away:
            raise JournalUnavailable(where="here", reason="it is away")
        await super().append(stream, incarnation, first, records, snapshot=snapshot)


class Watched:
    """A fleet whose Supervisor dies, two agents that tell it things, and somebody who reads the notices."""

    def __init__(self) -> None:
        self.clock = VirtualClock(1_000.0)
        self.journal = AwayJournal(clock=self.clock)
        self.told = dict.fromkeys(AGENTS, 0)
        self.untold: dict[AgentId, list[Notice]] = {agent: [] for agent in AGENTS}
        self.read: list[Notice] = []

    async def begin(self) -> None:
        self.process = await self.next_process()
        for agent in AGENTS:
            self.process.supervisor.admit(agent, None, None, 1)
        await self.process.log.written()
        self.reading = asyncio.create_task(self.read_on())

    async def next_process(self) -> Process:
        return await Process(self.journal, self.clock, Cadence(commands=2, growth=0.0)).open()

    async def read_on(self) -> None:
        log, feed = self.process.log, self.process.supervisor.feed
        while True:
            after = self.read[-1].number if self.read else 0
            self.read += await next_notices(feed, after, 60.0, log.written)

    async def tell(self, agent: AgentId, count: int) -> None:
        """An agent reports so many new things, beside those of which it does not know that they arrived."""
        for _ in range(count):
            self.told[agent] += 1
            text = f"{agent} {self.told[agent]}"
            self.untold[agent].append(Notice(NoticeType.STEP, "x", agent, text, number=self.told[agent]))
        status = AgentStatus(agent, LIFE, "thinking", since=1.0)
        self.process.supervisor.report(status, tuple(self.untold[agent]))
        await self.settled()
        if not self.journal.away:
            await self.process.log.written()
            self.untold[agent].clear()

    async def settled(self) -> None:
        """Whoever can go on without time passing has done so: a writer whose journal is away sleeps for good."""
        for _ in range(30):
            await asyncio.sleep(0)

    async def die(self) -> None:
        """Another process goes on with what is written, and the reader with what was read."""
        self.reading.cancel()
        await asyncio.gather(self.reading, return_exceptions=True)
        self.journal.away = False
        self.process = await self.next_process()
        self.reading = asyncio.create_task(self.read_on())

    async def end(self) -> None:
        """All is told, and read."""
        if self.journal.away:
            await self.die()
        for agent in AGENTS:
            await self.tell(agent, 1)
        await self.settled()
        self.reading.cancel()
        await asyncio.gather(self.reading, return_exceptions=True)


Step = tuple[AgentId, int] | None
"""An agent tells so many things. None: the Supervisor dies, if its journal is away; else that goes away."""


@example(steps=[None, (AGENTS[0], 3), None, (AGENTS[1], 3)])
@given(st.lists(st.none() | st.tuples(st.sampled_from(AGENTS), st.integers(1, 3)), max_size=12))
def test_who_reads_beyond_a_supervisors_death_gets_each_notice_once_and_in_order(steps: list[Step]) -> None:
    async def main() -> None:
        watched = Watched()
        await watched.begin()
        for step in steps:
            if step is not None:
                await watched.tell(*step)
            elif watched.journal.away:
                await watched.die()
            else:
                watched.journal.away = True
        await watched.end()

        assert [notice.number for notice in watched.read] == [*range(1, len(watched.read) + 1)]
        for agent in AGENTS:
            texts = [notice.text for notice in watched.read if (notice.agent, notice.type) == (agent, NoticeType.STEP)]
            assert texts == [f"{agent} {number}" for number in range(1, watched.told[agent] + 1)]

    asyncio.run(main())
