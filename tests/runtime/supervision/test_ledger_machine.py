"""The tree of accounts under any order of events, in all that is limited, four levels deep, with carved limits."""

from dataclasses import dataclass, replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, precondition, rule

from amrita_fleet.protocols.amounts import ZERO, Amount
from amrita_fleet.protocols.codec import decode, encode
from amrita_fleet.protocols.ids import Incarnation
from amrita_fleet.protocols.limits import Limits, Unit
from amrita_fleet.protocols.prices import Rates
from amrita_fleet.runtime.supervision.account import Path
from amrita_fleet.runtime.supervision.ledger import Ended, Ledger, LedgerState, Reserved, Short
from amrita_fleet.runtime.supervision.reservation import Ask

FLEET = ("fleet",)
RATES = Rates(prompt=1_000, output=2_000)
"""A nano-dollar for a token of the prompt, two for one of the output."""

FREE = Rates(0, 0)

TREE: dict[Path, Limits | None] = {
    FLEET: Limits(tokens=2_000, dollars=0.000_003, model_calls=40, tool_calls=60),
    ("fleet", "ana"): Limits(tokens=700, carved=True),
    ("fleet", "team:t"): Limits(tokens=900, dollars=0.000_001_2, tool_calls=20),
    ("fleet", "team:t", "cat"): None,
    ("fleet", "team:t", "dan"): Limits(tokens=500, dollars=0.000_000_5, carved=True),
}
RUNS = tuple((*agent, f"run:{number}") for agent in TREE if agent[-1] in {"ana", "cat", "dan"} for number in (1, 2))
AGENTS = [path for path in TREE if path[-1] in {"ana", "cat", "dan"}]
AMOUNTS = st.integers(0, 400)
LIMITS = st.one_of(
    st.none(),
    st.builds(
        Limits,
        tokens=st.integers(1, 2_500),
        dollars=st.none() | st.sampled_from([0.000_000_4, 0.000_002]),
        model_calls=st.none() | st.integers(1, 12),
        tool_calls=st.none() | st.integers(1, 12),
        carved=st.booleans(),
    ),
)


@dataclass
class Attempt:
    """What the test knows of one reservation."""

    account: Path
    incarnation: int
    held: Amount
    rank: int = 0
    settled: Amount = ZERO
    over: Amount = ZERO
    unknown: Amount = ZERO


def fits(amount: Amount, room: Amount) -> bool:
    return min((room - amount).parts) >= 0


