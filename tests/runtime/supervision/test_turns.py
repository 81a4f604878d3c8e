"""The Supervisor before a provider that is busy: who waits, who sees it, and what of it outlives the process."""

import asyncio
from dataclasses import replace
from functools import partial

import pytest

from amrita_fleet.protocols.checkin import AttemptResult, CheckIn, Directive, Pause, Proceed, Settlement, Stop, Wait
from amrita_fleet.protocols.ids import AgentId, Incarnation, RunId
from amrita_fleet.protocols.limits import Limits
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.journal.fleet_log import FleetLog
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.supervision.command_log import CommandLog, JournaledCommands
from amrita_fleet.runtime.supervision.commands import Admit, Check, Newcomer
from amrita_fleet.runtime.supervision.congestion import GENEROUS
from amrita_fleet.runtime.supervision.gate import GRACE
from amrita_fleet.runtime.supervision.replay import perform
from amrita_fleet.runtime.supervision.state import SupervisorState
from amrita_fleet.runtime.supervision.supervisor import Supervisor

FIRST = Incarnation(1)
FULL = int(GENEROUS)
NAMES = [AgentId(f"a{number}") for number in range(FULL + 3)]
FIRST_IN, *_ = NAMES
NEXT, SECOND, THIRD = NAMES[FULL:]
KEY = "https://api"


def asking(agent: AgentId, attempt: int = 1, key: str = KEY) -> CheckIn:
    return CheckIn(agent, FIRST, RunId("r"), 1, "thinking", attempt, key, bound=100, output=100, floor=50)


def ended(asked: CheckIn, result: AttemptResult, after: float | None = None) -> Settlement:
    return Settlement(asked.agent, FIRST, asked.reservation, 10, result=result, after=after)


def crowd(clock: VirtualClock, log: CommandLog | None = None, limit: Limits | None = None) -> Supervisor:
    """A Supervisor of many agents."""
    made = Supervisor(fleet="f", limit=limit, now=clock.now, post=lambda _agent, _text: None, log=log)
    made.admit_all([Newcomer(name) for name in NAMES], 1)
    return made


def full(clock: VirtualClock, log: CommandLog | None = None) -> Supervisor:
    """One whose provider has as many calls as it is trusted with, and for which one agent waits."""
    supervisor = crowd(clock, log)
    granted = [supervisor.check_in(asking(name)) for name in NAMES[:FULL]]
    assert all(isinstance(each, Proceed) for each in granted)
    assert waits(supervisor.check_in(asking(NEXT)))
    return supervisor


def waits(directive: Directive) -> bool:
    """Whether somebody waits for its turn."""
    return isinstance(directive, Wait) and directive.queued


def note(supervisor: Supervisor, agent: AgentId) -> str:
    return supervisor.find(agent).note


def test_who_waits_holds_no_tokens_and_its_row_says_where_it_stands() -> None:
    supervisor = full(VirtualClock(1_000.0))
    told = supervisor.check_in(asking(SECOND))
    assert isinstance(told, Wait)
    assert told.reason == note(supervisor, SECOND) == "2nd of 2 for https://api"
    assert note(supervisor, FIRST_IN) == ""
    assert supervisor.accounts()[0].reserved.tokens == FULL * 200


def test_one_agents_refusal_holds_up_all_others_of_its_provider_and_nobody_elses() -> None:
    supervisor = crowd(VirtualClock(1_000.0))
    supervisor.check_in(asking(FIRST_IN))
    supervisor.settle(ended(asking(FIRST_IN), AttemptResult.BUSY, 8.0))
    told = supervisor.check_in(asking(SECOND))
    assert isinstance(told, Wait)
    assert 8.0 <= told.after <= 8.8 + 0.1
    assert note(supervisor, SECOND) in {f"1st of 1 for {KEY}, cooling down for {seconds} s" for seconds in (8, 9)}
    assert isinstance(supervisor.check_in(asking(THIRD, key="https://other")), Proceed)


@pytest.mark.parametrize("over", ["settled", "dead"])
def test_a_slot_is_free_once_its_call_is_settled_or_its_life_is_over(over: str) -> None:
    clock = VirtualClock(1_000.0)
    supervisor = full(clock)
    if over == "settled":
        supervisor.settle(ended(asking(FIRST_IN), AttemptResult.OK))
    else:
        supervisor.died(FIRST_IN, FIRST, "killed")
    assert isinstance(supervisor.check_in(asking(NEXT)), Proceed)
    assert note(supervisor, NEXT) == ""


