"""What happens to an agent is written before what follows from it, and another process is where it was."""

import pytest

from amrita_fleet.protocols.ids import AgentId, Incarnation, MessageId, RunId
from amrita_fleet.protocols.outcome import Ending
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.journal.fleet_log import FleetLog
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.journal_errors import Fenced, JournalUnavailable, RecordInvalid
from amrita_fleet.runtime.recorder import Recorder
from amrita_fleet.runtime.records import Dropped, Happened, Past, Queued, decode_record
from amrita_fleet.runtime.step.advance import advance
from amrita_fleet.runtime.step.events import Asked, Event, MailTaken
from amrita_fleet.runtime.step.phases import Mail, Op, Phase
from amrita_fleet.runtime.step.rules import Rules

pytestmark = pytest.mark.anyio

ANA, BOB = AgentId("ana"), AgentId("bob")
STREAM = "f/agent/ana"
RULES = Rules()
GO = Asked(RunId("ana.1.1"), "Go.")


class House:
    """A journal, and lives of one agent."""

    def __init__(self) -> None:
        self.clock = VirtualClock(1_000.0)
        self.journal = MemoryJournal(clock=self.clock)
        self.unwritten: set[MessageId] = set()

    async def life(self, incarnation: int) -> tuple[Recorder, Past]:
        writer = FleetLog(self.journal, "f").agent(ANA, Incarnation(incarnation), self.clock)
        recorder = Recorder(writer, self.clock, self.unwritten.__contains__)
        return recorder, await recorder.open(ANA, RULES)

    async def records(self) -> list[object]:
        return [decode_record(record.data) for record in await self.journal.read(STREAM)]


def happen(recorder: Recorder, event: Event) -> None:
    recorder.happened(event, advance(recorder.past.state, event))


async def test_an_agent_that_never_lived_has_no_past() -> None:
    recorder, past = await House().life(1)

    assert past.state.phase is Phase.IDLE
    assert not recorder.lived


async def test_what_has_happened_is_one_record_at_the_next_commit() -> None:
    house = House()
    recorder, _ = await house.life(1)
    happen(recorder, GO)
    happen(recorder, MailTaken(Op(1), ()))
    assert await house.records() == []

    await recorder.commit()
    await recorder.commit()

    assert await house.records() == [Happened((GO, MailTaken(Op(1), ())), 1_000.0, told=0)]
    again, past = await house.life(2)
    assert past == recorder.past
    assert again.lived


async def test_what_is_added_stands_after_what_has_happened() -> None:
    house = House()
    recorder, _ = await house.life(1)
    await recorder.add(Queued(GO), Queued(Asked(RunId("ana.1.2"), "Then go.")))
    happen(recorder, GO)
    await recorder.add(Dropped(RunId("ana.1.2"), "enough"))

    assert [type(record) for record in await house.records()] == [Queued, Queued, Happened, Dropped]
    _, past = await house.life(2)
    assert past.queue == ()
    assert [(outcome.run, outcome.ending) for outcome in past.outcomes] == [("ana.1.2", Ending.STOPPED)]


async def test_a_snapshot_keeps_the_mail_that_its_mailbox_does_not_know_as_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("amrita_fleet.runtime.recorder.SNAPSHOT_STEPS", 1)
    house = House()
    recorder, _ = await house.life(1)
    house.unwritten.add(MessageId("second"))
    happen(recorder, GO)
    happen(recorder, MailTaken(Op(1), tuple(Mail(MessageId(id_), BOB, "Hello.") for id_ in ("first", "second"))))

    await recorder.commit()

    assert [record.snapshot for record in await house.journal.read(STREAM)] == [False, True]
    _, past = await house.life(2)
    assert [one.message for one in past.taken] == ["second"]
    assert past == recorder.past


async def test_a_life_that_another_one_followed_commits_nothing() -> None:
    house = House()
    recorder, _ = await house.life(1)
    await house.life(2)
    happen(recorder, GO)

    with pytest.raises(Fenced):
        await recorder.commit()
    assert await house.records() == []


async def test_a_closed_one_writes_nothing_more() -> None:
    house = House()
    recorder, _ = await house.life(1)
    recorder.close()
    happen(recorder, GO)

    with pytest.raises(JournalUnavailable):
        await recorder.commit()


async def test_a_record_that_cannot_be_is_named() -> None:
    house = House()
    await house.journal.open(STREAM, 1)
    await house.journal.append(STREAM, 1, 1, (b"\x01?",))

    with pytest.raises(RecordInvalid, match="1"):
        await house.life(2)
