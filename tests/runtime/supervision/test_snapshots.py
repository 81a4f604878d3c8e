"""Snapshots of a Supervisor's record: what goes on from one is what was asked all of it."""

import asyncio
import threading
from collections.abc import Callable, ItemsView
from itertools import pairwise
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.checkin import AgentStatus, CheckIn, Proceed, Settlement
from amrita_fleet.protocols.codec import decode, encode
from amrita_fleet.protocols.ids import USER, AgentId, Incarnation, RunId
from amrita_fleet.protocols.limits import Limits
from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.protocols.restarts import RestartPolicy
from amrita_fleet.runtime.clock import SystemClock, VirtualClock
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.journal_errors import RecordInvalid
from amrita_fleet.runtime.ports import Record
from amrita_fleet.runtime.supervision.command_log import Cadence, Noted, Unrecorded
from amrita_fleet.runtime.supervision.commands import Admit, Command, Newcomer
from amrita_fleet.runtime.supervision.replay import perform
from amrita_fleet.runtime.supervision.restart import USUAL
from amrita_fleet.runtime.supervision.state import BEGINNING, SupervisorState
from amrita_fleet.runtime.supervision.supervisor import Supervisor

from .asked import ANA, BOB, LIMIT, NAMES, Process, answer, check_in, commands, quiet, spend

pytestmark = pytest.mark.anyio

LEDGER = "f/ledger"
FIRST = Incarnation(1)
OFTEN = Cadence(commands=3, growth=0.0)
NEVER = Cadence(commands=10**9)

BEGUN: list[Command] = [Admit((Newcomer(ANA), Newcomer(BOB, ANA)), 1)]


OLD = (
    (
        b"\x01\x83\xa1$\xa5Noted\xa7command\x83\xa1$\xa5Admit\xa9newcomers\x91\x93\xa3ana\xc0\xcd\x02\xbc\xa3pi"
        b"d\x07\xa2at\xcb@\x8f@\x00\x00\x00\x00\x00"
    ),
    b"\x01\x83\xa1$\xa5Noted\xa7command\x81\xa1$\xa9AdmitUser\xa2at\xcb@\x8fH\x00\x00\x00\x00\x00",
    (
        b"\x01\x83\xa1$\xa5Noted\xa7command\x82\xa1$\xa5Check\xa5asked\x8e\xa1$\xa7CheckIn\xa5agent\xa3ana\xabi"
        b"ncarnation\x01\xa3run\xa1r\xa4step\x01\xa5phase\xa8thinking\xa7attempt\x01\xa8provider\xa1p\xa5boundd"
        b"\xa6output2\xa5floor2\xablast_answer\xc2\xaasignatures\x90\xa3lag\xcb\x00\x00\x00\x00\x00\x00\x00\x00"
        b"\xa2at\xcb@\x8fP\x00\x00\x00\x00\x00"
    ),
    (
        b"\x01\x83\xa1$\xa5Noted\xa7command\x82\xa1$\xa6Settle\xaasettlement\x86\xa1$\xaaSettlement\xa5agent"
        b"\xa3ana\xabincarnation\x01\xabreservation\xa7ana/1/1\xa6tokensx\xa9estimated\xc2\xa2at\xcb@\x8fX\x00"
        b"\x00\x00\x00\x00"
    ),
    (
        b"\x01\x83\xa1$\xa5Noted\xa7command\x83\xa1$\xa4Tell\xa6status\xde\x00\x10\xa1$\xabAgentStatus\xa5agent"
        b"\xa3ana\xabincarnation\x01\xa5phase\xa4idle\xa5since\xcb?\xf0\x00\x00\x00\x00\x00\x00\xa3run\xc0\xa4s"
        b"tep\x00\xa5round\x00\xa7waiting\x00\xa4sent\x00\xa8consumed\x00\xa6tokens\x00\xa5limit\xc0\xa6parent"
        b"\xc0\xa3pid\x00\xa4note\xa0\xa7notices\x91\x8a\xa1$\xa6Notice\xa4type\xa4step\xaaextra_type\xa5begun"
        b"\xa5agent\xa3ana\xa4text\xa3one\xa3run\xc0\xa4step\x00\xa4data\x80\xa6number\x00\xa2at\xcb\x00\x00"
        b"\x00\x00\x00\x00\x00\x00\xa2at\xcb@\x8f`\x00\x00\x00\x00\x00"
    ),
    (
        b"\x01\x83\xa1$\xa5Noted\xa7command\x83\xa1$\xabPauseAgents\xa6agents\x91\xa3ana\xa6reason\xa6a look"
        b"\xa2at\xcb@\x8fh\x00\x00\x00\x00\x00"
    ),
    (
        b"\x01\x83\xa1$\xa5Noted\xa7command\x83\xa1$\xaaStopAgents\xa6agents\x91\xa3ana\xa6reason\xa6enough\xa2"
        b"at\xcb@\x8fp\x00\x00\x00\x00\x00"
    ),
    (
        b"\x01\x83\xa1$\xa5Noted\xa7command\x85\xa1$\xa4Bury\xa5agent\xa3ana\xabincarnation\x01\xa6reason\xa4go"
        b"ne\xa7restart\xc2\xa2at\xcb@\x8fx\x00\x00\x00\x00\x00"
    ),
)
"""What the first version wrote: admit, a person, a check-in, a settlement, a report, a pause, a stop, a death."""


