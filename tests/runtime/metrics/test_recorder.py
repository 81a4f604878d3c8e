"""Metrics as a Supervisor's process keeps them."""

import asyncio
from math import inf

import pytest

from amrita_fleet.protocols.checkin import AgentStatus, CheckIn, Proceed, Settlement
from amrita_fleet.protocols.ids import AgentId, Incarnation, RunId
from amrita_fleet.protocols.limits import Limits
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.metrics import catalogue
from amrita_fleet.runtime.metrics.meter import MemoryMeter
from amrita_fleet.runtime.metrics.recorder import MetricsRecorder
from amrita_fleet.runtime.supervision.supervisor import Supervisor

pytestmark = pytest.mark.anyio

ANA, BOB = AgentId("ana"), AgentId("bob")
FIRST = Incarnation(1)


def supervisor() -> Supervisor:
    made = Supervisor(
        fleet="t", limit=Limits(tokens=1_000, seconds=60.0), now=lambda: 100.0, post=lambda _agent, _text: None
    )
    for agent in (ANA, BOB):
        made.admit(agent, None, None, 1)
    return made


def step(agent: AgentId) -> Notice:
    return Notice(NoticeType.STEP, "leave", agent, "")


def status(agent: AgentId, phase: str, waiting: int = 0) -> AgentStatus:
    return AgentStatus(agent, FIRST, phase, 90.0, waiting=waiting)


def test_what_is_set_is_what_rows_and_the_fleets_account_say() -> None:
    books, meter = supervisor(), MemoryMeter()
    recorder = MetricsRecorder(books, meter, VirtualClock())
    asked = CheckIn(ANA, FIRST, RunId("ana.1.1"), 1, "thinking", 1, "key", bound=300, output=100)
    assert isinstance(books.check_in(asked), Proceed)
    books.report(status(ANA, "thinking"), ())
    books.report(status(BOB, "idle", waiting=3), ())
    recorder.look()
    assert meter.values[catalogue.AGENTS.name, "thinking"] == meter.values[catalogue.AGENTS.name, "idle"] == 1
    assert meter.values[catalogue.MAIL_WAITING.name,] == 3
    assert meter.values[catalogue.RESERVED.name, "tokens"] == 400
    assert meter.values[catalogue.SPENT.name, "tokens"] == 0
    books.settle(Settlement(ANA, FIRST, asked.reservation, 250))
    books.report(status(ANA, "idle"), ())
    recorder.look()
    assert meter.values[catalogue.AGENTS.name, "thinking"] == 0
    assert meter.values[catalogue.AGENTS.name, "idle"] == 2
    assert meter.values[catalogue.SPENT.name, "tokens"] == 250
    assert meter.values[catalogue.SPENT.name, "model_calls"] == 1
    assert meter.values[catalogue.RESERVED.name, "tokens"] == 0
    limits = {key[1:]: value for key, value in meter.values.items() if key[0] == catalogue.LIMIT.name}
    assert limits == {("tokens",): 1_000, ("seconds",): 60.0}
    books.limit("", Limits(tokens=2_000))
    recorder.look()
    assert meter.values[catalogue.LIMIT.name, "tokens"] == 2_000
    assert meter.values[catalogue.LIMIT.name, "seconds"] == inf


def test_what_another_process_has_counted_is_not_counted_again() -> None:
    books, meter = supervisor(), MemoryMeter()
    books.report(status(ANA, "idle"), (step(ANA),))
    recorder = MetricsRecorder(books, meter, VirtualClock())
    recorder.read()
    assert (catalogue.STEPS.name,) not in meter.values
    books.report(status(ANA, "idle"), (step(ANA), step(ANA)))
    recorder.read()
    recorder.read()
    assert meter.values[catalogue.STEPS.name,] == 2


def test_the_age_of_mail_from_before_is_known() -> None:
    books, meter, clock = supervisor(), MemoryMeter(), VirtualClock(100.0)
    sent = Notice(NoticeType.MAIL, "sent", ANA, "", data={"id": "m1"}, at=clock.now() - 5)
    books.report(status(ANA, "idle"), (sent,))
    recorder = MetricsRecorder(books, meter, clock)
    recorder.look()
    assert meter.values[catalogue.MAIL_OLDEST_SECONDS.name,] == 5
    read = Notice(NoticeType.MAIL, "consumed", BOB, "", data={"id": "m1"}, at=clock.now())
    books.report(status(BOB, "idle"), (read,))
    recorder.read()
    recorder.look()
    assert meter.values[catalogue.MAIL_OLDEST_SECONDS.name,] == 0
    assert meter.observed[catalogue.MAIL_READ_SECONDS.name,] == [5]


def test_notices_that_were_forgotten_uncounted_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    books, meter = supervisor(), MemoryMeter()
    recorder = MetricsRecorder(books, meter, VirtualClock())
    books.report(status(ANA, "idle"), tuple(step(ANA) for _ in range(10_005)))
    recorder.read()
    assert meter.values[catalogue.STEPS.name,] == 10_000
    assert "notices were forgotten before they were counted" in caplog.text


async def test_it_reads_and_looks_until_it_is_cancelled() -> None:
    books, meter, clock = supervisor(), MemoryMeter(), VirtualClock()
    recording = asyncio.create_task(MetricsRecorder(books, meter, clock).record())
    await clock.advance(0)
    books.report(status(ANA, "thinking"), (step(ANA),))
    await clock.advance(3.0)
    assert meter.values[catalogue.STEPS.name,] == 1
    assert meter.values[catalogue.AGENTS.name, "thinking"] == 1
    recording.cancel()
    await asyncio.wait({recording})
    assert recording.cancelled()
