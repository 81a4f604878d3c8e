"""Many agents at providers that allow little: few requests are sent in vain, nobody starves, everybody finishes."""

import re

import pytest

from .crowded import Site, Storm

AGENTS = 32
TASKS = 5
ROW = re.compile(r"(\d+)(st|nd|rd|th) of (\d+) for crowded://a(, cooling down for \d+ s)?")


def check(storm: Storm) -> None:
    """Everybody has finished all tasks; prints the figures."""
    print(storm)
    assert len(storm.outcomes) == len(storm.names) * storm.tasks
    assert all(outcome.answered for outcome in storm.outcomes)
    for site in storm.crowd.sites.values():
        assert set(site.answered.values()) == {storm.tasks}


def test_a_storm_of_refusals_is_over_soon_and_who_waits_shows_it() -> None:
    site = Site(rate=5)
    storm = Storm({"a": site}, AGENTS, TASKS, seed=0).run()
    check(storm)
    assert site.ratio <= 1.3
    asking = [row.note for rows in storm.rows for row in rows if row.note]
    notes = [note for note in asking if not note.startswith(("waiting on model", "between model calls"))]
    assert all(ROW.fullmatch(note) for note in notes)
    assert any("1st of" in note for note in notes)
    assert any("cooling down" in note for note in notes)


@pytest.mark.slow
@pytest.mark.parametrize("says_when", [True, False], ids=["retry_after", "silent"])
@pytest.mark.parametrize("answers", [(0.001, 0.01), (0.4, 1.2), (2.0, 8.0)], ids=["quick", "usual", "long"])
@pytest.mark.parametrize("seed", range(5))
def test_five_a_second_are_asked_for_little_more(seed: int, answers: tuple[float, float], *, says_when: bool) -> None:
    site = Site(rate=5, answers=answers, says_when=says_when)
    storm = Storm({"a": site}, AGENTS, TASKS, seed).run()
    check(storm)
    assert site.ratio <= 1.3
    # First come, first served: the last agent has its last answer soon after the first one.
    assert min(storm.ended.values()) >= 0.6 * max(storm.ended.values())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_five_at_a_time_are_asked_for_little_more(seed: int) -> None:
    site = Site(at_once=5, answers=(1.0, 3.0), says_when=False)
    check(storm := Storm({"a": site}, AGENTS, TASKS, seed).run())
    assert site.ratio <= 1.3
    assert len(storm.outcomes) / max(storm.ended.values()) > 0.6 * 5 / 2.0, "and most of that is used"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_two_providers_do_not_slow_each_other(seed: int) -> None:
    sites = {"a": Site(rate=5), "b": Site()}
    check(storm := Storm(sites, AGENTS, TASKS, seed).run())
    alone = Storm({"b": Site()}, AGENTS, TASKS, seed).run()
    assert sites["a"].ratio <= 1.3
    assert sites["b"].ratio == 1.0
    ends = [max(end for name, end in each.ended.items() if name.startswith("b")) for each in (storm, alone)]
    assert ends[0] <= ends[1] + 1.2, "one answer's time, by chance"


@pytest.mark.slow
@pytest.mark.parametrize("says_when", [True, False], ids=["retry_after", "silent"])
def test_a_provider_that_is_away_for_a_while_is_not_asked_all_the_time(*, says_when: bool) -> None:
    site = Site(away=1_030.0, says_when=says_when)
    check(storm := Storm({"a": site}, AGENTS, TASKS, seed=0).run())
    assert site.refused <= AGENTS + 10
    assert max(storm.ended.values()) < 120.0


@pytest.mark.slow
def test_two_hundred_agents_wait_for_slots_without_a_storm_of_questions_and_slots_are_used() -> None:
    site = Site()
    storm = Storm({"a": site}, 200, TASKS, seed=0).run()
    check(storm)
    assert storm.asked <= 6 * len(site.allowed)
    assert len(site.allowed) / site.seconds > 0.8 * 64 / 0.8