class Seen(Unrecorded):
    """Sees what a Supervisor is whenever it is asked something."""

    state: SupervisorState

    def note(self, command: Command, state: Callable[[], SupervisorState]) -> float:
        self.state = state()
        return super().note(command, state)


class Bare:
    """A Supervisor that nobody writes down. It is asked at the times that a list gives, one after the other."""

    def __init__(self, state: SupervisorState = BEGINNING, limit: Limits = LIMIT) -> None:
        self.at = 1_000.0
        self.log = Seen(lambda: self.at)
        self.supervisor = Supervisor(
            fleet="f", limit=limit, now=lambda: self.at, post=lambda _agent, _text: None, log=self.log, state=state
        )

    def ask(self, asked: list[Command], since: float) -> list[object]:
        answers: list[object] = []
        for number, command in enumerate(asked):
            self.at = since + 7 * number
            answers.append(answer(self.supervisor, command))
        return answers

    def perform(self, record: Record) -> None:
        """Do what a record says."""
        noted = decode(record.data, Noted)
        self.at = noted.at
        perform(self.supervisor, noted.command)

    def state(self) -> SupervisorState:
        """All that it is."""
        perform(self.supervisor, quiet(AgentId("nobody"), FIRST, "idle"))
        return self.log.state


def carried(state: SupervisorState) -> SupervisorState:
    """As it comes out of a record."""
    return decode(encode(state), SupervisorState)


statuses = st.builds(quiet, st.sampled_from(NAMES), st.integers(1, 3).map(Incarnation), st.just("thinking"))
histories = st.lists(commands | statuses, max_size=20)


@given(before=histories, after=histories, further=histories)
def test_made_of_a_snapshot_and_the_commands_after_it_a_supervisor_is_the_one_that_was_asked_all(
    before: list[Command], after: list[Command], further: list[Command]
) -> None:
    whole = Bare()
    whole.ask([*BEGUN, *before], since=1_000.0)
    state = whole.state()
    whole.ask(after, since=2_000.0)

    other = Bare(carried(state))
    assert other.state() == state
    other.ask(after, since=2_000.0)

    assert other.state() == whole.state()
    assert other.ask(further, since=3_000.0) == whole.ask(further, since=3_000.0)
    assert other.state() == whole.state()


# --- in a journal -----------------------------------------------------------------------------------------------------


