"""Whatever agents ask and providers answer: slots, tokens, turns and cooldowns hold, and nobody starves."""

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from amrita_fleet.protocols.amounts import Amount
from amrita_fleet.protocols.checkin import AttemptResult, CheckIn, Proceed, Wait
from amrita_fleet.protocols.ids import AgentId, Incarnation, RunId
from amrita_fleet.protocols.limits import Limits
from amrita_fleet.runtime.supervision.gate import GRACE, Gate
from amrita_fleet.runtime.supervision.ledger import Ledger
from amrita_fleet.runtime.supervision.permission import hold_up, permit

FIRST = Incarnation(1)
KEYS = ("https://a", "https://b")
COST = 400
LIMIT = 3_000
"""Tokens: seven calls fit at a time."""

NAMES = [AgentId(f"a{number}") for number in range(10)]
results = st.sampled_from([*AttemptResult, AttemptResult.OK, AttemptResult.BUSY, AttemptResult.BUSY])
afters = st.none() | st.sampled_from([0.0, 0.02, 1.0, 7.5])


@dataclass
class Waiter:
    """What the test knows of one who waits: when it asked, and what it was told."""

    asked: CheckIn
    at: float
    told: float
    short: bool = False

    def holds(self, now: float) -> bool:
        return now - self.at <= self.told + GRACE


@dataclass
class Provider:
    """What the test knows of one provider."""

    line: dict[AgentId, Waiter] = field(default_factory=dict[AgentId, Waiter])
    flying: set[str] = field(default_factory=set[str])
    cooling: float = 0.0
    last: float = 0.0
    refused: bool = False


