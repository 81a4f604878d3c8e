"""The gate before a provider: slots, the line, and what a wait is told."""

from itertools import pairwise

import pytest

from amrita_fleet.protocols.amounts import Amount
from amrita_fleet.protocols.checkin import AttemptResult
from amrita_fleet.protocols.ids import AgentId, Incarnation
from amrita_fleet.runtime.supervision.account import Share
from amrita_fleet.runtime.supervision.congestion import GENEROUS
from amrita_fleet.runtime.supervision.gate import GRACE, LATEST, Gate, Queued, Ticket
from amrita_fleet.runtime.supervision.reservation import Ask, Reservation

NOW = 1_000_000.0
KEY = "https://api"
OTHER = "https://other"
FULL = int(GENEROUS)


def ticket(name: str, attempt: int = 1, provider: str = KEY) -> Ticket:
    return Ticket(AgentId(name), f"{name}/1/{attempt}", provider)


def full(calls: int = FULL) -> Gate:
    """A gate with so many calls in flight."""
    gate = Gate()
    for number in range(calls):
        gate.take(ticket(f"full{number}"), NOW)
    return gate


def narrow(provider: str = KEY, gate: Gate | None = None) -> Gate:
    """A gate whose provider has refused until one call at a time is all it is trusted with; its cooldown is over."""
    gate, at = gate or Gate(), NOW - 100_000.0
    for number in range(20):
        for name in ("x", "y"):
            gate.take(ticket(name, number, provider), at)
        for name in ("x", "y"):
            gate.give_back(f"{name}/1/{number}", at, result=AttemptResult.BUSY, after=1.0)
        at += 2.0
    assert gate.traffic(provider, NOW).limit == 1
    return gate


def asks(gate: Gate, name: str, now: float, attempt: int = 1, provider: str = KEY) -> Queued | None:
    """Ask, and go if one may."""
    asked = ticket(name, attempt, provider)
    queued = gate.ask(asked, now)
    if queued is None:
        gate.take(asked, now)
    return queued


def test_a_provider_that_has_refused_nothing_takes_a_generous_number_of_calls_at_once() -> None:
    gate = Gate()
    for number in range(FULL):
        assert gate.ask(ticket(f"a{number}"), NOW) is None
        assert gate.take(ticket(f"a{number}"), NOW) == 0.0
    assert gate.ask(ticket("late"), NOW) is not None
    assert gate.traffic(KEY, NOW).in_flight == FULL


def test_who_waits_is_told_its_place_and_asks_later_the_further_back_it_stands() -> None:
    gate = full()
    told = [gate.ask(ticket(f"a{number}"), NOW) for number in range(200)]
    last = gate.ask(ticket("a199"), NOW)
    assert [queued.place for queued in told if queued] == list(range(1, 201))
    assert last is not None
    assert (last.place, last.line, last.cooling) == (200, 200, 0.0)
    waits = [queued.after for queued in told[1:] if queued]
    assert waits == sorted(waits)
    assert waits[-1] > 10 * waits[0]


def test_a_thousand_who_wait_do_not_ask_all_the_time() -> None:
    gate, now, asked = full(), NOW, 0
    due = {f"a{number}": NOW for number in range(1_000)}
    while now < NOW + 10.0:
        for name, at in due.items():
            if at <= now:
                queued = gate.ask(ticket(name), now)
                assert queued is not None
                assert queued.after <= LATEST
                due[name], asked = now + queued.after, asked + 1
        now += 0.05
    assert asked < 6_000, "600 a second, the first time of all of them included"


def test_a_slot_that_is_given_back_is_kept_for_the_first_in_line() -> None:
    gate = full()
    assert asks(gate, "first", NOW) is not None
    assert asks(gate, "second", NOW) is not None
    gate.give_back("full0/1/1", NOW, result=AttemptResult.OK)
    assert asks(gate, "second", NOW + 0.1) is not None
    assert asks(gate, "newcomer", NOW + 0.1) is not None
    assert asks(gate, "first", NOW + 0.2) is None
    assert gate.traffic(KEY, NOW).in_flight == FULL


def test_with_two_free_slots_the_second_need_not_wait_for_the_first() -> None:
    gate = full()
    for name in ("first", "second", "third"):
        asks(gate, name, NOW)
    for number in range(2):
        gate.give_back(f"full{number}/1/1", NOW, result=AttemptResult.OK)
    assert asks(gate, "third", NOW + 0.1) is not None
    assert asks(gate, "second", NOW + 0.1) is None
    assert asks(gate, "first", NOW + 0.1) is None


def test_one_at_a_time_they_go_in_the_order_in_which_they_came_whoever_else_asks() -> None:
    gate, went, now = narrow(), list[str](), NOW
    names = [f"a{number}" for number in range(6)]
    assert asks(gate, "before", now) is None
    for name in names:
        asks(gate, name, now)
    flying = "before/1/1"
    for turn in range(6):
        now += 1.0
        gate.give_back(flying, now, result=AttemptResult.FAILED)  # an answer would raise the limit
        for name in (f"newcomer{turn}", *reversed(names)):
            if name not in went and asks(gate, name, now) is None:
                went.append(name)
                flying = f"{name}/1/1"
    assert went == names