@pytest.mark.parametrize("gone", ["stopped", "paused", "dead"])
def test_who_may_not_go_on_stands_in_nobodys_way(gone: str) -> None:
    supervisor = full(VirtualClock(1_000.0))
    if gone == "stopped":
        supervisor.stop((NEXT,), "enough")
        assert supervisor.check_in(asking(NEXT)) == Stop("enough")
    elif gone == "paused":
        supervisor.pause((NEXT,), "lunch")
        assert supervisor.check_in(asking(NEXT)) == Pause("lunch")
    else:
        supervisor.died(NEXT, FIRST, "killed")
    supervisor.settle(ended(asking(FIRST_IN), AttemptResult.OK))
    assert isinstance(supervisor.check_in(asking(SECOND)), Proceed)


def test_whose_tokens_are_spent_stands_in_nobodys_way() -> None:
    supervisor = crowd(VirtualClock(1_000.0), limit=Limits(tokens=1_000))
    for attempt in range(1, 4):
        supervisor.check_in(asking(FIRST_IN, attempt))
        supervisor.settle(Settlement(FIRST_IN, FIRST, asking(FIRST_IN, attempt).reservation, 280))
    assert not isinstance(supervisor.check_in(replace(asking(NEXT), bound=300)), Proceed | Wait)
    assert note(supervisor, NEXT) == ""


def test_waits_are_not_written_and_the_next_process_books_what_had_its_turn() -> None:
    async def main() -> None:
        clock, journal = VirtualClock(1_000.0), MemoryJournal()

        async def opened() -> JournaledCommands:
            return JournaledCommands(await FleetLog(journal, "f").ledger(clock), clock)

        log = await opened()
        await log.open()
        log.begin(lambda _: None)
        before = full(clock, log)
        await log.written()
        written = len(await journal.read("f/ledger"))
        for _ in range(100):
            assert waits(before.check_in(asking(SECOND)))
        before.settle(ended(asking(FIRST_IN), AttemptResult.BUSY, 8.0))
        await log.written()
        assert len(await journal.read("f/ledger")) == written + 1
        await log.aclose()

        log = await opened()
        state = await log.open()
        after = Supervisor(fleet="f", limit=None, now=clock.now, post=lambda _agent, _text: None, log=log, state=state)
        log.begin(partial(perform, after))
        assert after.accounts() == before.accounts()
        assert waits(after.check_in(asking(THIRD))), "the slots in use are known, and so is the cooldown"
        await log.aclose()

    asyncio.run(main())


def test_what_an_earlier_process_let_go_is_booked_even_if_this_one_would_have_had_it_wait() -> None:
    async def main() -> None:
        clock, fleet_log = VirtualClock(1_000.0), FleetLog(MemoryJournal(), "f")
        log = JournaledCommands(await fleet_log.ledger(clock), clock)
        await log.open()
        log.begin(lambda _: None)
        log.note(Admit(tuple(Newcomer(name) for name in NAMES), 1), SupervisorState)
        for name in NAMES:
            log.note(Check(asking(name)), SupervisorState)
        await log.written()
        await log.aclose()

        log = JournaledCommands(await fleet_log.ledger(clock), clock)
        state = await log.open()
        after = Supervisor(fleet="f", limit=None, now=clock.now, post=lambda _agent, _text: None, log=log, state=state)
        log.begin(partial(perform, after))
        assert after.accounts()[0].reserved.tokens == len(NAMES) * 200
        assert waits(after.check_in(asking(FIRST_IN, attempt=2)))
        await log.aclose()

    asyncio.run(main())


def test_many_who_lack_tokens_ask_no_more_often_together_than_a_few() -> None:
    supervisor = crowd(VirtualClock(1_000.0), limit=Limits(tokens=220))
    assert isinstance(supervisor.check_in(asking(NAMES[0])), Proceed)
    told = [supervisor.check_in(asking(name)) for name in NAMES[1:]]
    pauses = [each.after for each in told if isinstance(each, Wait) and not each.queued]
    assert len(pauses) == len(told)
    assert pauses[:5] == [0.1] * 5
    assert pauses == sorted(pauses)
    assert len(told) / pauses[-1] < 60, "a second"
    assert pauses[-1] < GRACE, "nobody loses its place meanwhile"
