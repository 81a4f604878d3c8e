"""The tree of accounts, one thing after the other; see `test_ledger_machine` for any order of them."""

from dataclasses import replace

import pytest

from amrita_fleet.protocols.amounts import ZERO, Amount
from amrita_fleet.protocols.codec import decode, encode
from amrita_fleet.protocols.ids import Incarnation
from amrita_fleet.protocols.limits import Limits, Unit
from amrita_fleet.protocols.prices import Rates
from amrita_fleet.runtime.supervision import ledger as ledger_module
from amrita_fleet.runtime.supervision.account import Path
from amrita_fleet.runtime.supervision.ledger import Ended, Ledger, LedgerState, Reserved, Short
from amrita_fleet.runtime.supervision.reservation import Ask

FLEET = ("fleet",)
ANA = ("fleet", "ana")
BOB = ("fleet", "bob")
NOW = 1_000.0


def ask(reservation: str, account: Path = ANA, *, bound: int = 100, output: int = 100, floor: int = 50) -> Ask:
    return Ask(reservation, account, Incarnation(1), bound, output, floor)


def tokens(most: int | None) -> Limits | None:
    return None if most is None else Limits(tokens=most)


def fleet(*, limit: int | None = 1_000, ana: int | None = None) -> Ledger:
    ledger = Ledger("fleet", tokens(limit))
    ledger.open(ANA, tokens(ana))
    ledger.open(BOB, None)
    return ledger


def reserve(ledger: Ledger, asked: Ask, now: float = NOW) -> Reserved | Short | Ended:
    return ledger.reserve(asked, now)


def one(spent: int) -> Amount:
    """One call that came to so many tokens."""
    return Amount(spent, model_calls=1)


def settle(ledger: Ledger, reservation: str, spent: int | None, *, estimated: bool = False) -> int | None:
    over = ledger.settle(reservation, None if spent is None else one(spent), estimated=estimated)
    return None if over is None else over.tokens


def sums(ledger: Ledger, path: Path) -> dict[str, int]:
    """The tokens of an account, without those sums that are none."""
    account = ledger.account(path)
    named = {
        name: getattr(account, name).tokens for name in ("settled", "reserved", "overshoot", "unknown", "after_stop")
    }
    return {name: count for name, count in named.items() if count}


def test_a_reservation_is_set_aside_in_its_account_and_above() -> None:
    ledger = fleet()
    assert reserve(ledger, ask("a")) == Reserved(output=100)
    assert [account.reserved.tokens for account in ledger.accounts()] == [200, 200, 0]


def test_a_settlement_gives_back_what_was_not_spent() -> None:
    ledger = fleet()
    reserve(ledger, ask("a"))
    assert settle(ledger, "a", 120) == 0
    assert (sums(ledger, FLEET), sums(ledger, ANA), sums(ledger, BOB)) == ({"settled": 120}, {"settled": 120}, {})


def test_the_output_shrinks_to_what_is_left() -> None:
    ledger = fleet(limit=200)
    assert reserve(ledger, ask("a")) == Reserved(output=90)  # 10 of 200 are the pool


def test_what_is_left_of_the_tightest_account_counts() -> None:
    assert reserve(fleet(ana=180), ask("a")) == Reserved(output=71)


def test_below_the_floor_nothing_is_set_aside() -> None:
    ledger = fleet(ana=150)
    answer = reserve(ledger, ask("a"))
    assert isinstance(answer, Short)
    assert (answer.account.path, answer.unit, answer.least, answer.in_flight) == (ANA, Unit.TOKENS, one(150), False)
    assert all(account.reserved.tokens == 0 for account in ledger.accounts())


def test_a_floor_above_the_output_wanted_does_not_ask_for_more() -> None:
    assert reserve(fleet(limit=120), ask("a", output=10)) == Reserved(output=10)


def test_without_a_limit_all_is_granted() -> None:
    assert reserve(fleet(limit=None), ask("a", bound=10**12, output=10**12)) == Reserved(output=10**12)


