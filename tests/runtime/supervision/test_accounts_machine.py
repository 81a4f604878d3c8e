"""Whatever agents ask, report and leave unsaid, and whoever dies: what a provider may count is set aside or spent."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from amrita_fleet.protocols.amounts import ZERO
from amrita_fleet.protocols.checkin import CheckIn, Proceed, Settlement, Stop
from amrita_fleet.protocols.ids import AgentId, Incarnation, RunId
from amrita_fleet.protocols.limits import Limits
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.errors import NameTaken
from amrita_fleet.runtime.supervision.account import Account
from amrita_fleet.runtime.supervision.commands import Newcomer
from amrita_fleet.runtime.supervision.supervisor import Supervisor

LIMITS = {
    "fleet": Limits(tokens=2_500),
    "ana": None,
    "bob": Limits(tokens=900),
    "cem": Limits(tokens=1_500),
}
NAMES = [AgentId(name) for name in LIMITS if name != "fleet"]
AMOUNTS = st.integers(0, 400)


@dataclass
class Call:
    """One call that was granted.

    Attributes:
        life: Of the agent that makes it.
        most: Tokens that the provider can count for it.
        counted: What it has counted; None: the call is in flight.
        told: That was reported.
        given_up: Nobody has reported a count, and it counts in full: its life was found dead, or the count is unknown.
    """

    asked: CheckIn
    life: int
    most: int
    counted: int | None = None
    told: bool = False
    given_up: bool = False

    @property
    def cost(self) -> int:
        """What it may come to yet."""
        return self.most if self.counted is None else self.counted


class AnyFleet(RuleBasedStateMachine):
    """Asks one Supervisor, and knows what its provider counts."""

    def __init__(self) -> None:
        super().__init__()
        clock = VirtualClock(1_000.0)
        self.supervisor = Supervisor(
            fleet="fleet", limit=LIMITS["fleet"], now=clock.now, post=lambda _agent, _text: None
        )
        self.supervisor.admit_all([Newcomer(name, None, LIMITS[name]) for name in NAMES], 1)
        self.lives = dict.fromkeys(NAMES, 1)
        self.dead = set[AgentId]()
        self.stopped = set[AgentId]()
        self.calls: dict[str, Call] = {}
        self.attempts = 0

    def accounts(self) -> tuple[Account, ...]:
        """All of them, but for when their first call was asked for."""
        return tuple(replace(account, began=None) for account in self.supervisor.accounts())

    def under(self, account: Account) -> list[Call]:
        """The calls that an account pays for."""
        whole = account.name == "fleet"
        return [call for call in self.calls.values() if whole or call.asked.agent == account.name]

    @property
    def flying(self) -> list[str]:
        return [key for key, call in self.calls.items() if call.counted is None]

    @property
    def landed(self) -> list[str]:
        return [key for key, call in self.calls.items() if call.counted is not None]

    @rule(
        agent=st.sampled_from(NAMES), bound=AMOUNTS, output=AMOUNTS, last_answer=st.booleans(), older=st.integers(0, 1)
    )
    def ask(self, agent: AgentId, bound: int, output: int, older: int, *, last_answer: bool) -> None:
        """A life asks for a call; sometimes one that is over, and does not know."""
        life, self.attempts = self.lives[agent] - older, self.attempts + 1
        asked = CheckIn(
            agent,
            Incarnation(life),
            RunId("r"),
            1,
            "thinking",
            self.attempts,
            "p",
            bound,
            output,
            floor=50,
            last_answer=last_answer,
        )
        before = self.accounts()
        directive = self.supervisor.check_in(asked)
        if not isinstance(directive, Proceed):
            assert self.accounts() == before, "who may not go has nothing set aside"
            return
        assert not older
        assert agent not in self.dead | self.stopped
        assert directive.grant.output <= output
        self.calls[asked.reservation] = Call(asked, life, bound + directive.grant.output)

    @precondition(lambda self: self.calls)
    @rule(data=st.data())
    def ask_again(self, data: st.DataObject) -> None:
        """The answer to a check-in was lost."""
        call = self.calls[data.draw(st.sampled_from(sorted(self.calls)))]
        before = self.accounts()
        directive = self.supervisor.check_in(call.asked)
        assert self.accounts() == before
        if isinstance(directive, Proceed):
            assert not (call.told or call.given_up)
            assert call.asked.bound + directive.grant.output == call.most

    @precondition(lambda self: self.flying)
    @rule(data=st.data(), part=st.floats(0, 1))
    def land(self, data: st.DataObject, part: float) -> None:
        """A provider has answered, and counted; also a call of one who is dead."""
        call = self.calls[data.draw(st.sampled_from(self.flying))]
        call.counted = int(part * call.most)

    @precondition(lambda self: self.landed)
    @rule(data=st.data(), known=st.booleans())
    def report(self, data: st.DataObject, *, known: bool) -> None:
        """What became of a call is reported, perhaps once more, perhaps without a count."""
        key = data.draw(st.sampled_from(self.landed))
        call = self.calls[key]
        tokens = call.counted if known else None
        self.supervisor.settle(Settlement(call.asked.agent, Incarnation(call.life), key, tokens))
        call.told = call.told or known
        call.given_up = True

    @rule(agent=st.sampled_from(NAMES))
    def die(self, agent: AgentId) -> None:
        """A life is over: just what it has open is spent in full."""
        mine = [call for call in self.calls.values() if call.asked.agent == agent]
        opened = [call for call in mine if not (call.told or call.given_up)]
        before = self.account(agent)
        self.supervisor.died(agent, Incarnation(self.lives[agent]), "gone")
        after = self.account(agent)
        held = sum(call.most for call in opened)
        assert (before.reserved.tokens, after.reserved.tokens) == (held, 0)
        spent, unknown = after.settled - before.settled, after.unknown - before.unknown
        assert (spent.tokens, unknown.tokens) == (held, held)
        for call in opened:
            call.given_up = True
        self.dead.add(agent)

    def account(self, name: str) -> Account:
        (found,) = [account for account in self.accounts() if account.name == name]
        return found

    @precondition(lambda self: self.dead)
    @rule(data=st.data())
    def live_again(self, data: st.DataObject) -> None:
        agent = data.draw(st.sampled_from(sorted(self.dead)))
        if agent in self.stopped:
            with pytest.raises(NameTaken, match="was stopped"):
                self.supervisor.admit_all([Newcomer(agent, None, LIMITS[agent])], 1)
            return
        (life,) = self.supervisor.admit_all([Newcomer(agent, None, LIMITS[agent])], 1)
        self.lives[agent] += 1
        assert life == self.lives[agent]
        self.dead.discard(agent)

    @rule(agent=st.sampled_from(NAMES))
    def stop(self, agent: AgentId) -> None:
        self.supervisor.stop((agent,), "enough")
        self.stopped.add(agent)

    @invariant()
    def no_account_passes_its_limit(self) -> None:
        for account in self.accounts():
            assert account.limit is None or not (account.settled + account.reserved - account.limit.most).positive

    @invariant()
    def all_that_a_provider_may_count_is_set_aside_or_spent(self) -> None:
        for account in self.accounts():
            assert sum(call.cost for call in self.under(account)) <= (account.settled + account.reserved).tokens
            assert account.overshoot == ZERO

    @invariant()
    def what_is_in_flight_and_not_given_up_is_set_aside(self) -> None:
        for account in self.accounts():
            opened = [call for call in self.under(account) if not (call.told or call.given_up)]
            assert account.reserved.tokens == sum(call.most for call in opened)

    def teardown(self) -> None:
        """All is answered and reported, once more too: each call counts once, for what it came to."""
        for _ in range(2):
            for key, call in self.calls.items():
                call.counted = call.cost
                self.supervisor.settle(Settlement(call.asked.agent, Incarnation(call.life), key, call.counted))
        for account in self.accounts():
            assert (account.reserved, account.unknown) == (ZERO, ZERO)
            assert account.settled.tokens == sum(call.cost for call in self.under(account))
        for agent in NAMES:
            told = self.supervisor.check_in(
                CheckIn(agent, Incarnation(self.lives[agent]), RunId("r"), 1, "thinking", 10_000, "p", 0, 0)
            )
            assert isinstance(told, Stop) == (agent in self.dead | self.stopped)


TestAnyFleet = AnyFleet.TestCase
TestAnyFleet.settings = settings(stateful_step_count=60)
