"""What the Supervisor says to those who need more than is left, and to people who change limits."""

from dataclasses import dataclass, replace

import pytest

from amrita_fleet.protocols.amounts import ZERO, Amount
from amrita_fleet.protocols.checkin import (
    AgentStatus,
    CheckIn,
    Directive,
    EndStep,
    Pause,
    Proceed,
    Settlement,
    Stop,
    Wait,
    WindDown,
)
from amrita_fleet.protocols.errors import PresetInvalid
from amrita_fleet.protocols.ids import AgentId, Incarnation, RunId
from amrita_fleet.protocols.limits import Limits
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.protocols.outcome import Limit
from amrita_fleet.runtime.errors import AgentUnknown, NameInvalid
from amrita_fleet.runtime.limit_errors import LimitTooLarge, PriceMissing
from amrita_fleet.runtime.supervision.account import Account, Level
from amrita_fleet.runtime.supervision.commands import Newcomer, Team
from amrita_fleet.runtime.supervision.supervisor import Supervisor

ANA, BOB, CEM = AgentId("ana"), AgentId("bob"), AgentId("cem")
FIRST = Incarnation(1)
ONE, TWO = RunId("r.1"), RunId("r.2")


@dataclass
class House:
    """A Supervisor of ana and bob, who are in a team, and of cem, who is in none; and a clock that the test moves."""

    fleet: Limits | None = None
    team: Limits | None = None
    ana: Limits | None = None
    now: float = 1_000.0

    def __post_init__(self) -> None:
        self.supervisor = Supervisor(fleet="f", limit=self.fleet, now=lambda: self.now, post=lambda _agent, _text: None)
        self.supervisor.form_teams([Team("team", self.team)])
        self.attempt = 0
        self.supervisor.admit_all(self.newcomers, 1)

    @property
    def newcomers(self) -> list[Newcomer]:
        return [Newcomer(ANA, None, self.ana, "team"), Newcomer(BOB, None, None, "team"), Newcomer(CEM)]

    def ask(
        self,
        agent: AgentId = ANA,
        *,
        run: RunId = ONE,
        limit: Limits | None = None,
        life: Incarnation = FIRST,
        last_answer: bool = False,
    ) -> Directive:
        self.attempt += 1
        asked = CheckIn(agent, life, run, 1, "thinking", self.attempt, "p", 100, 100, 50, limit=limit)
        return self.supervisor.check_in(replace(asked, last_answer=last_answer))

    def spend(self, agent: AgentId = ANA, tokens: int = 200, *, run: RunId = ONE, limit: Limits | None = None) -> None:
        directive = self.ask(agent, run=run, limit=limit)
        assert isinstance(directive, Proceed)
        self.supervisor.settle(Settlement(agent, FIRST, directive.grant.reservation, tokens))

    def account(self, name: str) -> Account:
        return next(account for account in self.supervisor.accounts() if account.name == name)

    def ended(self, agent: AgentId, run: RunId) -> None:
        notice = Notice(NoticeType.RUN, "finished", agent, "done", run, data={"outcome": "answered"})
        self.supervisor.report(AgentStatus(agent, FIRST, "idle", since=1.0), (notice,))

    def events(self) -> list[tuple[str, str]]:
        found = self.supervisor.feed.read(0, 1_000)
        return [(notice.extra_type, notice.agent) for notice in found if notice.type is NoticeType.BUDGET]


def reached(directive: Directive) -> str:
    assert isinstance(directive, WindDown)
    return directive.limit


def test_what_a_run_spends_counts_in_its_agents_its_teams_and_the_fleets_account() -> None:
    house = House()
    house.spend(limit=Limits(tokens=900))
    assert [(each.level, each.name) for each in house.supervisor.accounts()] == [
        (Level.FLEET, "f"),
        (Level.TEAM, "team"),
        (Level.AGENT, "ana"),
        (Level.AGENT, "bob"),
        (Level.AGENT, "cem"),
        (Level.RUN, "r.1"),
    ]
    spent = [each.settled.tokens for each in house.supervisor.accounts()]
    assert spent == [200, 200, 200, 0, 0, 200]


