import pytest

from amrita_fleet.protocols.checkin import DEAD, STOPPED, AgentStatus
from amrita_fleet.protocols.codec import decode, encode
from amrita_fleet.protocols.ids import AgentId, Incarnation
from amrita_fleet.protocols.limits import Limits
from amrita_fleet.runtime.errors import AgentUnknown, NameInvalid, NameTaken
from amrita_fleet.runtime.supervision.member import Member
from amrita_fleet.runtime.supervision.roster import Roster, RosterState, check_name

FIRST = Incarnation(1)
SECOND = Incarnation(2)


def names(*agents: str) -> tuple[AgentId, ...]:
    return tuple(AgentId(agent) for agent in agents)


ANA, BOB, CAT, DAN = names("ana", "bob", "cat", "dan")


def newcomer(agent: AgentId, parent: AgentId | None = None, limit: Limits | None = None) -> Member:
    status = AgentStatus(agent=agent, incarnation=Incarnation(0), phase="idle", since=1.0)
    return Member(agent, Incarnation(0), parent, limit, pid=7, status=status)


def family() -> Roster:
    """Ana has bob, bob has cat; dan is alone."""
    roster = Roster()
    for agent, parent in [(ANA, None), (BOB, ANA), (CAT, BOB), (DAN, None)]:
        roster.admit(newcomer(agent, parent))
    return roster


def agents(members: tuple[Member, ...]) -> list[str]:
    return [member.agent for member in members]


@pytest.mark.parametrize("name", ["a", "Ana", "7", "w-1_b_C", "x" * 64])
def test_a_plain_name_is_accepted(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize("name", ["", "-a", ".a", "a b", "a/b", "ä", "a\n", "x" * 65, "user", "supervisor"])
def test_any_other_name_is_refused(name: str) -> None:
    with pytest.raises(NameInvalid):
        check_name(name)


def test_a_living_agent_keeps_its_name() -> None:
    with pytest.raises(NameTaken):
        family().admit(newcomer(DAN))


def test_a_stopped_agent_keeps_its_name_and_that_is_said() -> None:
    roster = family()
    roster.stop((DAN,), "enough", 2.0)
    with pytest.raises(NameTaken, match=r"named 'dan'; it was stopped \(enough\) and keeps its name: choose another"):
        roster.admit(newcomer(DAN))


def test_a_dead_one_comes_back_with_the_next_incarnation() -> None:
    roster = family()
    roster.bury(BOB, FIRST, "killed", 2.0)
    assert roster.admit(newcomer(BOB, ANA)).incarnation == SECOND
    assert roster.current(BOB, FIRST) is None
    assert roster.current(BOB, SECOND) is not None


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        (newcomer(BOB, DAN), "parent dan instead of ana"),
        (newcomer(BOB, None, limit=Limits(tokens=5)), "parent none instead of ana and limit 5 tokens instead of none"),
    ],
    ids=["parent", "both"],
)
def test_a_dead_ones_name_is_not_free_for_somebody_else(other: Member, differs: str) -> None:
    roster = family()
    roster.bury(BOB, FIRST, "killed", 2.0)
    with pytest.raises(NameTaken, match=f"it is dead and can live again, but not with {differs}:"):
        roster.admit(other)


def test_an_unknown_name_is_answered_with_names_like_it() -> None:
    with pytest.raises(AgentUnknown) as caught:
        family().find(AgentId("bop"))
    assert caught.value.near == ("bob",)


def test_an_unknown_parent_is_refused() -> None:
    with pytest.raises(AgentUnknown):
        family().admit(newcomer(AgentId("eve"), AgentId("nobody")))


def test_a_life_ends_once() -> None:
    roster = family()
    assert roster.bury(BOB, FIRST, "killed", 2.0) is not None
    assert roster.bury(BOB, FIRST, "again", 3.0) is None
    assert (roster.find(BOB).dead, roster.find(BOB).status.phase, roster.find(BOB).status.since) == (
        "killed",
        DEAD,
        2.0,
    )


def test_what_an_ended_life_reports_is_not_kept() -> None:
    roster = family()
    roster.bury(BOB, FIRST, "killed", 2.0)
    assert roster.heard(AgentStatus(agent=BOB, incarnation=FIRST, phase="thinking", since=3.0)) is None
    assert roster.find(BOB).status.phase == DEAD


def test_the_family_of_an_agent_is_all_that_is_under_it() -> None:
    roster = family()
    assert agents(roster.family((ANA,))) == ["ana", "bob", "cat"]
    assert agents(roster.family((CAT, ANA))) == ["cat", "ana", "bob"]
    assert agents(roster.family(())) == ["ana", "bob", "cat", "dan"]


def test_a_stop_holds_for_all_under_it_and_for_those_to_come() -> None:
    roster = family()
    assert agents(roster.stop((BOB,), "enough", 2.0)) == ["bob", "cat"]
    assert agents(roster.stop((ANA,), "all", 3.0)) == ["ana"]
    late = roster.admit(newcomer(AgentId("late"), CAT))
    assert (late.stopped, late.status.phase) == ("enough", STOPPED)
    assert roster.find(DAN).active


def test_a_stop_outlives_a_restart() -> None:
    roster = family()
    roster.bury(CAT, FIRST, "killed", 2.0)
    roster.stop((BOB,), "enough", 3.0)
    assert roster.find(CAT).status.phase == DEAD
    assert roster.admit(newcomer(CAT, BOB)).stopped == "enough"


def test_a_stopped_fleet_stops_whoever_comes() -> None:
    roster = family()
    roster.stop((), "over", 2.0)
    assert roster.admit(newcomer(AgentId("eve"))).stopped == "over"


def test_a_stopped_agent_goes_on_reporting_but_stays_stopped() -> None:
    roster = family()
    roster.stop((DAN,), "enough", 2.0)
    heard = roster.heard(AgentStatus(agent=DAN, incarnation=FIRST, phase="done", since=3.0, sent=4))
    assert heard is not None
    assert (heard.status.phase, heard.status.note, heard.status.since, heard.status.sent) == (STOPPED, "enough", 2.0, 4)


def test_one_unknown_name_stops_nobody() -> None:
    roster = family()
    with pytest.raises(AgentUnknown):
        roster.stop((ANA, AgentId("nobody")), "enough", 2.0)
    assert roster.find(ANA).active


def test_a_pause_is_lifted_by_resuming_and_not_by_a_restart() -> None:
    roster = family()
    assert agents(roster.pause((BOB,), "lunch")) == ["bob", "cat"]
    assert agents(roster.pause((ANA,), "tea")) == ["ana"]
    roster.bury(CAT, FIRST, "killed", 2.0)
    assert roster.admit(newcomer(CAT, BOB)).paused == "lunch"
    assert agents(roster.pause((), None)) == ["ana", "bob", "cat"]
    assert roster.find(CAT).paused is None


def test_a_roster_goes_on_in_another_process() -> None:
    first = family()
    first.pause((BOB,), "a look")
    first.bury(CAT, FIRST, "killed", 3.0)
    first.stop((), "enough", 4.0)

    second = Roster(decode(encode(first.state()), RosterState))

    assert second.state() == first.state()
    assert agents(second.family(())) == [ANA, BOB, CAT, DAN]
    assert second.admit(newcomer(CAT, BOB)).incarnation == SECOND
    assert second.admit(newcomer(AgentId("eve"))).stopped == "enough"