def test_only_a_last_answer_may_use_the_pool() -> None:
    ledger = fleet(limit=1_000)
    reserve(ledger, ask("a", bound=900, output=50))
    assert isinstance(reserve(ledger, ask("b", bound=0, output=50)), Short)
    assert reserve(ledger, replace(ask("c", bound=0, output=80), last_answer=True)) == Reserved(output=50)


def test_what_calls_in_flight_hold_may_come_back() -> None:
    ledger = fleet()
    reserve(ledger, ask("a", BOB, bound=900, output=0))
    answer = reserve(ledger, ask("b"))
    assert isinstance(answer, Short)
    assert (answer.account.path, answer.least, answer.in_flight) == (FLEET, one(150), True)
    settle(ledger, "a", 10)
    assert reserve(ledger, ask("b")) == Reserved(output=100)


def test_an_account_that_is_spent_is_named_before_one_that_waits() -> None:
    ledger = fleet(ana=100)
    reserve(ledger, ask("a", BOB, bound=900, output=0))
    answer = reserve(ledger, ask("b"))
    assert isinstance(answer, Short)
    assert (answer.account.path, answer.in_flight) == (ANA, False)


def test_asking_again_for_an_open_reservation_gives_the_same_answer() -> None:
    ledger = fleet(limit=200)
    assert reserve(ledger, ask("a")) == reserve(ledger, ask("a")) == Reserved(output=90)
    assert ledger.account(FLEET).reserved.tokens == 190


def test_a_closed_reservation_permits_no_further_call() -> None:
    ledger = fleet()
    reserve(ledger, ask("a"))
    settle(ledger, "a", 1)
    assert reserve(ledger, ask("a")) == Ended()


def test_an_unknown_usage_is_spent_in_full_until_a_count_corrects_it() -> None:
    ledger = fleet()
    reserve(ledger, ask("a"))
    settle(ledger, "a", None)
    assert sums(ledger, ANA) == {"settled": 200, "unknown": 200}
    settle(ledger, "a", 30)
    assert sums(ledger, ANA) == {"settled": 30}


def test_an_estimate_is_corrected_by_a_count_and_a_count_by_nothing() -> None:
    ledger = fleet()
    reserve(ledger, ask("a"))
    for tokens, estimated, settled in [(90, True, 90), (None, False, 90), (60, False, 60), (50, False, 60)]:
        settle(ledger, "a", tokens, estimated=estimated)
        assert ledger.account(ANA).settled.tokens == settled


def test_a_count_above_an_estimate_is_overshoot_because_the_rest_was_given_back() -> None:
    ledger = fleet()
    reserve(ledger, ask("a"))
    settle(ledger, "a", 60, estimated=True)
    assert settle(ledger, "a", 90) == 30
    assert sums(ledger, ANA) == {"settled": 60, "overshoot": 30}


def test_an_overshoot_is_shown_apart_and_leaves_less_for_the_next() -> None:
    ledger = fleet()
    reserve(ledger, ask("a"))
    assert settle(ledger, "a", 900) == 700
    assert settle(ledger, "a", 900) == 0
    assert sums(ledger, FLEET) == {"settled": 200, "overshoot": 700}
    assert isinstance(reserve(ledger, ask("b")), Short)


def test_a_settlement_of_nothing_reserved_is_told_apart() -> None:
    assert settle(fleet(), "a", 1) is None


def test_fencing_closes_older_lives_under_the_path_and_nothing_else() -> None:
    ledger = fleet()
    reserve(ledger, ask("a1"))
    reserve(ledger, replace(ask("a2"), incarnation=Incarnation(2)))
    reserve(ledger, ask("b1", BOB))
    assert ledger.fence(ANA, Incarnation(1)) == ("a1",)
    assert sums(ledger, ANA) == {"settled": 200, "reserved": 200, "unknown": 200}
    assert ledger.account(BOB).reserved.tokens == 200


def test_what_ends_after_a_stop_is_counted_apart() -> None:
    ledger = fleet()
    for reservation in ("before", "during"):
        reserve(ledger, ask(reservation))
    settle(ledger, "before", None)
    ledger.stop(ANA)
    settle(ledger, "during", None)
    assert ledger.account(FLEET).after_stop.tokens == 200
    settle(ledger, "before", 10)
    settle(ledger, "during", 20)
    assert sums(ledger, ANA) == {"settled": 30, "after_stop": 20}


