"""What agents, systems and people get from the Supervisor."""

from dataclasses import dataclass, field, replace

import pytest

from amrita_fleet.protocols.amounts import ZERO, Amount
from amrita_fleet.protocols.checkin import (
    AgentStatus,
    CheckIn,
    EndStep,
    Grant,
    Pause,
    Proceed,
    Settlement,
    Stop,
    Wait,
    WindDown,
)
from amrita_fleet.protocols.ids import SUPERVISOR, USER, AgentId, Incarnation, RunId
from amrita_fleet.protocols.limits import Limits
from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.protocols.outcome import Limit
from amrita_fleet.runtime.errors import AgentUnknown, NameInvalid, NameTaken
from amrita_fleet.runtime.limit_errors import TeamUnknown
from amrita_fleet.runtime.supervision.account import Account
from amrita_fleet.runtime.supervision.commands import Newcomer
from amrita_fleet.runtime.supervision.supervisor import Supervisor

ANA = AgentId("ana")
BOB = AgentId("bob")
FIRST = Incarnation(1)
FULL = Amount(200, model_calls=1)


def limits(tokens: int | None) -> Limits | None:
    return None if tokens is None else Limits(tokens=tokens)


@dataclass
class House:
    """A Supervisor with a clock that stands still and a list for the notes it posts."""

    limit: Limits | None = None
    notes: list[tuple[AgentId, str]] = field(default_factory=list[tuple[AgentId, str]])

    def __post_init__(self) -> None:
        self.supervisor = Supervisor(fleet="demo", limit=self.limit, now=lambda: 50.0, post=self.post)

    def post(self, agent: AgentId, text: str) -> None:
        self.notes.append((agent, text))

    def with_ana_and_her_bob(self, limit: Limits | None = None) -> "House":
        self.supervisor.admit(ANA, None, None, 1)
        self.supervisor.admit(BOB, ANA, limit, 2)
        return self

    def account(self, name: str) -> Account:
        return next(account for account in self.supervisor.accounts() if account.name == name)

    def events(self) -> list[tuple[str, str, str]]:
        return [(notice.type, notice.extra_type, notice.agent) for notice in self.supervisor.feed.read(0, 1_000)]


def asking(agent: AgentId = BOB, attempt: int = 1, *, incarnation: Incarnation = FIRST) -> CheckIn:
    return CheckIn(
        agent=agent,
        incarnation=incarnation,
        run=RunId("r1"),
        step=1,
        phase="thinking",
        attempt=attempt,
        provider="p",
        bound=100,
        output=100,
        floor=50,
    )


def settling(asked: CheckIn, tokens: int | None) -> Settlement:
    return Settlement(asked.agent, asked.incarnation, asked.reservation, tokens)


def status(agent: AgentId = BOB, phase: str = "thinking") -> AgentStatus:
    return AgentStatus(agent=agent, incarnation=FIRST, phase=phase, since=9.0)


def finished(outcome: str, text: str, agent: AgentId = BOB) -> Notice:
    data = {"outcome": outcome, "text": text, "reason": "That is why."}
    return Notice(type=NoticeType.RUN, extra_type="finished", agent=agent, text="", data=data)


# --- coming and going -------------------------------------------------------------------------------------------------


def test_an_agent_is_admitted_once_and_again_after_it_died() -> None:
    house = House().with_ana_and_her_bob()
    with pytest.raises(NameTaken):
        house.supervisor.admit(BOB, ANA, None, 3)
    house.supervisor.died(BOB, FIRST, "killed")
    assert house.supervisor.admit(BOB, ANA, None, 3) == 2
    assert house.supervisor.find(BOB).pid == 3


def test_the_runtimes_own_name_is_no_agents() -> None:
    with pytest.raises(NameInvalid):
        House().supervisor.admit(SUPERVISOR, None, None, 1)


def test_a_person_may_come_several_times_and_is_no_agent() -> None:
    supervisor = House().supervisor
    assert [supervisor.admit(USER, None, None, pid) for pid in (1, 2)] == [1, 2]
    assert supervisor.statuses() == ()
    assert supervisor.admit(ANA, USER, None, 3) == 1
    assert [row.agent for row in supervisor.statuses()] == [ANA]
    assert isinstance(supervisor.check_in(asking(USER)), Stop)


def test_an_admission_that_is_refused_leaves_nothing_behind() -> None:
    house = House()
    with pytest.raises(NameInvalid):
        house.supervisor.admit(AgentId("a b"), None, None, 1)
    with pytest.raises(AgentUnknown):
        house.supervisor.admit(BOB, ANA, None, 1)
    assert (house.supervisor.statuses(), len(house.supervisor.accounts()), house.events()) == ((), 1, [])


