"""What agents may spawn: each limit by itself, and none ever passed, whoever races whom."""

from collections.abc import Iterator
from threading import Barrier, Thread

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from amrita_fleet.protocols.checkin import DEAD, AgentStatus, CheckIn, Proceed, Settlement
from amrita_fleet.protocols.ids import AgentId, Incarnation, RunId
from amrita_fleet.protocols.limits import Limits
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.protocols.spawning import (
    Allowance,
    SpawnAnswer,
    SpawnCause,
    Spawned,
    SpawnRefusal,
    SpawnRequest,
    StopAnswer,
    StopRequest,
)
from amrita_fleet.runtime.supervision.commands import Newcomer, Team
from amrita_fleet.runtime.supervision.supervisor import Supervisor

LEAD, KID, CUB = map(AgentId, ("lead", "kid", "cub"))
FIRST = Incarnation(1)
POOL = 20
"""One part in so many of a limit is kept for last answers."""


def limit_of(tokens: int | None) -> Limits | None:
    return None if tokens is None else Limits(tokens=tokens)


def newcomer(agent: AgentId, limit: int | None, allowance: Allowance | None) -> Newcomer:
    """An agent that a person spawns."""
    return Newcomer(agent, None, limit_of(limit), allowance=allowance)


class Family:
    """A Supervisor, and those who spawn before it."""

    def __init__(self, allowance: Allowance | None, limit: int | None = None, fleet: int | None = None) -> None:
        self.notes: list[tuple[AgentId, str]] = []
        self.supervisor = Supervisor(
            fleet="f", limit=limit_of(fleet), now=lambda: 0.0, post=lambda agent, text: self.notes.append((agent, text))
        )
        self.supervisor.admit_all([newcomer(LEAD, limit, allowance)], 1)

    def spawn(
        self,
        name: str,
        by: AgentId = LEAD,
        limit: int | None = None,
        allowance: Allowance | None = None,
        call: str = "",
    ) -> SpawnAnswer:
        request = SpawnRequest(by, FIRST, "kind", AgentId(name), call or f"{by}.1.1.{name}", limit_of(limit), allowance)
        return self.supervisor.spawn(request, 1)

    def told(self, name: str, life: int = 1) -> None:
        """It has come to life, and says so."""
        agent = AgentId(name)
        ready = Notice(NoticeType.AGENT, "ready", agent, "ready", number=1)
        self.supervisor.report(AgentStatus(agent, Incarnation(life), "idle", 0.0), (ready,))

    def spend(self, name: str, tokens: int, attempt: int = 1) -> None:
        asked = CheckIn(AgentId(name), FIRST, RunId("r"), 1, "thinking", attempt, "p", bound=tokens, output=0, floor=0)
        assert isinstance(self.supervisor.check_in(asked), Proceed)
        self.supervisor.settle(Settlement(AgentId(name), FIRST, asked.reservation, tokens))

    def stop(self, name: str, by: AgentId = LEAD) -> StopAnswer:
        return self.supervisor.stop_child(StopRequest(by, FIRST, AgentId(name)))


def why(answer: SpawnAnswer) -> tuple[SpawnCause, str]:
    assert isinstance(answer, SpawnRefusal)
    return answer.cause, answer.why


def test_who_was_granted_nothing_spawns_nobody() -> None:
    assert why(Family(None).spawn("kid")) == (SpawnCause.NOT_GRANTED, "lead may spawn nobody.")


def test_a_child_is_admitted_under_its_spawner_and_the_fleet_is_told() -> None:
    family = Family(Allowance())
    assert family.spawn("kid", limit=500) == Spawned(KID, FIRST, Limits(tokens=500))
    row = family.supervisor.find(KID)
    assert (row.parent, row.kind, row.limit) == (LEAD, "kind", 500)
    assert family.supervisor.feed.read(-1, 1)[0].text == "joined the fleet, spawned by lead as kind"


def test_the_same_call_gives_the_same_child_and_another_call_finds_the_name_taken() -> None:
    family = Family(Allowance(children=1))
    assert [family.spawn("kid", call="a"), family.spawn("kid", call="a")] == [Spawned(KID, FIRST)] * 2
    family = Family(Allowance())
    family.spawn("kid", call="a")
    assert why(family.spawn("kid", call="b"))[0] is SpawnCause.NAME


def test_a_child_that_somebody_brings_to_life_anyway_is_not_to_be_born_again() -> None:
    family = Family(Allowance())
    assert family.spawn("kid", call="a") == Spawned(KID, FIRST)
    family.told("kid")
    assert family.spawn("kid", call="a") == Spawned(KID, FIRST, born=True)
    assert family.supervisor.died(KID, FIRST, "gone", restart=True)
    assert family.spawn("kid", call="a") == Spawned(KID, FIRST, born=True)
    family.supervisor.admit_all([Newcomer(KID, LEAD)], 1)
    assert family.spawn("kid", call="a") == Spawned(KID, Incarnation(2), born=True)