@pytest.mark.parametrize(
    ("house", "limit", "name"),
    [
        (House(fleet=Limits(tokens=300)), None, Limit.FLEET_TOKENS),
        (House(team=Limits(model_calls=2)), None, Limit.TEAM_MODEL_CALLS),
        (House(ana=Limits(tokens=300)), None, Limit.TOKENS),
        (House(), Limits(tokens=300), Limit.RUN_TOKENS),
    ],
    ids=["fleet", "team", "agent", "run"],
)
def test_whose_limit_is_reached_is_named(house: House, limit: Limits | None, name: Limit) -> None:
    house.spend(limit=limit)
    assert reached(house.ask(limit=limit)) == name


def test_the_account_of_a_run_is_gone_when_the_run_is_over_or_another_one_asks() -> None:
    house = House()
    house.spend(limit=Limits(tokens=900))
    house.ended(ANA, TWO)
    assert house.account("r.1").settled.tokens == 200
    house.ended(ANA, ONE)
    assert "r.1" not in {each.name for each in house.supervisor.accounts()}
    house.spend(run=TWO, limit=Limits(tokens=900))
    house.spend(run=ONE)
    assert [each.name for each in house.supervisor.accounts()] == ["f", "team", "ana", "bob", "cem"]
    assert house.account("ana").settled == Amount(600, model_calls=3)


def test_what_a_run_is_to_have_carved_is_waited_for_while_calls_in_flight_hold_it() -> None:
    house = House(ana=Limits(tokens=1_000))
    carved = Limits(tokens=900, carved=True)
    granted = house.ask()
    assert isinstance(granted, Proceed)
    assert isinstance(house.ask(run=TWO, limit=carved), Wait)
    house.supervisor.settle(Settlement(ANA, FIRST, granted.grant.reservation, 20))
    assert isinstance(house.ask(run=TWO, limit=carved), Proceed)
    house.ended(ANA, TWO)
    house.spend(tokens=200)
    assert reached(house.ask(run=TWO, limit=carved)) == Limit.TOKENS


def test_who_is_paused_for_want_of_tokens_goes_on_when_that_account_has_more() -> None:
    house = House(team=Limits(tokens=300, on_exhaustion="pause"))
    house.spend()
    assert isinstance(house.ask(ANA), Pause)
    assert isinstance(house.ask(BOB), Pause)
    assert isinstance(house.ask(CEM), Proceed)
    house.supervisor.limit("ana", Limits(tokens=5_000))
    assert isinstance(house.ask(BOB), Pause)
    assert house.supervisor.limit("team", Limits(tokens=900)) == (ANA, BOB)
    assert isinstance(house.ask(ANA), Proceed)
    assert isinstance(house.ask(BOB), Proceed)
    assert house.events() == [("paused", ANA), ("paused", BOB), ("limited", ANA), ("limited", "team")]


def test_who_is_paused_when_a_fleet_ends_goes_on_when_it_is_opened_again_with_more() -> None:
    little = Limits(tokens=300, on_exhaustion="pause")
    house = House(fleet=little, team=little)
    house.spend(ANA)
    assert isinstance(house.ask(ANA), Pause)
    assert isinstance(house.ask(CEM), Pause)
    for agent in (ANA, BOB, CEM):
        house.supervisor.died(agent, FIRST, "its process ended")
    house.supervisor.begin("again", Limits(tokens=5_000))
    house.supervisor.form_teams([Team("team", Limits(tokens=3_000))])
    second, *_ = house.supervisor.admit_all(house.newcomers, 2)
    assert isinstance(house.ask(CEM, life=second), Proceed)
    assert isinstance(house.ask(ANA, life=second), Proceed)


def test_whom_a_person_paused_stays_so_when_a_limit_is_raised() -> None:
    house = House(ana=Limits(tokens=300, on_exhaustion="pause"))
    house.spend()
    house.ask()
    house.supervisor.pause((ANA,), "lunch")
    assert house.supervisor.limit("ana", Limits(tokens=900)) == ()
    assert house.ask() == Pause("lunch")


def test_a_no_has_those_wind_down_who_wait_and_who_comes_later() -> None:
    house = House(team=Limits(tokens=300, on_exhaustion="ask"))
    house.spend()
    assert isinstance(house.ask(ANA), Pause)
    assert house.supervisor.grant_no_more("team") == (ANA,)
    assert reached(house.ask(ANA)) == reached(house.ask(BOB)) == Limit.TEAM_TOKENS
    assert house.events()[:2] == [("asked", ANA), ("no_more", "team")]