def test_of_several_that_come_together_all_are_admitted_or_none() -> None:
    house = House()
    assert house.supervisor.admit_all([Newcomer(ANA), Newcomer(BOB, ANA, Limits(tokens=500))], 7) == (1, 1)
    house.supervisor.died(BOB, FIRST, "killed")
    before = (house.supervisor.statuses(), house.supervisor.accounts(), house.events())
    cat = AgentId("cat")
    for others, error in [
        ([Newcomer(cat), Newcomer(ANA)], NameTaken),
        ([Newcomer(cat), Newcomer(cat)], NameTaken),
        ([Newcomer(BOB, ANA, Limits(tokens=500)), Newcomer(cat, AgentId("nobody"))], AgentUnknown),
        ([Newcomer(BOB, ANA, Limits(tokens=500)), Newcomer(cat, team="nobodys")], TeamUnknown),
    ]:
        with pytest.raises(error):
            house.supervisor.admit_all(others, 7)
        assert (house.supervisor.statuses(), house.supervisor.accounts(), house.events()) == before
    assert house.supervisor.admit_all([Newcomer(BOB, ANA, Limits(tokens=500))], 7) == (2,)


def test_a_death_makes_what_is_in_flight_spending_and_is_told_to_the_parent() -> None:
    house = House().with_ana_and_her_bob()
    house.supervisor.check_in(asking())
    house.supervisor.died(BOB, FIRST, "its process was killed.")
    house.supervisor.died(BOB, FIRST, "again")
    account = house.account("bob")
    assert (account.settled, account.unknown, account.reserved) == (FULL, FULL, ZERO)
    assert house.notes == [(ANA, "bob died: its process was killed.")]
    row = house.supervisor.find(BOB)
    assert (row.phase, row.note, row.since, row.tokens) == ("dead", "its process was killed.", 50.0, 200)
    assert house.events()[2:] == [("agent", "died", "bob")]


@pytest.mark.parametrize("end", ["died", "stopped"])
def test_no_note_goes_to_a_parent_that_may_not_read_it(end: str) -> None:
    house = House().with_ana_and_her_bob()
    if end == "died":
        house.supervisor.died(ANA, FIRST, "killed")
    else:
        house.supervisor.stop((ANA,), "enough")
    house.supervisor.died(BOB, FIRST, "killed")
    assert house.notes == []


# --- check-ins --------------------------------------------------------------------------------------------------------


def test_a_check_in_is_granted_its_tokens() -> None:
    house = House(Limits(tokens=1_000)).with_ana_and_her_bob()
    assert house.supervisor.check_in(asking()) == Proceed(Grant("bob/1/1", output=100))
    assert [account.reserved.tokens for account in house.supervisor.accounts()] == [200, 0, 200]


@pytest.mark.parametrize(
    ("fleet", "own", "name"), [(300, None, Limit.FLEET_TOKENS), (None, 300, Limit.TOKENS)], ids=["fleet", "agent"]
)
def test_a_spent_limit_is_named_and_winds_the_run_down(fleet: int | None, own: int | None, name: Limit) -> None:
    house = House(limits(fleet)).with_ana_and_her_bob(limits(own))
    supervisor = house.supervisor
    supervisor.check_in(asking())
    supervisor.settle(settling(asking(), 200))
    directive = supervisor.check_in(asking(attempt=2))
    assert isinstance(directive, WindDown)
    assert directive.limit == name
    assert "Of the 300 that" in directive.reason and "200 are spent" in directive.reason
    assert house.events()[-1] == ("budget", "wind_down", "bob")


def test_a_last_answer_may_use_what_is_kept_for_it_and_without_it_the_step_ends() -> None:
    supervisor = House().with_ana_and_her_bob(limit=Limits(tokens=200)).supervisor
    supervisor.check_in(asking())
    supervisor.settle(settling(asking(), 45))
    assert isinstance(supervisor.check_in(asking(attempt=2)), WindDown)
    last = replace(asking(attempt=3), last_answer=True)
    assert supervisor.check_in(last) == Proceed(Grant("bob/1/3", output=55))
    supervisor.settle(settling(last, 155))
    assert isinstance(supervisor.check_in(replace(last, attempt=4)), EndStep)


def test_tokens_held_by_calls_in_flight_are_waited_for() -> None:
    supervisor = House(Limits(tokens=300)).with_ana_and_her_bob().supervisor
    supervisor.check_in(asking(ANA))
    assert isinstance(supervisor.check_in(asking()), Wait)
    supervisor.settle(settling(asking(ANA), 10))
    assert isinstance(supervisor.check_in(asking()), Proceed)


def test_an_attempt_that_has_ended_is_not_granted_again() -> None:
    supervisor = House(Limits(tokens=1_000)).with_ana_and_her_bob().supervisor
    supervisor.check_in(asking())
    supervisor.settle(settling(asking(), 10))
    assert isinstance(supervisor.check_in(asking()), EndStep)