async def records(journal: MemoryJournal) -> tuple[Record, ...]:
    return await journal.read(LEDGER)


async def journal_of(kept: tuple[Record, ...], clock: VirtualClock) -> MemoryJournal:
    """A journal that holds these records and no more, as a crash may leave it."""
    journal = MemoryJournal(clock=clock)
    for record in kept:
        await journal.open(LEDGER, record.incarnation)
        await journal.append(LEDGER, record.incarnation, record.number, (record.data,), snapshot=record.snapshot)
    return journal


def replayed(kept: tuple[Record, ...]) -> Bare:
    """A Supervisor that was asked for every command of these records, and knows nothing of snapshots."""
    bare = Bare()
    for record in kept:
        if not record.snapshot:
            bare.perform(record)
    return bare


@given(asked=st.lists(commands, min_size=4, max_size=25), cut=st.floats(0, 1), more=st.lists(commands, max_size=12))
def test_wherever_a_process_dies_the_next_one_is_what_the_commands_in_the_record_come_to(
    asked: list[Command], cut: float, more: list[Command]
) -> None:
    async def main() -> None:
        clock = VirtualClock(1_000.0)
        first = await Process(MemoryJournal(clock=clock), clock, OFTEN).open()
        await first.asked([*BEGUN, *asked], clock)
        written = await records(first.journal)
        assert replayed(written).state() == first.state(), "a snapshot changes nothing for who writes it"

        kept = written[: round(cut * len(written))]
        second = await Process(await journal_of(kept, clock), clock, OFTEN).open()
        assert second.state() == replayed(kept).state()
        assert second.notes == [], "whom it concerns was told then"

        await second.asked(more, clock)
        third = await Process(second.journal, clock, OFTEN).open()
        assert third.state() == second.state()

    asyncio.run(main())


async def test_a_process_that_dies_right_before_or_right_after_a_snapshot_loses_nothing() -> None:
    clock = VirtualClock(1_000.0)
    first = await Process(MemoryJournal(clock=clock), clock, OFTEN).open()
    await first.asked(BEGUN, clock)
    for attempt in range(1, 8):
        spend(first.supervisor, ANA, attempt)
        await first.log.written()
    written = await records(first.journal)
    snapshots = [record.number for record in written if record.snapshot]
    assert len(snapshots) > 3

    for number in snapshots:
        before, after = [
            await Process(await journal_of(written[:end], clock), clock).open() for end in (number - 1, number)
        ]
        assert before.state() == after.state() == replayed(written[:number]).state()
        assert before.supervisor.accounts()[1].spent.tokens > 0


async def test_the_record_of_a_version_without_snapshots_is_read_and_gets_one() -> None:
    clock = VirtualClock(2_000.0)
    journal = MemoryJournal(clock=clock)
    await journal.open(LEDGER, 4)
    await journal.append(LEDGER, 4, 1, OLD)

    process = await Process(journal, clock, OFTEN).open()

    ana = process.supervisor.find(ANA)
    assert (ana.phase, ana.tokens, ana.limit, ana.note) == ("dead", 120, 700, "gone")
    assert [notice.extra_type for notice in process.supervisor.feed.read(0, 10)] == [
        "admitted",
        "begun",
        "paused",
        "stopped",
        "died",
    ]
    process.supervisor.admit(BOB, None, None, 1)
    await process.log.written()
    assert [record.snapshot for record in (await records(journal))[len(OLD) :]] == [True, False]
    assert (await Process(journal, clock).open()).state() == process.state()


async def test_what_is_read_at_the_start_does_not_grow_with_the_fleets_life() -> None:
    clock = VirtualClock(1_000.0)
    process = await Process(MemoryJournal(clock=clock), clock, Cadence(commands=10, growth=0.0)).open()
    await process.asked(BEGUN, clock)
    for attempt in range(200):
        spend(process.supervisor, ANA, attempt)
        await process.log.written()

    assert len(await process.journal.open(LEDGER, process.log.epoch)) <= 1 + 10


