"""A fleet dies right before and right after each record of its journal, and another process goes on: nothing is lost.

So does one agent alone, whose next life begins beside the others, while what is left of the old one has not noticed.
"""

import pytest

from .conversation import NAMES
from .doomed import Strike
from .lossless import Conversation, agents_own, around, snapshots_of_accounts

pytestmark = [pytest.mark.usefixtures("snapshots_come_often"), pytest.mark.slow]


def test_without_kills_the_same_is_said_each_time() -> None:
    first, second = Conversation().live(), Conversation().live()

    first.check(kills=0)
    for agent in NAMES:
        assert first.past(agent).state.transcript == second.past(agent).state.transcript
        assert first.past(agent).outcomes == second.past(agent).outcomes
    assert first.appends == second.appends


def test_a_fleet_dies_at_some_record_and_goes_on() -> None:
    Conversation().live(Strike(75, after=True)).check(kills=1)


def test_a_fleet_dies_around_snapshots_of_its_accounts_and_goes_on() -> None:
    strikes = snapshots_of_accounts(Conversation().live().appends)
    assert len(strikes) > 20
    for strike in strikes:
        print(strike)
        Conversation().live(strike).check(kills=1)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("share", range(8))
def test_a_fleet_dies_around_each_record_and_goes_on(share: int) -> None:
    for strike in around(Conversation().live().appends)[share::8]:
        print(strike)
        Conversation().live(strike).check(kills=1)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("share", range(4))
def test_a_fleet_dies_twice_and_goes_on(share: int) -> None:
    strikes = around(Conversation().live().appends)[share::16]
    for strike, second in zip(strikes, reversed(strikes), strict=True):
        print(strike, second)
        Conversation().live(strike, Strike(second.number // 2 + 1, second.after)).check(kills=2)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("share", range(4))
def test_one_agent_dies_around_each_of_its_records_and_lives_again_beside_the_others(share: int) -> None:
    for strike in agents_own(Conversation().live().appends)[share::4]:
        print(strike)
        Conversation().live_with_a_death(strike).check(kills=1)