def test_a_name_that_cannot_be_is_refused_in_words() -> None:
    cause, text = why(Family(Allowance()).spawn("my kid"))
    assert (cause, text[:31]) == (SpawnCause.NAME, "No agent can be named 'my kid':")


def test_the_name_of_a_dead_child_is_used_up() -> None:
    family = Family(Allowance())
    family.spawn("kid")
    family.told("kid")
    family.supervisor.died(KID, FIRST, "its process died")
    cause, text = why(family.spawn("kid", call="again"))
    assert cause is SpawnCause.NAME
    assert text == "The fleet has an agent named kid, which is dead. Choose another name."


def test_a_child_that_was_never_born_counts_for_nothing_and_its_name_is_free() -> None:
    family = Family(Allowance(children=1, live=1))
    family.spawn("kid")
    family.supervisor.died(KID, FIRST, "no room")
    assert family.notes == []
    assert family.spawn("cub") == Spawned(CUB, FIRST)
    family.supervisor.died(CUB, FIRST, "no room")
    assert family.spawn("kid", call="again") == Spawned(KID, Incarnation(2))


def test_depth_holds_for_all_above() -> None:
    family = Family(Allowance(depth=1))
    family.spawn("kid", allowance=Allowance(depth=3))
    assert why(family.spawn("cub", by=KID)) == (
        SpawnCause.DEPTH,
        "lead may have 1 generation of agents below it, and this would be one more. Do the work yourself.",
    )
    deeper = Family(Allowance(depth=2))
    deeper.spawn("kid", allowance=Allowance())
    assert deeper.spawn("cub", by=KID) == Spawned(CUB, FIRST)


def test_a_life_has_so_many_children_the_dead_included() -> None:
    family = Family(Allowance(children=2, live=5))
    for name in ("kid", "cub"):
        family.spawn(name)
        family.told(name)
    family.supervisor.died(KID, FIRST, "gone")
    cause, text = why(family.spawn("pup"))
    assert cause is SpawnCause.CHILDREN
    assert text.startswith("lead may spawn 2 in its life, and has. Give the work to one that is there (cub) with ask_")


def test_living_ones_count_in_all_generations_until_they_are_stopped_or_dead() -> None:
    family = Family(Allowance(depth=2, live=2))
    family.spawn("kid", allowance=Allowance())
    family.spawn("cub", by=KID)
    cause, text = why(family.spawn("pup"))
    assert cause is SpawnCause.LIVE
    assert text.startswith("2 may live below lead at once, and 2 do. Give the work to one that is there (kid, cub)")
    assert text.endswith("or end one that you no longer need with stop_agent.")
    assert family.stop("cub") == StopAnswer((CUB,))
    assert isinstance(family.spawn("pup"), Spawned)


def test_the_cost_of_all_below_is_held_to_their_own_budget() -> None:
    family = Family(Allowance(tokens=1_000))
    family.spawn("kid", limit=700)
    cause, text = why(family.spawn("cub", limit=400))
    assert cause is SpawnCause.TOKENS
    assert text.startswith("cub might spend 400 tokens, and 300 tokens are left of what all below lead may spend")
    assert text.endswith("together, beside what is promised to living agents. Ask for no more with tokens.")
    assert why(family.spawn("cub"))[1].startswith("A kind has no token limit of its own, and 300 tokens are left")
    family.spend("kid", 100)
    family.stop("kid")
    assert isinstance(family.spawn("cub", limit=900), Spawned)
    assert why(family.spawn("pup", limit=1))[1].startswith("0 tokens are left")


def test_a_child_must_fit_what_is_left_of_its_spawners_own_limit() -> None:
    family = Family(Allowance(), limit=1_000)
    family.spend("lead", 250)
    assert why(family.spawn("kid", limit=701))[1].startswith("kid might spend 701 tokens, and 700 tokens are left")
    assert isinstance(family.spawn("kid", limit=400), Spawned)
    assert why(family.spawn("cub", limit=301))[1].startswith("cub might spend 301 tokens, and 300 tokens are left")


def test_a_child_must_fit_what_is_left_of_the_fleets_limit_beside_the_children_of_others() -> None:
    family = Family(Allowance(), fleet=1_000)
    family.supervisor.admit_all([newcomer(AgentId("other"), None, Allowance())], 1)
    family.spawn("kid", limit=600)
    family.spend("kid", 100)
    assert why(family.spawn("cub", by=AgentId("other"), limit=351))[1].startswith("cub might spend 351 tokens, and 350")
    assert isinstance(family.spawn("cub", by=AgentId("other"), limit=350), Spawned)