async def test_before_a_snapshot_the_commands_have_as_many_bytes_as_the_one_before() -> None:
    clock = VirtualClock(1_000.0)
    cadence = Cadence(commands=1, growth=1.0)
    process = await Process(MemoryJournal(clock=clock), clock, cadence).open()
    await process.asked(BEGUN, clock)
    for attempt in range(200):
        if attempt % 50 == 0:  # another process counts on
            process = await Process(process.journal, clock, cadence).open()
        spend(process.supervisor, ANA, attempt)
        await process.log.written()

    written = await records(process.journal)
    at = [index for index, record in enumerate(written) if record.snapshot]
    assert len(at) > 3
    for one, next_ in pairwise(at):
        between = [len(record.data) for record in written[one + 1 : next_]]
        assert sum(between) >= len(written[one].data) > sum(between[:-1])


async def test_the_processes_of_a_person_are_numbered_on_after_a_snapshot() -> None:
    clock = VirtualClock(1_000.0)
    cadence = Cadence(commands=1, growth=0.0)
    process = await Process(MemoryJournal(clock=clock), clock, cadence).open()
    lives: list[Incarnation] = []
    for _ in range(4):
        lives.append(process.supervisor.admit(USER, None, None, 1))
        await process.log.written()
        process = await Process(process.journal, clock, cadence).open()

    assert lives == [1, 2, 3, 4]


async def test_restarts_before_a_snapshot_count_after_it() -> None:
    clock = VirtualClock(1_000.0)
    cadence = Cadence(commands=1, growth=0.0)
    process = await Process(MemoryJournal(clock=clock), clock, cadence).open()
    again: list[bool] = []
    for _ in range(USUAL.intensity + 1):
        life = process.supervisor.admit(ANA, None, None, 1)
        again.append(process.supervisor.died(ANA, life, "gone", restart=True))
        await process.log.written()
        process = await Process(process.journal, clock, cadence).open()

    assert again == [True] * USUAL.intensity + [False]


@pytest.mark.parametrize("cadence", [Cadence(commands=1, growth=0.0), None], ids=["a snapshot", "commands alone"])
async def test_the_policy_of_restarts_and_the_word_of_each_agent_hold_for_the_next_process(
    cadence: Cadence | None,
) -> None:
    clock = VirtualClock(1_000.0)
    first = await Process(MemoryJournal(clock=clock), clock, cadence).open()
    first.supervisor.begin("owner", None, RestartPolicy(intensity=1, period=5))
    first.supervisor.admit_all([Newcomer(ANA), Newcomer(BOB, restart="temporary")], 1)
    assert first.supervisor.died(ANA, Incarnation(1), "the first reason", restart=True)
    first.supervisor.admit(ANA, None, None, 1)
    await first.log.written()

    next_ = await Process(first.journal, clock, cadence).open()

    assert not next_.supervisor.died(BOB, Incarnation(1), "gone", restart=True)
    assert not next_.supervisor.died(ANA, Incarnation(2), "the second reason", restart=True)
    (notice,) = [each for each in next_.supervisor.feed.read(0, 100) if each.extra_type == "quarantined"]
    assert [death["reason"] for death in deaths_of(notice)] == ["the first reason", "the second reason"]


def deaths_of(notice: Notice) -> list[dict[str, str]]:
    return cast("list[dict[str, str]]", notice.data["deaths"])