class AnyOrder(RuleBasedStateMachine):
    """Honest providers: no count is above its reservation."""

    attempts = Bundle("attempts")
    beyond = 0

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger("fleet", TREE[FLEET])
        for path, limit in list(TREE.items())[1:]:
            assert self.ledger.open(path, limit) is None
        self.known: dict[str, Attempt] = {}
        self.granted: dict[Path, Amount] = {}

    @property
    def paying(self) -> list[Path]:
        """The accounts from which agents spend: their own and their runs', as far as they do not rest."""
        there = [account.path for account in self.ledger.accounts() if not account.rests]
        return [path for path in there if path in AGENTS or path in RUNS]

    @precondition(lambda self: self.paying)
    @rule(
        target=attempts,
        data=st.data(),
        incarnation=st.integers(1, 3),
        amounts=st.tuples(AMOUNTS, AMOUNTS, AMOUNTS),
        tools=st.integers(0, 8),
        last_answer=st.booleans(),
    )
    def reserve(
        self, data: st.DataObject, incarnation: int, amounts: tuple[int, int, int], tools: int, *, last_answer: bool
    ) -> object:
        account = data.draw(st.sampled_from(self.paying))
        asked = Ask(str(len(self.known)), account, Incarnation(incarnation), *amounts, last_answer, "p", RATES, tools)
        before = self.ledger.accounts()
        answer = self.ledger.reserve(asked, 0.0)
        if isinstance(answer, Reserved):
            assert min(asked.floor, asked.output) <= answer.output <= asked.output
            assert answer.tools is None or min(tools, 1) <= answer.tools <= tools
            held = asked.need(answer.output, answer.tools or 0)
            assert self.ledger.account(FLEET).reserved - before[0].reserved == held
            self.known[asked.reservation] = Attempt(account, incarnation, held)
            return asked.reservation
        assert isinstance(answer, Short)
        assert [replace(each, began=0.0) for each in before] == [
            replace(each, began=0.0) for each in self.ledger.accounts()
        ]
        return multiple()

    @rule(reservation=attempts)
    def ask_again(self, reservation: str) -> None:
        attempt = self.known[reservation]
        before = self.ledger.accounts()
        answer = self.ledger.reserve(Ask(reservation, attempt.account, Incarnation(1), 0, 1, 1), 0.0)
        assert isinstance(answer, Ended if attempt.rank else Reserved)
        assert self.ledger.accounts() == before

    @rule(reservation=attempts, part=st.none() | st.floats(0, 1), more=AMOUNTS, estimated=st.booleans())
    def settle(self, reservation: str, part: float | None, more: int, *, estimated: bool) -> None:
        attempt = self.known[reservation]
        limit = attempt.settled if attempt.rank else attempt.held
        spent = None
        if part is not None:
            over = self.beyond * more
            tokens, money = int(part * limit.tokens) + over, int(part * limit.nanodollars) + over
            spent = Amount(tokens, money, limit.model_calls, limit.tool_calls)
        self.ledger.settle(reservation, spent, estimated=estimated)
        rank = 1 if spent is None else 2 if estimated else 3
        if rank > attempt.rank:
            attempt.rank, attempt.settled = rank, limit if spent is None else spent.within(limit)
            attempt.over = ZERO if spent is None else spent - attempt.settled
            attempt.unknown = limit if spent is None else ZERO

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

    @rule(path=st.sampled_from(RUNS), limit=LIMITS)
    def begin_a_run(self, path: Path, limit: Limits | None) -> None:
        before = self.ledger.accounts()
        if self.ledger.open(path, limit) is not None:
            assert self.ledger.accounts() == before

    @rule(path=st.sampled_from(RUNS))
    def end_a_run(self, path: Path) -> None:
        self.ledger.close(path)
        self.granted.pop(path, None)

    @rule(path=st.sampled_from([*AGENTS, *RUNS]))
    def rest(self, path: Path) -> None:
        self.ledger.rest(path)

    @rule(path=st.sampled_from(AGENTS))
    def come_back(self, path: Path) -> None:
        before = self.ledger.accounts()
        if self.ledger.open(path, None) is not None:
            assert self.ledger.accounts() == before

    @rule(path=st.sampled_from(list(TREE)), limit=LIMITS)
    def limit(self, path: Path, limit: Limits | None) -> None:
        before, was = self.ledger.accounts(), self.ledger.account(path)
        if self.ledger.limit(path, limit) is not None:
            assert self.ledger.accounts() == before
        else:
            self.granted[path] = was.spent + was.reserved + was.carved

    @rule()
    def go_on_in_another_process(self) -> None:
        self.ledger = Ledger("fleet", None, decode(encode(self.ledger.state()), LedgerState))

    @invariant()
    def no_account_passes_its_limit(self) -> None:
        """But one whose limit was lowered below what was spent and granted then: that can rise no further."""
        for account in self.ledger.accounts():
            held = account.settled + account.reserved + account.carved
            most = BOUNDLESS if account.limit is None else account.limit.most
            was = self.granted.get(account.path, ZERO)
            parts = zip(held.parts, most.parts, was.parts, strict=True)
            assert all(now <= max(limit, then) for now, limit, then in parts), account

    @invariant()
    def every_account_is_the_sum_of_the_attempts_under_it(self) -> None:
        for account in self.ledger.accounts():
            if account.path in RUNS:  # one that was opened again begins anew
                continue
            under = [a for a in self.known.values() if a.account[: len(account.path)] == account.path]
            assert account.reserved == total(attempt.held for attempt in under if attempt.rank == 0)
            assert account.settled == total(attempt.settled for attempt in under)
            assert account.overshoot == total(attempt.over for attempt in under)
            assert account.unknown == total(attempt.unknown for attempt in under)

    @invariant()
    def what_is_set_aside_is_the_sum_of_what_is_below(self) -> None:
        for parent in self.ledger.accounts():
            children = [account for account in self.ledger.accounts() if account.path[:-1] == parent.path]
            assert parent.carved == total(child.claim for child in children)

    @invariant()
    def what_is_left_of_a_carved_limit_can_be_spent(self) -> None:
        """Whatever all others spend. An overshoot of its own is its own."""
        for account in map(self.ledger.account, self.paying):
            if account.is_carved and account.limit is not None and account.limit.tokens is not None:
                left = account.room(last_answer=False).tokens
                asked = Ask("probe", account.path, Incarnation(1), max(0, left), 0, 0, rates=FREE)
                answer = Ledger("fleet", None, self.ledger.state()).reserve(asked, 0.0)
                assert isinstance(answer, Reserved) or (isinstance(answer, Short) and answer.unit is not Unit.TOKENS)


BOUNDLESS = Amount(2**62, 2**62, 2**62, 2**62)


def total(amounts: object) -> Amount:
    return sum(amounts, ZERO)  # type: ignore[call-overload,no-any-return]


class AnyOrderAndAnyCount(AnyOrder):
    """Providers that count more than was reserved: what is settled and reserved still stays within the limits."""

    beyond = 1


RUN = settings(stateful_step_count=40)
TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = RUN
TestAnyOrderAndAnyCount = AnyOrderAndAnyCount.TestCase
TestAnyOrderAndAnyCount.settings = RUN