def test_a_child_is_of_its_spawners_team_and_must_fit_what_is_left_of_that() -> None:
    family = Family(None)
    supervisor = family.supervisor
    supervisor.form_teams([Team("research", Limits(tokens=1_000))])
    for name in ("ana", "bob"):
        supervisor.admit_all([Newcomer(AgentId(name), team="research", allowance=Allowance())], 1)
    assert isinstance(family.spawn("kid", by=AgentId("ana"), limit=600), Spawned)
    cause, text = why(family.spawn("cub", by=AgentId("bob"), limit=351))
    assert cause is SpawnCause.TOKENS
    assert "350 tokens are left of what the team research may spend" in text
    assert isinstance(family.spawn("cub", by=AgentId("bob"), limit=350), Spawned)
    family.spend("kid", 100)
    spent = {account.name: account.spent.tokens for account in supervisor.accounts()}
    assert (spent["research"], spent["kid"], spent["ana"]) == (100, 100, 0)


def test_what_is_carved_for_a_child_is_counted_once() -> None:
    family = Family(Allowance(), fleet=1_000)
    carved = Limits(tokens=500, carved=True)
    assert isinstance(family.supervisor.spawn(SpawnRequest(LEAD, FIRST, "kind", KID, "a", carved), 1), Spawned)
    assert isinstance(family.spawn("cub", limit=450), Spawned)
    assert why(family.spawn("pup", limit=1))[0] is SpawnCause.TOKENS


def test_a_child_whose_cost_nobody_knows_is_refused_where_money_is_limited() -> None:
    family = Family(Allowance())
    family.supervisor.begin("owner", Limits(dollars=1))
    cause, text = why(family.spawn("kid", limit=100))
    assert (cause, "kid" in text) == (SpawnCause.NOT_GRANTED, True)
    assert [row.agent for row in family.supervisor.statuses()] == ["lead"]
    priced = SpawnRequest(LEAD, FIRST, "kind", KID, "a", Limits(tokens=100), priced=True)
    assert isinstance(family.supervisor.spawn(priced, 1), Spawned)


def test_without_any_limit_nobody_needs_one() -> None:
    assert isinstance(Family(Allowance()).spawn("kid"), Spawned)


def test_whom_a_person_spawned_counts_for_nobody_and_begins_a_line_of_its_own() -> None:
    family = Family(Allowance(depth=1, live=1, children=1))
    family.supervisor.admit_all([Newcomer(KID, LEAD, allowance=Allowance())], 1)
    assert isinstance(family.spawn("cub", by=KID), Spawned)
    assert isinstance(family.spawn("pup"), Spawned)


def test_a_stopped_agent_or_an_old_life_spawns_and_stops_nobody() -> None:
    family = Family(Allowance())
    family.spawn("kid")
    family.supervisor.stop((LEAD,), "enough")
    assert why(family.spawn("cub"))[0] is SpawnCause.NOT_GRANTED
    assert family.stop("kid").why == "lead may do nothing more, and so stops nobody."


def test_an_agent_stops_those_below_it_and_nobody_else() -> None:
    family = Family(Allowance(depth=2))
    family.spawn("kid", allowance=Allowance())
    family.spawn("cub", by=KID)
    assert family.stop("lead", by=KID).why == (
        "You may stop only agents that you, or those below you, have spawned. Those are: cub."
    )
    assert family.stop("kid", by=CUB).why.endswith("There is none.")
    assert family.stop("kid") == StopAnswer((KID, CUB))
    assert family.supervisor.find(CUB).stopped == "stopped by lead"


def test_a_refusal_is_told_with_its_cause() -> None:
    family = Family(None)
    family.spawn("kid")
    (notice,) = family.supervisor.feed.read(-1, 1)
    assert (notice.type, notice.extra_type, notice.agent) == (NoticeType.AGENT, "spawn_refused", LEAD)
    assert notice.data == {"cause": "not_granted", "kind": "kind", "name": "kid"}


