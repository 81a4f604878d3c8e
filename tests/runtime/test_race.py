"""Fifty agents race for the tokens of one fleet, and are killed: no limit is passed, and most of it is used."""

import pytest

from amrita_fleet.protocols.amounts import ZERO

from .racing import Race

LEAST_USED = 0.9
"""The part of a limit that is used before anybody winds down because of it, where it is large beside any call."""


def check(seed: int, *, own: bool) -> Race:
    """Have a race; what must hold while it lasts is looked at whenever something happens."""
    race = Race(seed, own=own).run()
    print(f"seed {seed}: {race}")
    assert race.books.flaws == []
    assert race.books.seen > 100
    assert race.killed == len(race.course.kills)
    assert all(account.reserved == account.overshoot == ZERO for account in race.accounts)
    for name, wound in race.books.wound.items():
        if wound.large:
            assert wound.used >= LEAST_USED, (name, wound)
    return race


@pytest.mark.parametrize("own", [False, True], ids=["one limit", "limits of their own too"])
def test_what_the_provider_counts_never_passes_a_limit(*, own: bool) -> None:
    check(0, own=own)


@pytest.mark.slow
@pytest.mark.parametrize("tens", range(20))
def test_of_two_hundred_races_none_passes_the_limit_and_nine_tenths_of_it_are_used(tens: int) -> None:
    races = [check(seed, own=False) for seed in range(10 * tens, 10 * tens + 10)]
    assert all("race" in race.books.wound for race in races), "the fleet's limit is what ends them"
    assert sum(race.books.wound["race"].large for race in races) >= 5, "else the second claim says little"


@pytest.mark.slow
@pytest.mark.parametrize("tens", range(5))
def test_of_fifty_races_with_limits_of_agents_below_the_fleets_none_passes_any(tens: int) -> None:
    races = [check(seed, own=True) for seed in range(1_000 + 10 * tens, 1_010 + 10 * tens)]
    assert any(name != "race" for race in races for name in race.books.wound), "some limits of agents are reached"
