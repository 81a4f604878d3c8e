"""Knots of waits: what is refused is one by brute force, and what is accepted leaves none."""

from collections.abc import Iterable
from itertools import chain, combinations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.protocols.ids import SUPERVISOR, USER, AgentId, Incarnation
from amrita_fleet.protocols.waits import WaitRequest
from amrita_fleet.runtime.supervision.waits import Waits

ANA, BOB, CYD, DAN, EVE = NAMES = tuple(map(AgentId, ("ana", "bob", "cyd", "dan", "eve")))


def wait(agent: AgentId, *senders: AgentId, step: int = 1, life: int = 1) -> WaitRequest:
    return WaitRequest(agent, Incarnation(life), step, step, senders)


def waiting(*waits: WaitRequest) -> Waits:
    kept = Waits()
    for each in waits:
        kept.begin(each)
    return kept


def told(kept: Waits, agent: AgentId, *, gone: Iterable[AgentId] = (), acting: Iterable[AgentId] = ()) -> str:
    """The knot of an agent's wait in words."""
    knot = kept.knot(agent, gone=set(gone), acting=set(acting))
    if knot is None:
        return ""
    return ", ".join([*(f"{each.agent}>{'|'.join(each.senders)}" for each in knot.waits), *knot.gone])


def test_two_that_wait_for_each_other_are_a_knot() -> None:
    assert told(waiting(wait(ANA, BOB), wait(BOB, ANA)), BOB) == "bob>ana, ana>bob"


def test_a_ring_is_a_knot() -> None:
    assert told(waiting(wait(ANA, BOB), wait(BOB, CYD), wait(CYD, ANA)), CYD) == "cyd>ana, ana>bob, bob>cyd"


def test_one_who_waits_for_itself_is_a_knot() -> None:
    assert told(waiting(wait(ANA, ANA)), ANA) == "ana>ana"


def test_a_wait_that_another_one_may_end_is_none() -> None:
    assert told(waiting(wait(ANA, BOB, CYD), wait(BOB, ANA)), BOB) == ""


def test_several_waits_for_several_may_be_one() -> None:
    kept = waiting(wait(ANA, BOB, CYD), wait(BOB, ANA), wait(CYD, BOB, ANA))

    assert told(kept, BOB) == "bob>ana, ana>bob|cyd, cyd>bob|ana"


def test_whoever_waits_for_anybody_or_for_a_person_can_still_act() -> None:
    for open_end in (wait(BOB), wait(BOB, ANA, USER), wait(BOB, ANA, SUPERVISOR)):
        assert told(waiting(wait(ANA, BOB), open_end), ANA) == ""


def test_a_wait_for_one_that_is_gone_is_refused_and_names_it() -> None:
    assert told(waiting(wait(ANA, BOB)), ANA, gone=[BOB]) == "ana>bob, bob"


def test_one_that_is_gone_no_longer_waits_for_anybody() -> None:
    kept = waiting(wait(ANA, BOB), wait(BOB, CYD))

    assert told(kept, ANA) == ""
    assert told(kept, ANA, gone=[BOB]) == "ana>bob, bob"


def test_a_knot_may_lean_on_one_that_is_gone() -> None:
    assert told(waiting(wait(ANA, BOB, CYD), wait(BOB, ANA)), ANA, gone=[CYD]) == "ana>bob|cyd, bob>ana, cyd"


def test_who_is_known_to_act_does_not_wait() -> None:
    assert told(waiting(wait(ANA, BOB), wait(BOB, ANA)), ANA, acting=[BOB]) == ""
    assert told(waiting(wait(ANA, BOB), wait(BOB, ANA)), ANA, acting=[ANA]) == ""


def test_one_that_does_not_wait_is_part_of_no_knot() -> None:
    assert told(waiting(wait(ANA, BOB)), BOB) == ""


def test_an_end_is_that_of_one_wait_and_of_no_later_one() -> None:
    first, second = wait(ANA, BOB), wait(ANA, CYD, step=2)
    kept = waiting(first, second)

    kept.end(first)
    assert kept.of(ANA) == second
    kept.end(second)
    assert list(kept) == []


def test_a_report_ends_a_wait_only_if_it_is_of_a_later_step_or_life() -> None:
    for step, life, stays in ((1, 1, True), (0, 1, True), (2, 1, False), (0, 2, False)):
        kept = waiting(wait(ANA, BOB))
        kept.heard(AgentStatus(ANA, Incarnation(life), "thinking", 0.0, step=step))
        assert (kept.of(ANA) is not None) is stays


# --- any sequence of waits, ends and deaths ---------------------------------------------------------------------------

names = st.sampled_from(NAMES)
senders = st.lists(st.sampled_from([*NAMES, USER]), max_size=3, unique=True)


def knots(waits: dict[AgentId, WaitRequest], gone: set[AgentId]) -> list[set[AgentId]]:
    """By brute force: each set of living agents that all wait, each only for agents of the set and those gone."""
    living = [agent for agent in waits if agent not in gone]
    sets = chain.from_iterable(combinations(living, size) for size in range(1, len(living) + 1))
    return [
        set(each)
        for each in sets
        if all(waits[agent].senders and set(waits[agent].senders) <= {*each, *gone} for agent in each)
    ]


class Waiters(RuleBasedStateMachine):
    """Five agents that begin to wait, stop waiting and die."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = Waits()
        self.waits: dict[AgentId, WaitRequest] = {}
        self.gone: set[AgentId] = set()
        self.steps = 0

    @rule(agent=names, senders=senders)
    def begin(self, agent: AgentId, senders: list[AgentId]) -> None:
        if agent in self.gone:
            return
        self.steps += 1
        asked = wait(agent, *senders, step=self.steps)
        self.kept.begin(asked)
        self.waits[agent] = asked
        own = [each for each in knots(self.waits, self.gone) if agent in each]
        knot = self.kept.knot(agent, gone=self.gone)
        assert (knot is not None) == bool(own)
        if knot is not None:
            assert {each.agent for each in knot.waits} in own
            assert knot.waits[0] == asked
            assert set(knot.gone) <= self.gone
            self.end(agent)

    @rule(agent=names)
    def end(self, agent: AgentId) -> None:
        if agent in self.waits:
            self.kept.end(self.waits.pop(agent))

    @rule(agent=names)
    def die(self, agent: AgentId) -> None:
        """Some wait may have no end after that; whoever looks after them finds each, and ends it."""
        self.gone.add(agent)
        while ended := [each.agent for each in self.kept if each.agent not in self.gone and self.is_stuck(each.agent)]:
            assert any(ended[0] in each for each in knots(self.waits, self.gone))
            self.end(ended[0])

    @invariant()
    def no_knot_is_left(self) -> None:
        assert knots(self.waits, self.gone) == []

    def is_stuck(self, agent: AgentId) -> bool:
        return self.kept.knot(agent, gone=self.gone) is not None


TestWaiters = Waiters.TestCase