def test_the_limit_of_a_run_that_is_paused_for_it_can_be_raised_or_refused() -> None:
    house, own = House(), Limits(tokens=300, on_exhaustion="ask")
    house.spend(limit=own)
    assert isinstance(house.ask(limit=own), Pause)
    assert house.supervisor.limit(ONE, Limits(tokens=500, on_exhaustion="ask")) == (ANA,)
    house.spend(limit=own)
    assert isinstance(house.ask(limit=own), Pause)
    assert house.supervisor.grant_no_more(ONE) == (ANA,)
    assert reached(house.ask(limit=own)) == Limit.RUN_TOKENS
    assert house.events()[:4] == [("asked", ANA), ("limited", ANA), ("asked", ANA), ("no_more", ANA)]
    with pytest.raises(AgentUnknown):
        house.supervisor.limit(TWO, None)
    with pytest.raises(PresetInvalid, match="time_limit"):
        house.supervisor.limit(ONE, Limits(seconds=5))


def test_who_was_paused_for_want_of_a_run_that_is_over_goes_on_with_the_next() -> None:
    house, own = House(), Limits(tokens=300, on_exhaustion="pause")
    house.spend(limit=own)
    assert isinstance(house.ask(limit=own), Pause)
    house.ended(ANA, ONE)
    assert isinstance(house.ask(run=TWO), Proceed)


def test_a_last_answer_is_never_paused_for() -> None:
    house = House(ana=Limits(tokens=100, on_exhaustion="pause"))
    assert isinstance(house.ask(last_answer=True), EndStep)
    assert house.supervisor.find(ANA).note == ""


@pytest.mark.parametrize(
    ("house", "limit", "stopped"),
    [
        (House(fleet=Limits(tokens=300, on_exhaustion="stop")), None, {ANA, BOB, CEM}),
        (House(team=Limits(tokens=300, on_exhaustion="stop")), None, {ANA, BOB}),
        (House(ana=Limits(tokens=300, on_exhaustion="stop")), None, {ANA}),
        (House(), Limits(tokens=300, on_exhaustion="stop"), set[AgentId]()),
    ],
    ids=["fleet", "team", "agent", "run"],
)
def test_the_agents_of_an_account_are_stopped(house: House, limit: Limits | None, stopped: set[AgentId]) -> None:
    house.spend(limit=limit)
    assert isinstance(house.ask(limit=limit), Stop)
    assert {row.agent for row in house.supervisor.statuses() if row.phase == "stopped"} == stopped
    assert isinstance(house.ask(ANA, run=TWO), Stop if ANA in stopped else Proceed)
    assert bool(house.supervisor.over) == (CEM in stopped)


def test_time_begins_with_the_first_call_and_ends_the_next_one_that_is_asked_for() -> None:
    house = House(team=Limits(seconds=60))
    house.now += 500
    house.spend(ANA)
    house.now += 59
    house.spend(BOB)
    house.now += 1
    assert reached(house.ask(BOB)) == Limit.TEAM_SECONDS
    assert isinstance(house.ask(CEM), Proceed)
    assert isinstance(house.ask(BOB, last_answer=True), Proceed)


def test_what_was_carved_for_one_that_is_dead_for_good_or_stopped_is_there_for_others() -> None:
    house = House(fleet=Limits(tokens=1_000), ana=Limits(tokens=900, carved=True))
    assert reached(house.ask(CEM)) == Limit.FLEET_TOKENS
    house.supervisor.died(ANA, FIRST, "gone", restart=True)
    assert house.account("f").carved.tokens == 900, "its next life is about to begin"
    (life,) = house.supervisor.admit_all([house.supervisor.newcomer(ANA)], 1)
    house.supervisor.died(ANA, life, "gone")
    assert house.account("f").carved == ZERO
    house.spend(CEM)
    with pytest.raises(LimitTooLarge, match="Of the 1,000 that 'f' may spend, 200 are spent"):
        house.supervisor.admit_all([house.supervisor.newcomer(ANA)], 1)
    assert house.supervisor.find(ANA).phase == "dead"
    house.supervisor.limit("", Limits(tokens=2_000))
    house.supervisor.admit_all([house.supervisor.newcomer(ANA)], 1)
    house.supervisor.stop((ANA,), "enough")
    assert house.account("f").carved == ZERO