def test_the_oldest_closed_reservation_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "CLOSED_KEPT", 1)
    ledger = fleet()
    for reservation in ("a", "b"):
        reserve(ledger, ask(reservation))
        settle(ledger, reservation, None)
    assert settle(ledger, "a", 1) is None
    assert settle(ledger, "b", 1) == 0
    assert ledger.account(ANA).settled.tokens == 201


def moved(ledger: Ledger, limit: int | None) -> Ledger:
    """The ledger as another process has it, whose fleet has this limit."""
    return Ledger("fleet", tokens(limit), decode(encode(ledger.state()), LedgerState))


def test_a_ledger_goes_on_in_another_process() -> None:
    first = fleet(ana=900)
    for reservation in ("open", "unknown", "counted"):
        reserve(first, ask(reservation))
    settle(first, "unknown", None)
    settle(first, "counted", 30)

    second = moved(first, 1_000)

    assert second.state() == first.state()
    assert second.accounts() == first.accounts()
    assert (settle(second, "counted", 20), settle(second, "other", 20)) == (0, None)
    assert settle(second, "unknown", 50) == settle(second, "open", 40) == 0
    assert sums(second, FLEET) == {"settled": 120}
    assert reserve(second, ask("counted")) == reserve(second, ask("open")) == Ended()


def test_the_limit_of_the_whole_goes_along_until_another_one_is_set() -> None:
    first = fleet(limit=1_000)
    reserve(first, ask("a"))

    second = moved(first, 100)
    assert sums(second, FLEET) == {"reserved": 200}
    second.limit(FLEET, tokens(100))
    assert sums(second, FLEET) == {"reserved": 200}
    assert isinstance(reserve(second, ask("b")), Short)


def test_an_account_is_opened_under_another_and_keeps_its_limit() -> None:
    ledger = fleet(ana=10)
    ledger.open(ANA, tokens(20))
    assert ledger.account(ANA).limit == Limits(tokens=10)
    with pytest.raises(LookupError, match="no account above fleet/team/cat"):
        ledger.open(("fleet", "team", "cat"), None)
    with pytest.raises(LookupError):
        reserve(ledger, ask("a", ("fleet", "eve")))


def test_negative_amounts_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        ask("a", bound=-1)
    with pytest.raises(ValueError, match="cannot have cost"):
        settle(fleet(), "a", -1)


# --- more than tokens -------------------------------------------------------------------------------------------------

RATES = Rates(prompt=3_000_000, output=15_000_000)
"""Pico-dollars for a token: three and fifteen dollars for a million, times a thousand."""


def limited(limits: Limits, *, carved: Limits | None = None) -> Ledger:
    """A fleet with these limits, in which ana may have others."""
    ledger = Ledger("fleet", limits)
    assert ledger.open(ANA, carved) is None
    ledger.open(BOB, None)
    return ledger


def priced(reservation: str, account: Path = ANA, *, tools: int = 0) -> Ask:
    return replace(ask(reservation, account), rates=RATES, tools=tools)


def test_a_call_holds_the_most_it_can_cost_and_settles_what_it_did_cost() -> None:
    ledger = limited(Limits(dollars=10))
    assert reserve(ledger, priced("a")) == Reserved(output=100)
    assert ledger.account(FLEET).reserved == Amount(200, 1_800_000, 1)
    assert ledger.settle("a", Amount(120, 500_000, 1)) == ZERO
    assert ledger.account(FLEET).settled == Amount(120, 500_000, 1)
    assert ledger.account(FLEET).reserved == ZERO


def test_the_output_shrinks_to_what_can_be_paid() -> None:
    ledger = limited(Limits(dollars=0.001_4))  # 95 % of it are 1,330,000 nano-dollars: 300,000 for the prompt
    assert reserve(ledger, priced("a")) == Reserved(output=68)
    answer = reserve(ledger, priced("b"))
    assert isinstance(answer, Short)
    assert (answer.unit, answer.in_flight) == (Unit.DOLLARS, True)