@pytest.mark.usefixtures("eager_threads")
def test_siblings_who_race_pass_no_limit_together() -> None:
    family = Family(Allowance(depth=2, children=8, live=20, tokens=100_000))
    names = [f"w{number}" for number in range(8)]
    for name in names:
        assert isinstance(family.spawn(name, limit=1_000, allowance=Allowance(children=50, live=50)), Spawned)
    start, answers = Barrier(8), list[SpawnAnswer]()

    def race(name: str) -> None:
        start.wait()
        answers.extend(family.spawn(f"{name}-{number}", by=AgentId(name), limit=10) for number in range(20))

    threads = [Thread(target=race, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(answer, Spawned) for answer in answers) == 20 - 8
    assert {answer.cause for answer in answers if isinstance(answer, SpawnRefusal)} == {SpawnCause.LIVE}


OTHER = AgentId("other")
ALLOWANCES = st.builds(
    Allowance, st.integers(1, 2), st.integers(1, 3), st.integers(1, 5), st.none() | st.integers(20, 200)
)
LIMITS = st.integers(1, 60)
ONE = st.integers(0, 11)
"""Chooses one of those that there are."""


class Generations(RuleBasedStateMachine):
    """Agents that spawn, spend, stop and die as they like."""

    def __init__(self) -> None:
        super().__init__()
        root, other = Allowance(depth=3, children=2, live=3), Allowance(depth=1, children=9, live=9, tokens=150)
        self.family = Family(root, limit=100, fleet=220)
        self.family.supervisor.admit_all([newcomer(OTHER, None, other)], 1)
        self.allowed: dict[AgentId, Allowance | None] = {LEAD: root, OTHER: other}
        self.parent: dict[AgentId, AgentId] = {}
        self.born: set[AgentId] = set()
        self.calls = 0

    @rule(by=ONE, limit=LIMITS, allowance=st.none() | ALLOWANCES, ready=st.booleans())
    def spawn(self, by: int, limit: int, allowance: Allowance | None, ready: bool) -> None:
        self.calls += 1
        spawner, name = self.one(by), AgentId(f"a{self.calls}")
        answer = self.family.spawn(name, spawner, limit, allowance, call=str(self.calls))
        if isinstance(answer, Spawned):
            self.parent[name], self.allowed[name] = spawner, allowance
            self.check_fit(name)
            if ready:
                self.family.told(name)
                self.born.add(name)

    @rule(which=ONE, tokens=st.integers(1, 60))
    def spend(self, which: int, tokens: int) -> None:
        self.calls += 1
        name = self.one(which)
        life = self.rows()[name].incarnation
        asked = CheckIn(name, life, RunId("r"), 1, "thinking", self.calls, "p", bound=tokens, output=0, floor=0)
        if isinstance(self.family.supervisor.check_in(asked), Proceed):
            self.family.supervisor.settle(Settlement(name, life, asked.reservation, tokens // 2))

    @rule(by=ONE, which=ONE)
    def stop(self, by: int, which: int) -> None:
        self.family.stop(self.one(which), self.one(by))

    @rule(which=ONE, restart=st.booleans())
    def die(self, which: int, restart: bool) -> None:
        if (name := self.one(which)) not in {LEAD, OTHER}:
            self.family.supervisor.died(name, self.rows()[name].incarnation, "gone", restart=restart)

    def one(self, which: int) -> AgentId:
        names = list(self.allowed)
        return names[which % len(names)]

    def rows(self) -> dict[AgentId, AgentStatus]:
        return {row.agent: row for row in self.family.supervisor.statuses()}

    def below(self, agent: AgentId, generation: int = 1) -> Iterator[tuple[AgentId, int]]:
        for name, parent in self.parent.items():
            if parent == agent:
                yield name, generation
                yield from self.below(name, generation + 1)

    def cost(self, row: AgentStatus) -> int:
        return row.limit or 0 if row.phase not in {DEAD, "stopped"} else row.tokens

    def check_fit(self, name: AgentId) -> None:
        """As it is let in, a child fits what is left of every limit above it."""
        rows, accounts = self.rows(), {account.name: account for account in self.family.supervisor.accounts()}
        above = name
        while above in self.parent:
            above = self.parent[above]
            held = accounts[above].spent.tokens + sum(self.cost(rows[each]) for each, _ in self.below(above))
            limit = accounts[above].limit
            assert limit is None or held <= (limit.tokens or 0) - (limit.tokens or 0) // POOL
        promised = sum(self.cost(rows[each]) - rows[each].tokens for each in self.parent)
        assert accounts["f"].spent.tokens + promised <= 220 - 220 // POOL

    @invariant()
    def no_limit_is_passed(self) -> None:
        rows = self.rows()
        for agent, allowed in self.allowed.items():
            below = list(self.below(agent))
            if allowed is None:
                assert below == []
                continue
            live = [name for name, _ in below if rows[name].phase not in {DEAD, "stopped"}]
            children = [name for name, each in below if each == 1 and (name in self.born or rows[name].phase != DEAD)]
            assert len(live) <= allowed.live
            assert len(children) <= allowed.children
            assert all(generation <= allowed.depth for _, generation in below)
            assert allowed.tokens is None or sum(self.cost(rows[name]) for name, _ in below) <= allowed.tokens


Generations.TestCase.settings = settings(stateful_step_count=40)
TestGenerations = Generations.TestCase
