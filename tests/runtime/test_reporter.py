"""What the Supervisor has of an agent's notices when answers get lost on the way back."""

import asyncio
from collections.abc import Sequence
from enum import Enum, auto

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.protocols.ids import AgentId, Incarnation, RunId
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.errors import PeerUnreachable
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.local_ways import LocalAgents, LocalLink
from amrita_fleet.runtime.reporter import PAUSE, Reporter
from amrita_fleet.runtime.supervision.command_log import Cadence
from amrita_fleet.runtime.supervision.wait_desk import WaitDesk

from .supervision.asked import Process

ANA, BOB = AgentId("ana"), AgentId("bob")
FIRST = Incarnation(1)


class Fate(Enum):
    """What becomes of one report."""

    NEVER_ARRIVES = auto()
    ANSWER_LOST = auto()
    SUPERVISOR_DIES = auto()
    """After the report was written, and before its answer has gone out."""


class Line(LocalLink):
    """Loses as many reports as there are fates for, one after the other. The Supervisor has a journal."""

    def __init__(self, process: Process, fates: Sequence[Fate]) -> None:
        self.process = process
        self.notes: list[tuple[AgentId, str]] = []
        self._fates = list(fates)
        self._connect()

    def _connect(self) -> None:
        supervisor = self.process.supervisor
        super().__init__("f", supervisor, WaitDesk(supervisor, LocalAgents({})))

    async def report(self, status: AgentStatus, notices: tuple[Notice, ...]) -> None:
        fate = self._fates.pop(0) if self._fates else None
        if fate is not Fate.NEVER_ARRIVES:
            await super().report(status, notices)
            await self.process.log.written()
        if fate is Fate.SUPERVISOR_DIES:
            await self.replace()
        if fate is not None:
            raise PeerUnreachable(agent="supervisor", reason=fate.name)

    async def replace(self) -> None:
        """Have another process go on with what is written."""
        self.notes += self.process.notes
        self.process = await Process(self.process.journal, self.process.clock, self.process.cadence).open()
        self._connect()


def ended(number: int) -> Notice:
    """A run's end of which a parent is told."""
    facts = {"outcome": "failed", "text": f"{number}"}
    return Notice(NoticeType.RUN, "finished", BOB, f"{number}", RunId("r"), data=facts)


@example(adds=[1, 1], fates=[Fate.ANSWER_LOST], snapshots=False)
@example(adds=[2, 1, 3], fates=[Fate.SUPERVISOR_DIES, Fate.ANSWER_LOST, Fate.NEVER_ARRIVES], snapshots=True)
@given(
    adds=st.lists(st.integers(0, 3), min_size=1, max_size=10),
    fates=st.lists(st.sampled_from(Fate), max_size=10),
    snapshots=st.booleans(),
)
def test_each_notice_counts_once_and_in_order_whichever_answers_get_lost(
    adds: list[int], fates: list[Fate], *, snapshots: bool
) -> None:
    async def main() -> None:
        clock = VirtualClock(1_000.0)
        cadence = Cadence(commands=1, growth=0.0) if snapshots else Cadence(commands=10**9)
        process = await Process(MemoryJournal(clock=clock), clock, cadence).open()
        process.supervisor.admit(ANA, None, None, 1)
        process.supervisor.admit(BOB, ANA, None, 2)
        line = Line(process, fates)
        reporter = Reporter(line, clock, lambda: AgentStatus(BOB, FIRST, "thinking", since=9.0))

        given = 0
        for count in adds:
            for _ in range(count):
                reporter.add(ended(given))
                given += 1
            await clock.advance(PAUSE / 2)  # some of them come while others are sent again
        for _ in range(2 * len(fates) + 2):
            await clock.advance(PAUSE)
        await reporter.aclose()

        for _ in range(2):  # as it was told, then as the next process has it from the journal
            feed = line.process.supervisor.feed.read(0, 1_000)
            assert [notice.text for notice in feed if notice.agent == BOB][1:] == [f"{n}" for n in range(given)]
            assert [notice.number for notice in feed] == list(range(1, 2 + given + 1))
            await line.replace()
        assert line.notes == [(ANA, f"bob ended its run: failed. {n}") for n in range(given)]

    asyncio.run(main())


@pytest.mark.anyio
async def test_a_phase_that_no_notice_tells_of_is_reported_too() -> None:
    clock, phase = VirtualClock(1_000.0), "done"
    process = await Process(MemoryJournal(clock=clock), clock, Cadence(commands=10**9)).open()
    process.supervisor.admit(BOB, None, None, 2)
    reporter = Reporter(Line(process, ()), clock, lambda: AgentStatus(BOB, FIRST, phase, since=9.0))
    reporter.add(ended(1))
    await clock.advance(PAUSE)
    assert process.supervisor.find(BOB).phase == "done"
    phase = "idle"
    reporter.look(phase)
    await clock.advance(PAUSE)
    assert process.supervisor.find(BOB).phase == "idle"
    assert process.supervisor.feed.state().last == 2
    await reporter.aclose()