def test_a_changed_limit_holds_for_the_next_life_too() -> None:
    house = House(ana=Limits(tokens=300))
    house.supervisor.limit("ana", Limits(tokens=600))
    house.supervisor.died(ANA, FIRST, "gone")
    (life,) = house.supervisor.admit_all([house.newcomers[0]], 1)
    assert house.supervisor.find(ANA).limit == 600
    assert isinstance(house.ask(life=life), Proceed)


def test_money_can_be_limited_only_where_all_say_what_their_models_cost() -> None:
    house = House()
    with pytest.raises(PriceMissing) as missing:
        house.supervisor.limit("team", Limits(dollars=1))
    assert (missing.value.agent, missing.value.account) == ("ana", "team")
    assert house.account("team").limit is None


def test_teams_and_agents_share_one_name_space() -> None:
    house = House()
    with pytest.raises(NameInvalid, match="an agent of the fleet has that name"):
        house.supervisor.form_teams([Team("ana")])
    with pytest.raises(NameInvalid, match="a team of the fleet has that name"):
        house.supervisor.admit_all([Newcomer(AgentId("dan")), Newcomer(AgentId("team"))], 1)
    assert len(house.supervisor.statuses()) == 3


FEW = Limits(model_calls=2, on_exhaustion="pause")


def held_by_its_run() -> House:
    """Ana has spent what her run may, but for the last answer, and is paused."""
    house = House()
    house.spend(limit=FEW)
    assert isinstance(house.ask(limit=FEW), Pause)
    assert isinstance(house.ask(limit=FEW), Pause)
    return house


def test_a_runs_limit_is_raised_by_its_id_and_nobody_elses_limit_is() -> None:
    house = held_by_its_run()
    assert house.supervisor.limit("ana", Limits(tokens=10_000)) == ()
    assert isinstance(house.ask(limit=FEW), Pause)
    assert house.supervisor.limit(ONE, Limits(model_calls=4)) == (ANA,)
    assert isinstance(house.ask(limit=FEW), Proceed)
    assert house.account(ONE).limit == Limits(model_calls=4)
    assert house.events()[-1] == ("limited", ANA)


def test_a_run_that_gets_no_more_gives_its_last_answer() -> None:
    house = held_by_its_run()
    assert house.supervisor.grant_no_more(ONE) == (ANA,)
    assert reached(house.ask(limit=FEW)) == Limit.RUN_MODEL_CALLS


def test_a_run_is_not_limited_in_seconds_later_either() -> None:
    with pytest.raises(PresetInvalid, match="leave seconds out"):
        held_by_its_run().supervisor.limit(ONE, Limits(seconds=5))


def test_a_run_without_a_limit_of_its_own_and_one_that_is_over_have_none_to_change() -> None:
    house = held_by_its_run()
    house.ended(ANA, ONE)
    house.spend(run=TWO)
    for run in (ONE, TWO):
        with pytest.raises(AgentUnknown):
            house.supervisor.limit(run, None)


@pytest.mark.parametrize("told", [True, False], ids=["its end is told first", "the next run asks first"])
def test_who_lacked_what_one_run_might_spend_is_not_held_in_the_next(told: bool) -> None:
    house = held_by_its_run()
    if told:
        house.ended(ANA, ONE)
    assert isinstance(house.ask(run=TWO, limit=FEW), Proceed)
    house.ended(ANA, ONE)
    assert isinstance(house.ask(run=TWO), Proceed)


def test_who_was_not_told_that_there_is_no_more_is_told_when_the_same_is_said_again() -> None:
    house = House(team=FEW)
    house.spend()
    assert isinstance(house.ask(), Pause)
    house.supervisor.report(AgentStatus(ANA, FIRST, "paused", since=1.0), ())
    assert house.supervisor.grant_no_more("team") == (ANA,)
    assert house.supervisor.grant_no_more("team") == (ANA,)
    house.supervisor.report(AgentStatus(ANA, FIRST, "thinking", since=2.0), ())
    assert house.supervisor.grant_no_more("team") == ()