def test_where_money_is_limited_a_call_without_a_price_is_short_of_it() -> None:
    answer = reserve(limited(Limits(dollars=10)), ask("a"))
    assert isinstance(answer, Short)
    assert (answer.unit, answer.unpriced, answer.in_flight) == (Unit.DOLLARS, True, False)


def test_one_model_call_is_kept_for_a_last_answer() -> None:
    ledger = limited(Limits(model_calls=2))
    reserve(ledger, ask("a"))
    ledger.settle("a", one(10))
    answer = reserve(ledger, ask("b"))
    assert isinstance(answer, Short) and answer.unit is Unit.MODEL_CALLS
    assert reserve(ledger, replace(ask("c"), last_answer=True)) == Reserved(output=100)
    assert isinstance(reserve(limited(Limits(model_calls=1)), ask("a")), Reserved)


def test_a_reply_may_make_as_many_calls_of_tools_as_are_left_and_nobody_waits_who_needs_none() -> None:
    ledger = limited(Limits(tool_calls=3))
    assert reserve(ledger, priced("a", tools=32)) == Reserved(output=100, tools=3)
    answer = reserve(ledger, priced("b", tools=32))
    assert isinstance(answer, Short) and answer.in_flight
    assert reserve(ledger, priced("c", tools=0)) == Reserved(output=100, tools=0)
    ledger.settle("a", Amount(10, 10, 1, 2))
    assert reserve(ledger, priced("b", tools=32)) == Reserved(output=100, tools=1)


def test_calls_of_tools_that_nothing_limits_are_counted_and_are_never_too_many() -> None:
    ledger = limited(Limits(tokens=10_000))
    assert reserve(ledger, priced("a", tools=32)) == Reserved(output=100, tools=None)
    assert ledger.settle("a", Amount(10, 10, 1, 50)) == ZERO
    assert ledger.account(FLEET).settled.tool_calls == 50
    reserve(ledger, priced("b", tools=32))
    ledger.fence(ANA, Incarnation(1))
    assert ledger.settle("b", Amount(10, 10, 1, 7)) == ZERO, "nobody knew of them, so none is too many"
    assert ledger.account(FLEET).settled.tool_calls == 57


def test_calls_of_tools_that_a_life_found_dead_tells_of_later_are_no_overshoot_where_nothing_limits_them() -> None:
    ledger = fleet()
    reserve(ledger, ask("a"))
    ledger.fence(ANA, Incarnation(1))
    assert ledger.settle("a", Amount(30, model_calls=1, tool_calls=2)) == ZERO
    assert ledger.account(ANA).settled == Amount(30, model_calls=1, tool_calls=2)
    assert ledger.account(ANA).overshoot == ZERO


def test_where_tokens_are_not_known_calls_of_tools_are_unless_the_agent_is_gone() -> None:
    ledger = limited(Limits(tool_calls=9))
    for reservation in ("uncounted", "fenced"):
        reserve(ledger, priced(reservation, tools=4))
    ledger.settle("uncounted", None, tools=1)
    assert ledger.account(FLEET).settled == Amount(200, 1_800_000, 1, 1)
    assert ledger.account(FLEET).unknown == Amount(200, 1_800_000, 1, 0)
    ledger.fence(ANA, Incarnation(1))
    assert ledger.account(FLEET).settled.tool_calls == 5
    assert ledger.account(FLEET).unknown.tool_calls == 4


def test_the_time_of_an_account_begins_with_its_first_call_and_leaves_last_answers() -> None:
    ledger = limited(Limits(seconds=60))
    assert isinstance(reserve(ledger, ask("a"), NOW), Reserved)
    assert isinstance(reserve(ledger, ask("b"), NOW + 59.9), Reserved)
    answer = reserve(ledger, ask("c"), NOW + 60)
    assert isinstance(answer, Short)
    assert (answer.unit, answer.in_flight) == (Unit.SECONDS, False)
    assert isinstance(reserve(ledger, replace(ask("c"), last_answer=True), NOW + 60), Reserved)


# --- carved limits ----------------------------------------------------------------------------------------------------