def test_who_no_longer_asks_loses_its_place_and_comes_back_at_the_end() -> None:
    gate = full()
    gone = asks(gate, "gone", NOW)
    assert gone is not None
    asks(gate, "patient", NOW)
    late = NOW + gone.after + GRACE
    queued = asks(gate, "patient", late)
    assert queued is not None
    assert queued.place == 2
    queued = asks(gate, "patient", late + 0.1)
    assert queued is not None
    assert (queued.place, queued.line) == (1, 1)
    queued = asks(gate, "gone", late + 0.1)
    assert queued is not None
    assert queued.place == 2


def test_the_place_belongs_to_the_attempt_and_another_one_stands_at_the_end() -> None:
    gate = full()
    for name in ("ana", "bob"):
        asks(gate, name, NOW)
    queued = asks(gate, "ana", NOW, attempt=2)
    assert queued is not None
    assert (queued.place, queued.line) == (2, 2)


def test_who_turns_to_another_provider_leaves_the_line() -> None:
    gate = full()
    asks(gate, "ana", NOW)
    assert asks(gate, "ana", NOW, provider=OTHER) is None
    assert gate.traffic(KEY, NOW).waiting == 0
    assert gate.queued(AgentId("ana"), NOW) is None


def test_one_providers_refusals_hold_up_nobody_at_another() -> None:
    gate = narrow()
    asks(gate, "x", NOW)
    gate.give_back("x/1/1", NOW, result=AttemptResult.BUSY, after=60.0)
    assert asks(gate, "ana", NOW) is not None
    assert all(asks(gate, f"b{number}", NOW, provider=OTHER) is None for number in range(FULL))


@pytest.mark.parametrize("result", [AttemptResult.BUSY, AttemptResult.OVERLOADED])
def test_one_refusal_holds_up_all_and_nobody_comes_back_before_its_time_or_together(result: AttemptResult) -> None:
    gate = Gate()
    asks(gate, "x", NOW)
    gate.give_back("x/1/1", NOW, result=result, after=8.0)
    told = [asks(gate, f"a{number}", NOW) for number in range(5)]
    assert all(queued is not None and queued.after >= 8.0 and queued.cooling >= 8.0 for queued in told)
    went, now = list[float](), NOW
    while len(went) < 5 and now < NOW + 60.0:
        now += 0.01
        for number in range(5):
            asked = ticket(f"a{number}")
            if gate.queued(asked.agent, now) and gate.ask(asked, now) is None:
                went.append(now + gate.take(asked, now))
    assert went[0] >= NOW + 8.0
    steps = [later - earlier for earlier, later in pairwise(went)]
    assert steps[0] == pytest.approx(0.5, abs=0.02), "one goes ahead"
    assert all(step > 0 for step in steps)
    assert steps == sorted(steps, reverse=True)


def test_who_has_its_turn_but_no_tokens_lets_others_go_first_and_keeps_its_place() -> None:
    gate = full()
    for name in ("poor", "rich"):
        asks(gate, name, NOW)
    gate.give_back("full0/1/1", NOW, result=AttemptResult.OK)
    assert gate.ask(ticket("poor"), NOW) is None
    gate.step_aside(AgentId("poor"))
    assert asks(gate, "rich", NOW) is None
    queued = asks(gate, "poor", NOW)
    assert queued is not None
    assert queued.place == 1
    assert asks(gate, "rich", NOW, attempt=2) is not None


def test_a_slot_is_given_back_once() -> None:
    gate = full()
    for _ in range(3):
        gate.give_back("full0/1/1", NOW, result=AttemptResult.OK)
    gate.give_back("stranger/1/1", NOW, result=AttemptResult.BUSY)
    assert gate.traffic(KEY, NOW).in_flight == FULL - 1
    assert gate.traffic(KEY, NOW).cooling == 0.0


def test_who_asks_again_for_a_call_that_is_in_flight_has_the_same_slot() -> None:
    gate = full()
    assert gate.ask(ticket("full3"), NOW) is None
    assert gate.take(ticket("full3"), NOW + 1.0) == 0.0
    assert gate.traffic(KEY, NOW).in_flight == FULL


def test_the_slots_in_use_are_found_again_in_the_open_reservations() -> None:
    gate = Gate()
    asked = [Ask(f"a/1/{number}", ("fleet", "a"), Incarnation(1), 1, 1, 1, provider=KEY) for number in range(FULL)]
    gate.restore(Reservation(ask, 1, Share(reserved=Amount(2))) for ask in asked)
    assert asks(gate, "ana", NOW) is not None
    gate.give_back("a/1/0", NOW, result=AttemptResult.BUSY, after=1.0)
    assert gate.traffic(KEY, NOW).in_flight == FULL - 1
    assert gate.traffic(KEY, NOW).limit < FULL


def test_a_clock_that_is_set_back_lets_nobody_wait_for_it() -> None:
    gate = narrow()
    asks(gate, "x", NOW)
    gate.give_back("x/1/1", NOW, result=AttemptResult.BUSY, after=5.0)
    asks(gate, "absent", NOW)
    assert asks(gate, "ana", NOW - 3_600.0) is None