@pytest.mark.parametrize("cadence", [Cadence(commands=1, growth=0.0), None], ids=["a snapshot", "commands alone"])
@pytest.mark.parametrize(("before", "after"), [(10_000, 1_000), (1_000, 10_000)])
async def test_what_was_answered_under_one_limit_stays_so_under_the_next(
    cadence: Cadence | None, before: int, after: int
) -> None:
    clock = VirtualClock(1_000.0)
    first = await Process(MemoryJournal(clock=clock), clock, cadence, limit=Limits(tokens=before)).open()
    first.supervisor.begin("first", Limits(tokens=before))
    await first.asked(BEGUN, clock)
    for attempt in range(1, 10):
        asked = check_in(ANA, Incarnation(1), attempt, 150, 50)
        first.supervisor.check_in(asked)
        first.supervisor.settle(Settlement(ANA, asked.incarnation, asked.reservation, 200))
    await first.log.written()
    spent = first.supervisor.accounts()[0].spent.tokens

    second = await Process(first.journal, clock, cadence, limit=Limits(tokens=after)).open()
    second.supervisor.begin("second", Limits(tokens=after))

    whole = second.supervisor.accounts()[0]
    assert (str(whole.limit), whole.spent.tokens, whole.unknown.tokens, whole.overshoot.tokens) == (
        f"{after:,} tokens",
        spent,
        0,
        0,
    )
    assert second.supervisor.owner == "second"
    granted = second.supervisor.check_in(check_in(ANA, Incarnation(1), 20, 150, 50))
    assert isinstance(granted, Proceed) == (spent + 200 <= after * 0.95)


# --- while it is being written ----------------------------------------------------------------------------------------


async def test_while_the_journal_is_away_commands_keep_their_places_around_one_snapshot() -> None:
    clock = VirtualClock(1_000.0)
    process = await Process(MemoryJournal(clock=clock), clock, OFTEN).open()
    process.journal.broken = "the disk is full"
    perform(process.supervisor, BEGUN[0])
    for attempt in range(1, 5):
        spend(process.supervisor, ANA, attempt)
        await clock.advance(5.0)
    process.journal.broken = ""
    await clock.advance(1.0)
    await process.log.written()

    written = await records(process.journal)
    assert [record.snapshot for record in written] == [*[False] * 3, True, *[False] * 6]
    assert replayed(written).state() == (await Process(process.journal, clock).open()).state() == process.state()


class BusyJournal(MemoryJournal):
    """As any real one, it lets others run while it writes.

    Attributes:
        enough: So many snapshots have been written.
    """

    def __init__(self, snapshots: int) -> None:
        super().__init__()
        self.enough = threading.Event()
        self._left = snapshots

    async def append(
        self, stream: str, incarnation: int, first: int, records: tuple[bytes, ...], *, snapshot: bool = False
    ) -> None:
        await asyncio.sleep(0.001)
        await super().append(stream, incarnation, first, records, snapshot=snapshot)
        self._left -= snapshot
        if self._left <= 0:
            self.enough.set()


def work(supervisor: Supervisor, agent: AgentId, enough: threading.Event) -> None:
    """Ask, settle and report as an agent does, from a thread."""
    attempt = 0
    while not enough.is_set():
        attempt += 1
        asked = CheckIn(agent, FIRST, RunId("r"), 1, "thinking", attempt, "p", bound=10, output=10)
        if isinstance(supervisor.check_in(asked), Proceed):
            supervisor.settle(Settlement(agent, FIRST, asked.reservation, None if attempt % 3 else 15))
        notice = Notice(NoticeType.STEP, "begun", agent, f"{agent} {attempt}")
        supervisor.report(AgentStatus(agent, FIRST, "thinking", since=9.0), (notice,))


