"""The life that follows one whose process has died."""

import pytest

from amrita_fleet import AgentUnknown
from amrita_fleet.protocols.ids import AgentId, Incarnation
from amrita_fleet.protocols.limits import Limits
from amrita_fleet.runtime.supervision.commands import Newcomer
from amrita_fleet.runtime.supervision.restart import USUAL
from amrita_fleet.runtime.supervision.succession import next_life
from amrita_fleet.runtime.supervision.supervisor import Supervisor

ANA, BOB = AgentId("ana"), AgentId("bob")
FIRST = Incarnation(1)


@pytest.fixture
def supervisor() -> Supervisor:
    made = Supervisor(fleet="f", limit=None, now=lambda: 1_000.0, post=lambda _agent, _text: None)
    made.admit_all((Newcomer(ANA), Newcomer(BOB, ANA, Limits(tokens=500))), 1)
    return made


def test_the_next_life_has_the_parent_and_the_limit_of_the_last_one_and_a_process_of_its_own(
    supervisor: Supervisor,
) -> None:
    assert next_life(supervisor, BOB, FIRST, 2) == 2
    row = supervisor.find(BOB)
    assert (row.incarnation, row.parent, row.limit, row.pid) == (2, ANA, 500, 2)


def test_who_asks_again_gets_the_same_life(supervisor: Supervisor) -> None:
    assert next_life(supervisor, ANA, FIRST, 2) == 2
    assert next_life(supervisor, ANA, FIRST, 2) == 2


def test_who_was_stopped_has_no_next_life(supervisor: Supervisor) -> None:
    supervisor.stop((ANA,), "enough")
    assert next_life(supervisor, ANA, FIRST, 2) is None


def test_who_dies_too_often_has_no_next_life(supervisor: Supervisor) -> None:
    lives = [next_life(supervisor, ANA, Incarnation(number), 2) for number in range(1, USUAL.intensity + 2)]
    assert lives == [*range(2, USUAL.intensity + 2), None]


def test_nobody_follows_an_agent_that_never_was(supervisor: Supervisor) -> None:
    with pytest.raises(AgentUnknown):
        next_life(supervisor, AgentId("cyd"), FIRST, 2)
