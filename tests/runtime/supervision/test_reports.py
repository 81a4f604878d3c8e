"""Reports that come a second time."""

from dataclasses import replace

from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.protocols.ids import USER, AgentId, Incarnation
from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.runtime.supervision.supervisor import Supervisor

ANA, BOB = AgentId("ana"), AgentId("bob")
FIRST, SECOND = Incarnation(1), Incarnation(2)


class House:
    """A Supervisor of ana and her bob, and the notes it posts."""

    def __init__(self) -> None:
        self.notes: list[tuple[AgentId, str]] = []
        self.supervisor = Supervisor(
            fleet="f", limit=None, now=lambda: 50.0, post=lambda agent, text: self.notes.append((agent, text))
        )
        self.supervisor.admit(ANA, None, None, 1)
        self.supervisor.admit(BOB, ANA, None, 2)

    def told(self) -> list[str]:
        return [notice.text for notice in self.supervisor.feed.read(0, 100) if notice.type is not NoticeType.AGENT]


def status(agent: AgentId = BOB, life: Incarnation = FIRST, phase: str = "thinking") -> AgentStatus:
    return AgentStatus(agent, life, phase, since=9.0)


def step(number: int, text: str = "") -> Notice:
    return Notice(NoticeType.STEP, "begun", BOB, text or f"{number}", number=number)


def test_of_a_report_that_holds_old_notices_and_new_ones_the_new_ones_count() -> None:
    house = House()
    house.supervisor.report(status(), (step(1), step(2)))
    house.supervisor.report(status(), (step(1), step(2), step(3)))
    house.supervisor.report(status(), (step(2),))  # one that was long under way
    assert house.told() == ["1", "2", "3"]
    assert [notice.number for notice in house.supervisor.feed.read(0, 100)] == [1, 2, 3, 4, 5]


def test_how_an_agent_is_counts_also_when_its_notices_are_known() -> None:
    house = House()
    house.supervisor.report(status(), (step(1),))
    house.supervisor.report(status(phase="waiting"), (step(1),))
    assert house.supervisor.find(BOB).phase == "waiting"


def test_each_life_and_each_agent_has_numbers_of_its_own() -> None:
    house = House()
    house.supervisor.report(status(), (step(1, "first life"),))
    house.supervisor.report(status(ANA), (replace(step(1, "another's"), agent=ANA),))
    house.supervisor.died(BOB, FIRST, "killed")
    house.supervisor.admit(BOB, ANA, None, 3)
    house.supervisor.report(status(life=SECOND), (step(1, "second life"),))
    assert house.told() == ["first life", "another's", "second life"]


def test_notices_without_numbers_count_each_time() -> None:
    house = House()
    for _ in range(2):
        house.supervisor.report(status(), (step(5), step(0, "as an older version reports")))
        house.supervisor.report(status(USER, Incarnation(0)), (step(0, "a person's"),))
    older = "as an older version reports"
    assert house.told() == ["5", older, "a person's", older, "a person's"]


def test_of_a_run_and_of_a_dead_letter_that_are_reported_twice_others_are_told_once() -> None:
    house = House()
    facts: dict[str, Json] = {"id": "m1", "sender": "ana", "refusal": "stopped"}
    ended = Notice(NoticeType.RUN, "finished", BOB, "", data={"outcome": "stalled"}, number=1)
    dead = Notice(NoticeType.MAIL, "dead", BOB, "never read", data=facts, number=2)
    for _ in range(2):
        house.supervisor.report(status(), (ended, dead))
    assert house.notes == [(ANA, "bob ended its run: stalled."), (ANA, "bob never read your message m1: stopped.")]


def recorded(place: int, number: int) -> Notice:
    return replace(step(number, f"record {place}"), recorded=place)


def test_what_the_record_says_counts_once_over_all_lives() -> None:
    house = House()
    house.supervisor.report(status(), (recorded(1, 1), step(2, "in passing"), recorded(2, 3)))
    house.supervisor.died(BOB, FIRST, "killed")
    house.supervisor.admit(BOB, ANA, None, 3)
    house.supervisor.report(status(life=SECOND), (recorded(2, 1), recorded(3, 2), step(3, "in passing")))
    assert house.told() == ["record 1", "in passing", "record 2", "record 3", "in passing"]
    assert {notice.recorded for notice in house.supervisor.feed.read(0, 100)} == {0}