@pytest.mark.usefixtures("eager_threads")
@pytest.mark.parametrize("at_once", [0, 1_000_000], ids=["beside the loop", "in the loop"])
async def test_a_snapshot_holds_what_stands_before_it_whoever_asks_meanwhile(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amrita_fleet.runtime.supervision.command_log.AT_ONCE", at_once)
    journal = BusyJournal(snapshots=8)
    process = await Process(journal, SystemClock(), Cadence(commands=20, growth=0.0), limit=Limits(tokens=10**7)).open()
    agents = [AgentId(f"w{number}") for number in range(4)]
    process.supervisor.admit_all([Newcomer(agent) for agent in agents], 1)

    await asyncio.gather(*(asyncio.to_thread(work, process.supervisor, agent, journal.enough) for agent in agents))
    await process.log.written()

    written = await records(journal)
    bare = Bare(limit=Limits(tokens=10**7))
    for record in written:
        if record.snapshot:
            assert decode(record.data, SupervisorState) == bare.state()
        else:
            bare.perform(record)
    assert bare.state() == process.state()
    await process.log.aclose()


# --- one that cannot be written ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "limit"), [(2**64 - 1, 10**6), (10, 100)], ids=["a sum of 65 bits", "too large for a record"]
)
async def test_without_a_snapshot_that_no_record_can_hold_all_goes_on_and_the_log_says_so(
    tokens: int, limit: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amrita_fleet.runtime.supervision.command_log.RECORD_LIMIT", limit)
    clock = VirtualClock(1_000.0)
    process = await Process(MemoryJournal(clock=clock), clock, Cadence(commands=6, growth=0.0)).open()
    await process.asked(BEGUN, clock)
    calls = [CheckIn(ANA, FIRST, RunId("r"), 1, "thinking", attempt, "p", 10, 10) for attempt in range(3)]
    for asked in calls:
        process.supervisor.check_in(asked)
    for asked in calls:
        process.supervisor.settle(Settlement(ANA, FIRST, asked.reservation, tokens))
    await process.log.written()

    written = await records(process.journal)
    assert not any(record.snapshot for record in written)
    assert "f/ledger gets no snapshot, and grows" in caplog.text
    assert (await Process(process.journal, clock, NEVER).open()).state() == process.state()


async def test_a_snapshot_that_is_none_is_named() -> None:
    clock = VirtualClock(1_000.0)
    journal = MemoryJournal(clock=clock)
    await journal.open(LEDGER, 1)
    await journal.append(LEDGER, 1, 1, OLD)
    await journal.append(LEDGER, 1, len(OLD) + 1, (OLD[0],), snapshot=True)

    with pytest.raises(RecordInvalid, match=f"Record {len(OLD) + 1} of the stream 'f/ledger'"):
        await Process(journal, clock).open()


# --- at the end -------------------------------------------------------------------------------------------------------


class SlowFacts(dict[str, Json]):
    """Facts that no other thread can read before it may."""

    def __init__(self) -> None:
        super().__init__(fact="x")
        self.reading = threading.Event()
        self.may = threading.Event()

    def items(self) -> ItemsView[str, Json]:  # type: ignore[override]
        if threading.current_thread() is not threading.main_thread():
            self.reading.set()
            self.may.wait(10)
        return super().items()


async def test_who_closes_waits_for_no_snapshot_and_loses_no_command() -> None:
    clock = SystemClock()
    process = await Process(MemoryJournal(), clock, Cadence(commands=400, growth=0.0)).open()
    facts = SlowFacts()
    process.supervisor.admit(ANA, None, None, 1)
    for number in range(400):
        notice = Notice(NoticeType.STEP, "begun", ANA, str(number), data=facts if number == 7 else {})
        process.supervisor.report(AgentStatus(ANA, FIRST, "thinking", since=9.0), (notice,))
    await asyncio.to_thread(facts.reading.wait, 10)
    process.supervisor.pause((ANA,), "a look")

    await process.log.aclose()
    facts.may.set()

    written = await records(process.journal)
    assert len(written) == 402
    assert not any(record.snapshot for record in written)


async def test_no_snapshot_is_begun_at_the_end() -> None:
    clock = VirtualClock(1_000.0)
    process = await Process(MemoryJournal(clock=clock), clock, OFTEN).open()
    for name in (*NAMES, AgentId("dan"), AgentId("eve")):
        process.supervisor.admit(name, None, None, 1)

    await process.log.aclose()

    assert [record.snapshot for record in await records(process.journal)] == [False] * 5
