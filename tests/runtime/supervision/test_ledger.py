"""The tree of accounts: one by one, and under any order of events."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule

from amrita_fleet.protocols.codec import decode, encode
from amrita_fleet.protocols.ids import Incarnation
from amrita_fleet.runtime.supervision import ledger as ledger_module
from amrita_fleet.runtime.supervision.account import Account, Path
from amrita_fleet.runtime.supervision.ledger import Ended, Ledger, LedgerState, Reserved, Short
from amrita_fleet.runtime.supervision.reservation import Ask

FLEET = ("fleet",)
ANA = ("fleet", "ana")
BOB = ("fleet", "bob")


def ask(reservation: str, account: Path = ANA, *, bound: int = 100, output: int = 100, floor: int = 50) -> Ask:
    return Ask(reservation, account, Incarnation(1), bound, output, floor)


def fleet(*, limit: int | None = 1_000, ana: int | None = None) -> Ledger:
    ledger = Ledger("fleet", limit)
    ledger.open(ANA, ana)
    ledger.open(BOB, None)
    return ledger


def test_a_reservation_is_set_aside_in_its_account_and_above() -> None:
    ledger = fleet()
    assert ledger.reserve(ask("a")) == Reserved(output=100)
    assert [account.reserved for account in ledger.accounts()] == [200, 200, 0]


def test_a_settlement_gives_back_what_was_not_spent() -> None:
    ledger = fleet()
    ledger.reserve(ask("a"))
    assert ledger.settle("a", 120) == 0
    assert ledger.accounts() == (
        Account(FLEET, 1_000, settled=120),
        Account(ANA, None, settled=120),
        Account(BOB, None),
    )


def test_the_output_shrinks_to_what_is_left() -> None:
    ledger = fleet(limit=200)
    assert ledger.reserve(ask("a")) == Reserved(output=90)  # 10 of 200 are the pool


def test_what_is_left_of_the_tightest_account_counts() -> None:
    assert fleet(ana=180).reserve(ask("a")) == Reserved(output=71)


def test_below_the_floor_nothing_is_set_aside() -> None:
    ledger = fleet(ana=150)
    assert ledger.reserve(ask("a")) == Short(Account(ANA, 150), least=150, in_flight=False)
    assert all(account.reserved == 0 for account in ledger.accounts())


def test_a_floor_above_the_output_wanted_does_not_ask_for_more() -> None:
    assert fleet(limit=120).reserve(ask("a", output=10)) == Reserved(output=10)


def test_without_a_limit_all_is_granted() -> None:
    assert fleet(limit=None).reserve(ask("a", bound=10**12, output=10**12)) == Reserved(output=10**12)


def test_only_a_last_answer_may_use_the_pool() -> None:
    ledger = fleet(limit=1_000)
    ledger.reserve(ask("a", bound=900, output=50))
    assert isinstance(ledger.reserve(ask("b", bound=0, output=50)), Short)
    assert ledger.reserve(replace(ask("c", bound=0, output=80), last_answer=True)) == Reserved(output=50)


def test_what_calls_in_flight_hold_may_come_back() -> None:
    ledger = fleet()
    ledger.reserve(ask("a", BOB, bound=900, output=0))
    answer = ledger.reserve(ask("b"))
    assert answer == Short(Account(FLEET, 1_000, reserved=900), least=150, in_flight=True)
    ledger.settle("a", 10)
    assert ledger.reserve(ask("b")) == Reserved(output=100)


def test_an_account_that_is_spent_is_named_before_one_that_waits() -> None:
    ledger = fleet(ana=100)
    ledger.reserve(ask("a", BOB, bound=900, output=0))
    answer = ledger.reserve(ask("b"))
    assert isinstance(answer, Short)
    assert (answer.account.path, answer.in_flight) == (ANA, False)


def test_asking_again_for_an_open_reservation_gives_the_same_answer() -> None:
    ledger = fleet(limit=200)
    assert ledger.reserve(ask("a")) == ledger.reserve(ask("a")) == Reserved(output=90)
    assert ledger.account(FLEET).reserved == 190


def test_a_closed_reservation_permits_no_further_call() -> None:
    ledger = fleet()
    ledger.reserve(ask("a"))
    ledger.settle("a", 1)
    assert ledger.reserve(ask("a")) == Ended()


def test_an_unknown_usage_is_spent_in_full_until_a_count_corrects_it() -> None:
    ledger = fleet()
    ledger.reserve(ask("a"))
    ledger.settle("a", None)
    assert ledger.account(ANA) == Account(ANA, None, settled=200, unknown=200)
    ledger.settle("a", 30)
    assert ledger.account(ANA) == Account(ANA, None, settled=30)


def test_an_estimate_is_corrected_by_a_count_and_a_count_by_nothing() -> None:
    ledger = fleet()
    ledger.reserve(ask("a"))
    for tokens, estimated, settled in [(90, True, 90), (None, False, 90), (60, False, 60), (50, False, 60)]:
        ledger.settle("a", tokens, estimated=estimated)
        assert ledger.account(ANA).settled == settled


def test_a_count_above_an_estimate_is_overshoot_because_the_rest_was_given_back() -> None:
    ledger = fleet()
    ledger.reserve(ask("a"))
    ledger.settle("a", 60, estimated=True)
    assert ledger.settle("a", 90) == 30
    assert ledger.account(ANA) == Account(ANA, None, settled=60, overshoot=30)


def test_an_overshoot_is_shown_apart_and_leaves_less_for_the_next() -> None:
    ledger = fleet()
    ledger.reserve(ask("a"))
    assert ledger.settle("a", 900) == 700
    assert ledger.settle("a", 900) == 0
    assert ledger.account(FLEET) == Account(FLEET, 1_000, settled=200, overshoot=700)
    assert isinstance(ledger.reserve(ask("b")), Short)


def test_a_settlement_of_nothing_reserved_is_told_apart() -> None:
    assert fleet().settle("a", 1) is None


def test_fencing_closes_older_lives_under_the_path_and_nothing_else() -> None:
    ledger = fleet()
    ledger.reserve(ask("a1"))
    ledger.reserve(replace(ask("a2"), incarnation=Incarnation(2)))
    ledger.reserve(ask("b1", BOB))
    assert ledger.fence(ANA, Incarnation(1)) == ("a1",)
    assert ledger.account(ANA) == Account(ANA, None, settled=200, reserved=200, unknown=200)
    assert ledger.account(BOB).reserved == 200


def test_what_ends_after_a_stop_is_counted_apart() -> None:
    ledger = fleet()
    for reservation in ("before", "during"):
        ledger.reserve(ask(reservation))
    ledger.settle("before", None)
    ledger.stop(ANA)
    ledger.settle("during", None)
    assert ledger.account(FLEET).after_stop == 200
    ledger.settle("before", 10)
    ledger.settle("during", 20)
    assert ledger.account(ANA) == Account(ANA, None, settled=30, after_stop=20, stopped=True)


def test_the_oldest_closed_reservation_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "CLOSED_KEPT", 1)
    ledger = fleet()
    for reservation in ("a", "b"):
        ledger.reserve(ask(reservation))
        ledger.settle(reservation, None)
    assert ledger.settle("a", 1) is None
    assert ledger.settle("b", 1) == 0
    assert ledger.account(ANA).settled == 201


def moved(ledger: Ledger, limit: int | None) -> Ledger:
    """The ledger as another process has it, whose fleet has this limit."""
    return Ledger("fleet", limit, decode(encode(ledger.state()), LedgerState))


def test_a_ledger_goes_on_in_another_process() -> None:
    first = fleet(ana=900)
    for reservation in ("open", "unknown", "counted"):
        first.reserve(ask(reservation))
    first.settle("unknown", None)
    first.settle("counted", 30)

    second = moved(first, 1_000)

    assert second.state() == first.state()
    assert second.accounts() == first.accounts()
    assert (second.settle("counted", 20), second.settle("other", 20)) == (0, None)
    assert second.settle("unknown", 50) == second.settle("open", 40) == 0
    assert second.account(FLEET) == Account(FLEET, 1_000, settled=120)
    assert second.reserve(ask("counted")) == second.reserve(ask("open")) == Ended()


def test_the_limit_of_the_whole_goes_along_until_another_one_is_set() -> None:
    first = fleet(limit=1_000)
    first.reserve(ask("a"))

    second = moved(first, 100)
    assert second.account(FLEET) == Account(FLEET, 1_000, reserved=200)
    second.limit(100)
    assert second.account(FLEET) == Account(FLEET, 100, reserved=200)
    assert isinstance(second.reserve(ask("b")), Short)
    with pytest.raises(ValueError, match="give 0 or more"):
        second.limit(-1)


def test_an_account_is_opened_under_another_and_keeps_its_limit() -> None:
    ledger = fleet(ana=10)
    ledger.open(ANA, 10)
    with pytest.raises(ValueError, match="has a limit of 10 tokens, not 20"):
        ledger.open(ANA, 20)
    with pytest.raises(LookupError, match="no account above fleet/team/cat"):
        ledger.open(("fleet", "team", "cat"), None)


def test_negative_amounts_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        ask("a", bound=-1)
    with pytest.raises(ValueError, match="cannot have cost -1"):
        fleet().settle("a", -1)
    with pytest.raises(ValueError, match="is -5"):
        Ledger("fleet", -5)


@dataclass
class Attempt:
    """What the test knows of one reservation."""

    account: Path
    incarnation: int
    held: int
    rank: int = 0
    settled: int = 0
    over: int = 0
    unknown: int = 0


TREE: dict[Path, int | None] = {
    ("fleet",): 2_000,
    ("fleet", "ana"): 700,
    ("fleet", "team"): 900,
    ("fleet", "team", "cat"): None,
    ("fleet", "team", "dan"): 500,
}
LEAVES = [path for path in TREE if not any(other[:-1] == path for other in TREE)]
AMOUNTS = st.integers(0, 400)


class AnyOrder(RuleBasedStateMachine):
    """Honest providers: no count is above its reservation."""

    attempts = Bundle("attempts")
    beyond = 0

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger("fleet", TREE[FLEET])
        for path, limit in list(TREE.items())[1:]:
            self.ledger.open(path, limit)
        self.known: dict[str, Attempt] = {}

    @rule(
        target=attempts,
        account=st.sampled_from(LEAVES),
        incarnation=st.integers(1, 3),
        amounts=st.tuples(AMOUNTS, AMOUNTS, AMOUNTS),
        last_answer=st.booleans(),
    )
    def reserve(self, account: Path, incarnation: int, amounts: tuple[int, int, int], *, last_answer: bool) -> object:
        asked = Ask(str(len(self.known)), account, Incarnation(incarnation), *amounts, last_answer)
        before = self.ledger.accounts()
        above = [self.ledger.account(account[:depth]) for depth in range(1, len(account) + 1)]
        answer = self.ledger.reserve(asked)
        if isinstance(answer, Reserved):
            assert min(asked.floor, asked.output) <= answer.output <= asked.output
            if not last_answer:
                self.check_pools(account)
            self.known[asked.reservation] = Attempt(account, incarnation, asked.bound + answer.output)
            return asked.reservation
        assert isinstance(answer, Short)
        assert self.ledger.accounts() == before
        free = [a.limit - (0 if last_answer else a.pool) - a.spent for a in above if a.limit is not None]
        assert answer.in_flight == (min(free) >= asked.least)
        return multiple()

    def check_pools(self, account: Path) -> None:
        for depth in range(1, len(account) + 1):
            paid = self.ledger.account(account[:depth])
            assert paid.limit is None or paid.spent + paid.reserved <= paid.limit - paid.pool

    @rule(reservation=attempts)
    def ask_again(self, reservation: str) -> None:
        attempt = self.known[reservation]
        before = self.ledger.accounts()
        answer = self.ledger.reserve(Ask(reservation, attempt.account, Incarnation(1), 0, 1, 1))
        assert isinstance(answer, Ended if attempt.rank else Reserved)
        assert self.ledger.accounts() == before

    @rule(reservation=attempts, part=st.none() | st.floats(0, 1), more=AMOUNTS, estimated=st.booleans())
    def settle(self, reservation: str, part: float | None, more: int, *, estimated: bool) -> None:
        attempt = self.known[reservation]
        limit = attempt.settled if attempt.rank else attempt.held
        tokens = None if part is None else int(part * limit) + self.beyond * more
        self.ledger.settle(reservation, tokens, estimated=estimated)
        rank = 1 if tokens is None else 2 if estimated else 3
        if rank > attempt.rank:
            spent = limit if tokens is None else tokens
            attempt.rank, attempt.settled, attempt.over = rank, min(spent, limit), max(0, spent - limit)
            attempt.unknown = limit if tokens is None else 0

    @rule(path=st.sampled_from(list(TREE)), incarnation=st.integers(1, 3))
    def fence(self, path: Path, incarnation: int) -> None:
        expected = [
            reservation
            for reservation, attempt in self.known.items()
            if attempt.rank == 0 and attempt.account[: len(path)] == path and attempt.incarnation <= incarnation
        ]
        assert list(self.ledger.fence(path, Incarnation(incarnation))) == expected
        for reservation in expected:
            attempt = self.known[reservation]
            attempt.rank, attempt.settled, attempt.unknown = 1, attempt.held, attempt.held

    @rule(path=st.sampled_from(LEAVES))
    def stop(self, path: Path) -> None:
        self.ledger.stop(path)

    @rule()
    def go_on_in_another_process(self) -> None:
        self.ledger = moved(self.ledger, TREE[FLEET])

    @invariant()
    def no_account_passes_its_limit(self) -> None:
        for account in self.ledger.accounts():
            assert account.limit is None or account.settled + account.reserved <= account.limit

    @invariant()
    def every_account_is_the_sum_of_the_attempts_under_it(self) -> None:
        for account in self.ledger.accounts():
            under = [a for a in self.known.values() if a.account[: len(account.path)] == account.path]
            assert account.reserved == sum(attempt.held for attempt in under if attempt.rank == 0)
            assert account.settled == sum(attempt.settled for attempt in under)
            assert account.overshoot == sum(attempt.over for attempt in under)
            assert account.unknown == sum(attempt.unknown for attempt in under)
            assert 0 <= account.after_stop <= account.spent

    @invariant()
    def a_parent_is_the_sum_of_its_children(self) -> None:
        for parent in self.ledger.accounts():
            children = [account for account in self.ledger.accounts() if account.path[:-1] == parent.path]
            if children:
                assert parent.reserved == sum(child.reserved for child in children)
                assert parent.spent == sum(child.spent for child in children)
                assert parent.after_stop == sum(child.after_stop for child in children)


class AnyOrderAndAnyCount(AnyOrder):
    """Providers that count more than was reserved: what is settled and reserved still stays within the limits."""

    beyond = 1


RUNS = settings(stateful_step_count=40)
TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = RUNS
TestAnyOrderAndAnyCount = AnyOrderAndAnyCount.TestCase
TestAnyOrderAndAnyCount.settings = RUNS