class AnyTraffic(RuleBasedStateMachine):
    """Asks as the Supervisor does: the gate, and if it is open at once the ledger."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate()
        self.ledger = Ledger("fleet", Limits(tokens=LIMIT))
        for name in NAMES:
            self.ledger.open(("fleet", name), None)
        self.now = 1_000_000.0
        self.attempts = dict.fromkeys(NAMES, 0)
        self.providers = {key: Provider() for key in KEYS}
        self.calls: dict[AgentId, CheckIn] = {}

    def known(self, agent: AgentId) -> Provider | None:
        """Where it waits."""
        return next((provider for provider in self.providers.values() if agent in provider.line), None)

    @property
    def idle(self) -> list[AgentId]:
        """Those without a call."""
        return [name for name in NAMES if name not in self.calls]

    @property
    def waiting(self) -> list[AgentId]:
        """Those who have a place, first come first, or had one."""
        return [name for provider in self.providers.values() for name in provider.line]

    @precondition(lambda self: self.idle)
    @rule(data=st.data(), key=st.sampled_from([KEYS[0], KEYS[0], KEYS[1]]))
    def begin(self, data: st.DataObject, key: str) -> None:
        """An agent without a call wants one; who waits gives that up."""
        agent = data.draw(st.sampled_from(self.idle))
        if (before := self.known(agent)) is not None:
            del before.line[agent]
        self.attempts[agent] += 1
        attempt = self.attempts[agent]
        self.ask(CheckIn(agent, FIRST, RunId("r"), 1, "thinking", attempt, key, COST // 2, COST // 2, COST // 2))

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), punctual=st.booleans())
    def ask_again(self, data: st.DataObject, *, punctual: bool) -> None:
        """One who waits asks again, when it was told to, or now: too early, or too late."""
        agent = data.draw(st.sampled_from(self.waiting))
        provider = self.known(agent)
        assert provider is not None
        waiter = provider.line[agent]
        if punctual:
            self.now = max(self.now, waiter.at + waiter.told)
        self.ask(waiter.asked)

    def ask(self, asked: CheckIn) -> None:
        agent, provider = asked.agent, self.providers[asked.provider]
        provider.line = {name: waiter for name, waiter in provider.line.items() if waiter.holds(self.now)}
        waiter = provider.line.setdefault(agent, Waiter(asked, self.now, 0.0))
        ahead = sum(1 for one in list(provider.line.values())[: list(provider.line).index(agent)] if not one.short)
        free = self.gate.traffic(asked.provider, self.now).limit - len(provider.flying)
        reserved = self.ledger.account(("fleet",)).reserved.tokens
        held_up = hold_up(self.gate, asked, self.now)
        assert held_up is not None or ahead < free, "a slot is kept for each of those who came before"
        match held_up or permit(self.ledger, self.gate, asked, ("fleet", agent), self.now):
            case Proceed(grant=grant):
                del provider.line[agent]
                self.goes(provider, self.now + grant.after)
                provider.flying.add(asked.reservation)
                self.calls[agent] = asked
            case Wait(after=after, queued=queued):
                assert after > 0
                assert self.ledger.account(("fleet",)).reserved.tokens == reserved, "who waits holds no tokens"
                provider.line[agent] = Waiter(waiter.asked, self.now, after if queued else 0.0, short=not queued)
            case _:
                del provider.line[agent]

    def goes(self, provider: Provider, at: float) -> None:
        assert at >= provider.cooling - 1e-6, "nobody goes in a cooldown"
        assert at > provider.last or not provider.refused, "no two go at the same instant once one was refused"
        provider.last = max(at, provider.last)

    @precondition(lambda self: self.calls)
    @rule(data=st.data(), result=results, after=afters, jitter=st.floats(0, 1, exclude_max=True))
    def settle(self, data: st.DataObject, result: AttemptResult, after: float | None, jitter: float) -> None:
        """A call is over; it is reported twice."""
        asked = self.calls.pop(data.draw(st.sampled_from(sorted(self.calls))))
        provider, before = self.providers[asked.provider], self.gate.traffic(asked.provider, self.now).limit
        provider.flying.discard(asked.reservation)
        for _ in range(2):
            self.ledger.settle(asked.reservation, Amount(10))
            self.gate.give_back(asked.reservation, self.now, result=result, after=after, jitter=jitter)
        limit = self.gate.traffic(asked.provider, self.now).limit
        if result.throttled:
            assert limit <= before
            provider.refused = True
            provider.cooling = max(provider.cooling, self.now + (after or 0.0))
        else:
            assert before <= limit <= before + 1

    @rule(agent=st.sampled_from(NAMES))
    def die(self, agent: AgentId) -> None:
        """A life is fenced: it waits no more, and its slot is free."""
        self.calls.pop(agent, None)
        self.gate.leave(agent)
        for reservation in self.ledger.fence(("fleet", agent), FIRST):
            self.gate.give_back(reservation, self.now)
            for provider in self.providers.values():
                provider.flying.discard(reservation)
        if (before := self.known(agent)) is not None:
            del before.line[agent]

    @rule(seconds=st.sampled_from([0.0, 0.01, 0.1, 0.5, 2.0, 30.0]))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @invariant()
    def a_slot_has_tokens_and_tokens_have_a_slot(self) -> None:
        flying = sum(len(provider.flying) for provider in self.providers.values())
        assert self.ledger.account(("fleet",)).reserved.tokens == flying * COST
        for key, provider in self.providers.items():
            assert self.gate.traffic(key, self.now).in_flight == len(provider.flying)

    @invariant()
    def at_least_one_call_may_always_be_in_flight(self) -> None:
        assert all(self.gate.traffic(key, self.now).limit >= 1 for key in KEYS)

    def teardown(self) -> None:
        """From here on providers answer and agents ask when they were told to: all of them have their turn, soon."""
        for agent in list(self.calls):
            self.settle_quietly(agent)
        for _ in range(60 * len(NAMES)):
            waiters = [waiter for provider in self.providers.values() for waiter in provider.line.values()]
            if not waiters:
                return
            waiter = min(waiters, key=lambda each: each.at + each.told)
            self.now = max(self.now, waiter.at + waiter.told)
            self.ask(waiter.asked)
            self.settle_quietly(waiter.asked.agent)
        raise AssertionError("somebody starves")

    def settle_quietly(self, agent: AgentId) -> None:
        if (asked := self.calls.pop(agent, None)) is not None:
            self.providers[asked.provider].flying.discard(asked.reservation)
            self.ledger.settle(asked.reservation, Amount(10))
            self.gate.give_back(asked.reservation, self.now, result=AttemptResult.OK)


TestAnyTraffic = AnyTraffic.TestCase
TestAnyTraffic.settings = settings(stateful_step_count=60)
