"""The journal goes away at any record, whether that was written or not, and comes back: nothing shows of it."""

import asyncio

import pytest

from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.journal_errors import JournalUnavailable

from .doomed import DoomedSystem, Strike, process
from .lossless import Conversation, around

pytestmark = [pytest.mark.usefixtures("snapshots_come_often"), pytest.mark.slow]

SECONDS = 5.0
"""How long the journal is away."""

FULL = "the disk is full"


class FailingJournal(MemoryJournal):
    """Goes away at one append.

    Attributes:
        missed: The stream of that append, once the journal has gone; empty before.
    """

    def __init__(self, strike: Strike) -> None:
        super().__init__()
        self.missed = ""
        self._strike = strike
        self._appends = 0

    async def append(
        self, stream: str, incarnation: int, first: int, records: tuple[bytes, ...], *, snapshot: bool = False
    ) -> None:
        self._appends += not self.missed
        fails = not self.missed and self._appends == self._strike.number
        if self._strike.after or not fails:
            await super().append(stream, incarnation, first, records, snapshot=snapshot)
        if fails:
            self.missed, self.broken = stream, FULL
            raise JournalUnavailable(where="of a test", reason=FULL)


def lived_through(strike: Strike) -> Conversation:
    """The conversation, and an outage in it."""
    conversation = Conversation()
    journal = conversation.world.journal = FailingJournal(strike)

    async def watch(system: DoomedSystem) -> None:
        while not journal.missed:
            await conversation.world.clock.sleep(0.05)
        await conversation.world.clock.sleep(SECONDS)
        notes = {f"f/agent/{row.agent}": row.note for row in await system.statuses()}
        assert FULL in notes.get(journal.missed, FULL), "who waits says why"
        journal.broken = ""

    async def live(system: DoomedSystem) -> None:
        watching = asyncio.create_task(watch(system))
        await conversation.go_on(system)
        if journal.missed:
            await watching
        else:
            watching.cancel()

    process(conversation.world, live)
    return conversation


def test_the_journal_is_away_for_a_moment() -> None:
    lived_through(Strike(60, after=True)).check(kills=0)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("share", range(4))
def test_the_journal_is_away_at_every_other_record(share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amrita_fleet.runtime.supervision.command_log.LAST_WORDS", 0.01)
    for strike in around(Conversation().live().appends)[share::8]:
        print(strike)
        lived_through(strike).check(kills=0)