def test_a_life_that_is_over_is_told_to_stop() -> None:
    house = House().with_ana_and_her_bob()
    house.supervisor.died(BOB, FIRST, "killed")
    dead = house.supervisor.check_in(asking())
    house.supervisor.admit(BOB, ANA, None, 3)
    old = house.supervisor.check_in(asking())
    unknown = house.supervisor.check_in(asking(AgentId("eve")))
    assert dead == Stop("Life 1 of 'bob' was found dead (killed): it is fenced.", fenced=True)
    assert old == Stop("Life 1 of 'bob' is not the latest, 2: it is fenced.", fenced=True)
    assert unknown == Stop("'eve' was never admitted to this fleet: it is fenced.", fenced=True)
    assert house.account("bob").reserved.tokens == 0
    assert house.events()[-1] == ("agent", "fenced", "eve")


def test_a_paused_agent_stays_where_it_is_until_resumed() -> None:
    supervisor = House().with_ana_and_her_bob().supervisor
    assert supervisor.pause((ANA,), "lunch") == (ANA, BOB)
    assert supervisor.check_in(asking()) == Pause("lunch")
    assert supervisor.pause((BOB,), None) == (BOB,)
    assert isinstance(supervisor.check_in(asking()), Proceed)
    assert supervisor.check_in(asking(ANA)) == Pause("lunch")


def test_a_family_is_told_of_a_pause_and_of_its_end_as_often_as_it_is_asked_for() -> None:
    house = House().with_ana_and_her_bob()
    house.supervisor.admit(AgentId("cat"), BOB, None, 3)
    house.supervisor.died(AgentId("cat"), FIRST, "killed")
    for _ in range(2):
        assert house.supervisor.pause((ANA,), "lunch") == (ANA, BOB)
    for _ in range(2):
        assert house.supervisor.pause((ANA,), None) == (ANA, BOB)
    assert [event for _, event, agent in house.events() if agent == BOB] == ["admitted", "paused", "resumed"]


# --- settlements ------------------------------------------------------------------------------------------------------


def test_a_settlement_repeated_counts_once() -> None:
    house = House(Limits(tokens=1_000)).with_ana_and_her_bob()
    house.supervisor.check_in(asking())
    for _ in range(3):
        house.supervisor.settle(settling(asking(), 120))
    account = house.account("demo")
    assert (account.settled, account.reserved) == (Amount(120, model_calls=1), ZERO)
    assert house.supervisor.find(BOB).tokens == 120


def test_a_dead_ones_late_count_corrects_what_was_assumed() -> None:
    house = House().with_ana_and_her_bob()
    house.supervisor.check_in(asking())
    house.supervisor.died(BOB, FIRST, "killed")
    house.supervisor.settle(settling(asking(), 30))
    account = house.account("bob")
    assert (account.settled, account.unknown) == (Amount(30, model_calls=1), ZERO)


def test_an_overshoot_is_shown() -> None:
    house = House().with_ana_and_her_bob()
    house.supervisor.check_in(asking())
    house.supervisor.settle(settling(asking(), 250))
    (notice,) = house.supervisor.feed.read(2, 10)
    assert (notice.type, notice.extra_type, notice.data["overshoot"]) == ("budget", "overshoot", 50)
    assert house.account("demo").overshoot.tokens == 50


def test_a_settlement_of_nothing_reserved_is_shown_and_not_counted() -> None:
    house = House().with_ana_and_her_bob()
    house.supervisor.settle(settling(asking(), 250))
    assert house.account("demo").spent.tokens == 0
    assert house.events()[-1] == ("budget", "unmatched", "bob")


# --- reports ----------------------------------------------------------------------------------------------------------


def test_a_row_has_what_the_agent_says_and_what_the_supervisor_knows() -> None:
    supervisor = House().with_ana_and_her_bob(limit=Limits(tokens=900)).supervisor
    supervisor.report(replace(status(), sent=3, tokens=77, limit=1), ())
    row = supervisor.find(BOB)
    assert (row.phase, row.sent, row.tokens, row.limit, row.parent, row.pid) == ("thinking", 3, 0, 900, ANA, 2)


def test_an_agents_process_is_the_one_it_reports() -> None:
    supervisor = House().with_ana_and_her_bob().supervisor
    supervisor.report(replace(status(), pid=77), ())
    assert supervisor.find(BOB).pid == 77


def test_reported_notices_are_numbered_after_those_before() -> None:
    supervisor = House().with_ana_and_her_bob().supervisor
    step = Notice(type=NoticeType.STEP, extra_type="begun", agent=BOB, text="")
    supervisor.report(status(), (step, replace(step, at=8.0)))
    assert [(notice.number, notice.at) for notice in supervisor.feed.read(2, 10)] == [(3, 50.0), (4, 8.0)]


