"""Which lives are followed by another one."""

from amrita_fleet.protocols.checkin import DEAD, RESTARTING
from amrita_fleet.protocols.codec import decode, encode
from amrita_fleet.protocols.ids import USER, AgentId, Incarnation
from amrita_fleet.runtime.supervision.restart import PERIOD, RESTARTS, Restarted, Restarts
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
    restarts = Restarts()
    assert all(restarts.allow(ANA, 10.0 + number) for number in range(RESTARTS))
    assert not restarts.allow(ANA, 20.0)
    assert restarts.allow(BOB, 20.0)
    assert restarts.allow(ANA, 10.0 + PERIOD)
    assert not restarts.allow(ANA, 10.0 + PERIOD)


def test_restarts_are_counted_on_in_another_process() -> None:
    first = Restarts()
    for number in range(RESTARTS):
        first.allow(ANA, 10.0 + number)

    second = Restarts(decode(encode(first.state()), tuple[Restarted, ...]))

    assert second.state() == first.state()
    assert not second.allow(ANA, 20.0)
    assert second.allow(BOB, 20.0)


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
    for life in range(1, RESTARTS + 1):
        assert house.dies(ANA, life)
        house.admit(ANA)
    assert not house.dies(ANA, RESTARTS + 1)
    assert (house.phase(ANA), house.told("quarantined")) == (DEAD, [ANA])
    assert house.admit(ANA) == RESTARTS + 2


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