def test_all_that_an_account_stops_are_to_be_told_once_and_only_while_they_live() -> None:
    house = House(fleet=Limits(model_calls=2, on_exhaustion="stop"))
    house.spend()
    assert house.supervisor.take_untold() == ()
    stop = house.ask()
    assert isinstance(stop, Stop)
    house.supervisor.died(CEM, FIRST, "gone")
    assert house.supervisor.take_untold() == ((ANA, stop.reason), (BOB, stop.reason))
    assert house.supervisor.take_untold() == ()


def test_what_is_short_is_told_with_all_numbers_also_where_nothing_was_spent() -> None:
    house = House(team=Limits(tokens=100))
    assert house.supervisor.check_in(CheckIn(ANA, FIRST, ONE, 1, "thinking", 1, "p", 100, 100, 50)) == WindDown(
        Limit.TEAM_TOKENS,
        "This call needs at least 150 tokens. Of the 100 that 'team' may spend, 0 are spent, "
        "0 are held by calls in flight and 5 are kept for last answers.",
    )


def carved(tokens: int) -> Limits:
    return Limits(tokens=tokens, carved=True)


def opened_again(before: list[Team], after: list[Team]) -> list[tuple[str, int]]:
    """What is carved in a fleet of 100 tokens by teams of two openings."""
    supervisor = Supervisor(fleet="f", limit=Limits(tokens=100), now=lambda: 1.0, post=lambda _agent, _text: None)
    for owner, teams in (("first", before), ("second", after)):
        supervisor.begin(owner, Limits(tokens=100))
        supervisor.form_teams(teams)
    whole, *below = supervisor.accounts()
    assert whole.carved.tokens == sum(account.claim.tokens for account in below)
    return [(account.name, account.claim.tokens) for account in below]


def test_a_fleet_that_is_opened_again_has_what_its_teams_carve_now_in_whichever_order_they_stand() -> None:
    before = [Team("a", carved(60)), Team("b", carved(30))]
    assert opened_again(before, [Team("b", carved(60)), Team("a", carved(30))]) == [("a", 30), ("b", 60)]
    assert opened_again(before, [Team("a", carved(30)), Team("b", carved(60))]) == [("a", 30), ("b", 60)]


def test_for_a_team_that_is_left_out_when_its_fleet_is_opened_again_nothing_is_set_aside() -> None:
    before = [Team("a", carved(60)), Team("b", carved(30))]
    assert opened_again(before, [Team("b", carved(90))]) == [("a", 0), ("b", 90)]
    assert opened_again(before, []) == [("a", 0), ("b", 0)]
    with pytest.raises(LimitTooLarge):
        opened_again(before, [Team("a", carved(60)), Team("b", carved(50))])


def test_a_team_that_is_formed_again_while_the_fleet_runs_has_what_it_had_if_the_new_limit_does_not_fit() -> None:
    house = House(fleet=Limits(tokens=1_000), team=carved(500))
    with pytest.raises(LimitTooLarge):
        house.supervisor.form_teams([Team("team", carved(1_500))])
    assert (house.account("team").limit, house.account("f").carved) == (carved(500), Amount(500))


def test_what_calls_hold_of_a_carved_limit_comes_back_to_nobody_else_so_nobody_waits_for_it() -> None:
    house = House(fleet=Limits(tokens=1_000), team=carved(900))
    assert isinstance(house.ask(BOB), Proceed)
    assert reached(house.ask(CEM)) == Limit.FLEET_TOKENS
    house.supervisor.limit("team", Limits(tokens=900))
    assert isinstance(house.ask(CEM), Proceed)


def test_what_calls_hold_that_draw_on_the_same_account_is_waited_for() -> None:
    house = House(fleet=Limits(tokens=1_000), team=carved(600))
    assert isinstance(house.ask(ANA, limit=carved(450)), Proceed)
    assert reached(house.ask(BOB)) == Limit.TEAM_TOKENS  # what ana's call holds goes back to her run
    assert isinstance(house.ask(CEM), Proceed)
    assert isinstance(house.ask(CEM), Proceed)
    assert isinstance(house.ask(CEM), Wait)