def test_what_an_older_life_reports_is_refused() -> None:
    house = House().with_ana_and_her_bob()
    house.supervisor.died(BOB, FIRST, "killed")
    house.supervisor.admit(BOB, ANA, None, 3)
    before = house.events()
    house.supervisor.report(status(), (finished("stalled", ""),))
    assert house.events() == before
    assert house.supervisor.find(BOB).phase == "idle"


def test_what_happens_to_a_persons_mail_is_kept() -> None:
    house = House().with_ana_and_her_bob()
    sent = Notice(type=NoticeType.MAIL, extra_type="sent", agent=USER, text="to ana")
    house.supervisor.report(status(USER), (sent,))
    assert house.events()[-1] == ("mail", "sent", "user")


@pytest.mark.parametrize(
    ("outcome", "text", "note"),
    [
        ("stalled", "Same call\nagain.", "bob ended its run: stalled. Same call again."),
        ("limit:tokens", "", "bob ended its run: limit:tokens. That is why."),
        ("failed", "x " * 300, "bob ended its run: failed. " + "x " * 98 + "x..."),
    ],
    ids=["stalled", "limit", "long"],
)
def test_a_parent_is_told_of_a_run_that_ended_without_an_answer(outcome: str, text: str, note: str) -> None:
    house = House().with_ana_and_her_bob()
    house.supervisor.report(status(), (finished(outcome, text),))
    assert house.notes == [(ANA, note)]


def test_a_note_is_a_text_that_mail_can_carry_whatever_was_said() -> None:
    house = House().with_ana_and_her_bob()
    house.supervisor.report(status(), (finished("failed", "bad \ud800 key"),))
    house.supervisor.died(BOB, FIRST, "bad \udfff page")
    assert house.notes == [(ANA, "bob ended its run: failed. bad ? key"), (ANA, "bob died: bad ? page.")]


def test_nobody_is_told_of_an_answer_or_of_a_run_without_a_parent() -> None:
    house = House().with_ana_and_her_bob()
    house.supervisor.report(status(), (finished("answered", "42"),))
    house.supervisor.report(status(ANA), (finished("stalled", "", ANA),))
    assert house.notes == []


def test_the_sender_of_a_message_that_was_never_consumed_is_told() -> None:
    house = House().with_ana_and_her_bob()
    facts: dict[str, Json] = {"id": "m1", "sender": "ana", "refusal": "stopped"}
    house.supervisor.report(status(), (Notice(NoticeType.MAIL, "dead", BOB, "never read", data=facts),))
    house.supervisor.report(status(), (Notice(NoticeType.MAIL, "dead", BOB, "", data={**facts, "sender": "user"}),))
    assert house.notes == [(ANA, "bob never read your message m1: stopped.")]


def test_notes_and_wakes_come_when_the_supervisor_can_be_asked_again() -> None:
    rows: list[AgentStatus] = []
    supervisor = Supervisor(
        fleet="demo", limit=None, now=lambda: 0.0, post=lambda agent, _: rows.append(supervisor.find(agent))
    )
    supervisor.feed.subscribe(lambda: rows.extend(supervisor.statuses()))
    supervisor.admit(ANA, None, None, 1)
    supervisor.admit(BOB, ANA, None, 2)
    supervisor.died(BOB, FIRST, "killed")
    assert [row.agent for row in rows] == [ANA, ANA, BOB, ANA, BOB, ANA]


# --- stops ------------------------------------------------------------------------------------------------------------


def test_a_stop_holds_for_all_under_an_agent_and_for_those_to_come() -> None:
    house = House().with_ana_and_her_bob()
    assert house.supervisor.stop((ANA,), "enough") == (ANA, BOB)
    house.supervisor.admit(AgentId("late"), BOB, None, 3)
    for agent in (ANA, BOB, AgentId("late")):
        assert house.supervisor.check_in(asking(agent)) == Stop("enough")
        assert house.supervisor.find(agent).phase == "stopped"
    assert house.supervisor.stop((), "again") == (ANA, BOB, AgentId("late"))
    assert house.events().count(("agent", "stopped", "bob")) == 1


def test_tokens_spent_after_a_stop_are_counted_and_shown() -> None:
    house = House().with_ana_and_her_bob()
    house.supervisor.check_in(asking())
    house.supervisor.stop((BOB,), "enough")
    house.supervisor.settle(settling(asking(), 150))
    assert [account.after_stop.tokens for account in house.supervisor.accounts()] == [150, 0, 150]


def test_an_unknown_name_stops_nobody_and_names_those_like_it() -> None:
    house = House().with_ana_and_her_bob()
    with pytest.raises(AgentUnknown, match="Did you mean ana"):
        house.supervisor.stop((BOB, AgentId("anna")), "enough")
    assert isinstance(house.supervisor.check_in(asking()), Proceed)
