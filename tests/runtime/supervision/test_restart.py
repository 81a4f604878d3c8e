"""Which lives are followed by another one."""

from typing import Any, cast

import pytest

from amrita_fleet import Agent, PresetInvalid
from amrita_fleet.protocols.checkin import DEAD, RESTARTING
from amrita_fleet.protocols.codec import decode, encode
from amrita_fleet.protocols.ids import USER, AgentId, Incarnation
from amrita_fleet.protocols.providers.scripted import say, scripted
from amrita_fleet.protocols.restarts import RestartPolicy
from amrita_fleet.runtime.supervision.commands import Newcomer
from amrita_fleet.runtime.supervision.restart import USUAL, Death, Restarted, Restarts
from amrita_fleet.runtime.supervision.supervisor import Supervisor

ANA, BOB = AgentId("ana"), AgentId("bob")


class House:
    def __init__(self) -> None:
        self.now = 1000.0
        self.notes: list[tuple[AgentId, str]] = []
        self.supervisor = Supervisor(
            fleet="f", limit=None, now=lambda: self.now, post=lambda agent, text: self.notes.append((agent, text))
        )

    def admit(self, agent: AgentId, parent: AgentId = USER) -> Incarnation:
        return self.supervisor.admit(agent, parent, None, 1)

    def dies(self, agent: AgentId, life: int) -> bool:
        return self.supervisor.died(agent, Incarnation(life), "killed", restart=True)

    def phase(self, agent: AgentId) -> str:
        return self.supervisor.find(agent).phase

    def told(self, event: str) -> list[AgentId]:
        return [notice.agent for notice in self.supervisor.feed.read(0, 1000) if notice.extra_type == event]


def test_so_many_restarts_are_allowed_in_a_period_and_each_agent_has_its_own() -> None:
    restarts = Restarts((), RestartPolicy(intensity=2, period=10))
    assert [restarts.too_often(ANA, at, "killed") for at in (1.0, 2.0)] == [(), ()]
    assert restarts.too_often(ANA, 3.0, "killed")
    assert not restarts.too_often(BOB, 3.0, "killed")
    assert not restarts.too_often(ANA, 11.0, "killed")
    assert restarts.too_often(ANA, 11.5, "killed")


def test_one_death_too_many_comes_with_the_reasons_of_all_in_the_period() -> None:
    restarts = Restarts((), RestartPolicy(intensity=2, period=10))
    allowed = [restarts.too_often(ANA, at, f"reason {at:g}") for at in (1.0, 8.0, 12.0)]
    assert allowed == [(), (), ()]
    deaths = (Death(8.0, "reason 8"), Death(12.0, "reason 12"), Death(13.0, "the last"))
    assert restarts.too_often(ANA, 13.0, "the last") == deaths


def test_where_no_restart_is_allowed_the_first_death_is_one_too_many() -> None:
    assert Restarts((), RestartPolicy(intensity=0)).too_often(ANA, 1.0, "killed") == (Death(1.0, "killed"),)


def test_restarts_are_counted_on_in_another_process() -> None:
    first = Restarts()
    for number in range(USUAL.intensity):
        first.too_often(ANA, 10.0 + number, f"reason {number}")

    second = Restarts(decode(encode(first.state()), tuple[Restarted, ...]))

    assert second.state() == first.state()
    reasons = [death.reason for death in second.too_often(ANA, 20.0, "the last")]
    assert reasons == ["reason 0", "reason 1", "reason 2", "the last"]
    assert not second.too_often(BOB, 20.0, "killed")


def test_what_an_older_version_counted_counts_without_its_reasons() -> None:
    written = encode((("ana", [10.0, 11.0, 12.0]),))
    restarts = Restarts(decode(written, tuple[Restarted, ...]))
    deaths = restarts.too_often(ANA, 20.0, "killed")
    assert [death.reason for death in deaths] == ["", "", "", "killed"]


@pytest.mark.parametrize(
    ("field", "value"), [("intensity", -1), ("intensity", True), ("intensity", 1.5), ("period", 0), ("period", "60")]
)
def test_a_policy_that_can_count_nothing_is_refused(field: str, value: object) -> None:
    with pytest.raises(PresetInvalid, match=f"RestartPolicy.{field} must be"):
        RestartPolicy(**cast("Any", {field: value}))