def test_a_carved_limit_is_set_aside_above_whether_it_is_used_or_not() -> None:
    ledger = limited(Limits(tokens=1_000), carved=Limits(tokens=600, carved=True))
    assert ledger.account(FLEET).carved == Amount(600)
    assert reserve(ledger, ask("bob", BOB, bound=0, output=1_000)) == Reserved(output=350)
    assert isinstance(reserve(ledger, ask("bob2", BOB)), Short)
    assert reserve(ledger, ask("ana", bound=500, output=70)) == Reserved(output=70)
    assert ledger.account(FLEET).carved == Amount(30)
    ledger.settle("ana", one(100))
    assert ledger.account(FLEET).carved == Amount(500)


def test_a_limit_that_cannot_be_carved_is_refused_and_says_what_is_short() -> None:
    ledger = fleet()
    reserve(ledger, ask("a"))
    path = ("fleet", "cat")
    short = ledger.open(path, Limits(tokens=751, carved=True))
    assert short is not None
    assert (short.account.path, short.unit, short.in_flight) == (FLEET, Unit.TOKENS, True)
    assert len(ledger.lineage(path)) == 1
    assert ledger.open(path, Limits(tokens=750, carved=True)) is None


def test_what_is_carved_under_an_account_without_a_limit_is_set_aside_above_that() -> None:
    ledger = fleet()
    run = (*ANA, "run:ana.1.1")
    assert ledger.open(run, Limits(tokens=900, carved=True)) is None
    assert ledger.account(FLEET).carved == ledger.account(ANA).carved == Amount(900)
    assert isinstance(reserve(ledger, ask("bob", BOB)), Short)
    assert isinstance(reserve(ledger, ask("own")), Short), "nor is it there for another run of the agent"
    assert isinstance(reserve(ledger, ask("run", run)), Reserved)
    ledger.close(run)
    assert ledger.account(FLEET).carved == ZERO
    ledger.settle("run", one(50))
    assert ledger.account(ANA).settled == one(50)
    assert isinstance(reserve(ledger, ask("bob", BOB)), Reserved)


def test_nothing_is_set_aside_for_who_is_gone_until_it_comes_back() -> None:
    ledger = limited(Limits(tokens=1_000), carved=Limits(tokens=600, carved=True))
    ledger.rest(ANA)
    assert ledger.account(FLEET).carved == ZERO
    reserve(ledger, ask("bob", BOB, bound=0, output=500))
    assert ledger.open(ANA, None) is not None
    ledger.settle("bob", one(10))
    assert ledger.open(ANA, None) is None
    assert ledger.account(FLEET).carved == Amount(600)


def test_a_limit_can_be_raised_and_lowered_and_what_was_granted_stays() -> None:
    ledger = fleet(ana=200)
    reserve(ledger, ask("a"))
    assert isinstance(reserve(ledger, ask("b")), Short)
    assert ledger.limit(ANA, Limits(tokens=500)) is None
    assert isinstance(reserve(ledger, ask("b")), Reserved)
    ledger.limit(ANA, Limits(tokens=1))
    assert sums(ledger, ANA) == {"reserved": 400 - 10}
    ledger.settle("a", one(100))
    assert isinstance(reserve(ledger, ask("c")), Short)
    short = ledger.limit(ANA, Limits(tokens=951, carved=True))
    assert short is not None and short.account.path == FLEET
    assert ledger.account(ANA).limit == Limits(tokens=1)


def test_a_carved_limit_that_is_lowered_still_holds_what_was_carved_out_of_it() -> None:
    ledger = limited(Limits(tokens=1_000), carved=Limits(tokens=600, carved=True))
    run = (*ANA, "run:ana.1.1")
    ledger.open(run, Limits(tokens=500, carved=True))
    ledger.limit(ANA, Limits(tokens=100, carved=True))
    assert ledger.account(FLEET).carved == Amount(500)
    assert reserve(ledger, ask("bob", BOB, bound=0, output=900)) == Reserved(output=450)
    assert reserve(ledger, ask("run", run, bound=400, output=75)) == Reserved(output=75)
    assert sums(ledger, FLEET) == {"reserved": 925}
