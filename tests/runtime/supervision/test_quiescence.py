"""When nothing will happen in a fleet any more."""

from dataclasses import replace

import pytest

from amrita_fleet.protocols.ids import USER, AgentId, Incarnation
from amrita_fleet.protocols.waits import Standing
from amrita_fleet.runtime.supervision.quiescence import is_quiet, releasable

ANA, BOB = AgentId("ana"), AgentId("bob")

RESTS = Standing(Incarnation(1), "idle")
WAITS = Standing(Incarnation(1), "waiting", wait=7)


def test_a_fleet_whose_agents_only_rest_and_wait_is_quiet() -> None:
    assert is_quiet({})
    assert is_quiet({ANA: RESTS, BOB: WAITS})


@pytest.mark.parametrize(
    "busy",
    [
        replace(RESTS, phase="thinking"),
        replace(WAITS, stirs=True),
        replace(WAITS, paused=True),
        replace(RESTS, outgoing=1),
    ],
    ids=["at-work", "has-cause", "paused", "has-sent"],
)
def test_one_agent_that_may_still_do_something_keeps_a_fleet_from_being_quiet(busy: Standing) -> None:
    assert not is_quiet({ANA: WAITS, BOB: busy})


def test_those_who_wait_are_released_but_who_waits_for_the_person() -> None:
    names_both = replace(WAITS, senders=(BOB, USER))
    names_bob = replace(WAITS, senders=(BOB,))
    look = {ANA: names_bob, BOB: WAITS, AgentId("cyd"): names_both, AgentId("dan"): RESTS}
    assert set(releasable(look)) == {ANA, BOB}