def test_otps_third_word_is_refused_with_the_reason() -> None:
    with pytest.raises(PresetInvalid, match="each death is abnormal"):
        Agent(preset=scripted(say("hi")), restart=cast("Any", "transient"))


def test_a_life_that_is_followed_by_another_says_so_and_nobody_is_told_of_a_death() -> None:
    house = House()
    house.admit(ANA)
    house.admit(BOB, ANA)
    assert house.dies(BOB, 1)
    assert house.phase(BOB) == RESTARTING
    assert house.supervisor.feed.read(-1, 1)[0].data["restarts"] is True
    assert house.admit(BOB, ANA) == 2
    assert house.notes == []


def test_the_answer_is_the_same_when_it_is_asked_for_again() -> None:
    house = House()
    house.admit(ANA)
    assert [house.dies(ANA, 1), house.dies(ANA, 1)] == [True, True]
    assert house.told("died") == [ANA]


def test_what_dies_too_often_stays_dead_until_it_is_spawned_anew() -> None:
    house = House()
    house.admit(ANA)
    for life in range(1, USUAL.intensity + 1):
        assert house.dies(ANA, life)
        house.admit(ANA)
    assert not house.dies(ANA, USUAL.intensity + 1)
    assert (house.phase(ANA), house.told("quarantined")) == (DEAD, [ANA])
    assert house.admit(ANA) == USUAL.intensity + 2


def test_a_quarantine_lists_of_what_the_agent_died_and_its_row_says_so_and_the_last() -> None:
    house = House()
    house.supervisor.begin("owner", None, RestartPolicy(intensity=2, period=30))
    for life, reason in enumerate(["out of memory", "killed", "killed."], start=1):
        house.admit(ANA)
        house.supervisor.died(ANA, Incarnation(life), reason, restart=True)
        house.now += 1
    (notice,) = [each for each in house.supervisor.feed.read(0, 100) if each.extra_type == "quarantined"]
    assert notice.data["deaths"] == [
        {"at": 1000.0, "reason": "out of memory"},
        {"at": 1001.0, "reason": "killed"},
        {"at": 1002.0, "reason": "killed."},
    ]
    assert notice.text == (
        "ana died 3 times within 30 seconds, and may be restarted twice; it stays dead until it is spawned anew. "
        "It died of: out of memory; killed (twice)."
    )
    assert house.supervisor.find(ANA).note == "quarantined: it died 3 times within 30 seconds, the last time: killed."


def test_a_temporary_agent_is_never_restarted_and_that_is_no_quarantine() -> None:
    house = House()
    house.supervisor.admit_all([Newcomer(ANA), Newcomer(BOB, ANA, restart="temporary")], 1)
    assert not house.dies(BOB, 1)
    assert (house.phase(BOB), house.told("quarantined")) == (DEAD, [])
    assert house.notes == [(ANA, "bob died: killed.")]


def test_the_word_of_a_later_spawn_counts() -> None:
    house = House()
    house.supervisor.admit_all([Newcomer(ANA, restart="temporary")], 1)
    house.dies(ANA, 1)
    house.admit(ANA)
    assert house.dies(ANA, 2)


def test_a_stopped_agent_is_not_restarted() -> None:
    house = House()
    house.admit(ANA)
    house.supervisor.stop((ANA,), "enough")
    assert not house.dies(ANA, 1)
    assert (house.phase(ANA), house.told("quarantined")) == (DEAD, [])


def test_a_restart_that_is_given_up_is_a_death_for_good() -> None:
    house = House()
    house.admit(ANA)
    house.admit(BOB, ANA)
    house.dies(BOB, 1)
    assert not house.supervisor.died(BOB, Incarnation(1), "no room for it")
    assert house.phase(BOB) == DEAD
    assert house.notes == [(ANA, "bob died: no room for it.")]


def test_a_note_for_an_agent_that_is_being_restarted_is_sent() -> None:
    house = House()
    house.admit(ANA)
    house.admit(BOB, ANA)
    house.dies(ANA, 1)
    house.supervisor.died(BOB, Incarnation(1), "killed")
    assert house.notes == [(ANA, "bob died: killed.")]
