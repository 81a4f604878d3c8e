"""What a watcher sees, and the name under which a call's tokens are reserved."""

from amrita_fleet.protocols.checkin import CheckIn
from amrita_fleet.protocols.ids import AgentId, Incarnation, RunId
from amrita_fleet.protocols.notices import Notice, NoticeType

STALL = Notice(
    NoticeType.STEP, "stall", AgentId("ana"), "look came again and again", data={"tool": "look", "step": 9}, number=7
)


def test_a_notice_is_told_apart_as_in_older_systems() -> None:
    assert STALL.get("type") == "step"
    assert STALL.get("extra_type") == "stall"


def test_a_fact_is_found_by_its_name_and_comes_before_a_field() -> None:
    assert STALL.get("tool") == "look"
    assert STALL.get("step") == 9


def test_what_a_notice_does_not_have_is_the_default() -> None:
    assert STALL.get("colour") is None
    assert STALL.get("colour", "none") == "none"
    assert STALL.get("run", "no run") == "no run"
    assert STALL.get("get", "no field") == "no field"


def test_a_notice_is_one_line() -> None:
    assert str(STALL) == "    7 ana          step.stall         look came again and again"


def test_an_attempt_is_named_after_the_life_that_makes_it() -> None:
    asked = CheckIn(AgentId("ana"), Incarnation(2), RunId("r"), 1, "thinking", 7, "http://h", 100, 50)

    assert asked.reservation == "ana/2/7"
