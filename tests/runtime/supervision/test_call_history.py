"""Loops of one agent's calls."""

from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.runtime.step.repetition import LONGEST_PERIOD, period_of
from amrita_fleet.runtime.supervision.call_history import MAIL_TOOLS, CallHistory
from amrita_fleet.runtime.tools.builtin import BUILTIN

TIMES = 10


def after(*rounds: tuple[tuple[str, str, str], ...]) -> CallHistory:
    history = CallHistory.begin(TIMES)
    for number, calls in enumerate(rounds):
        for call in calls:
            history = history.ended(*call)
        history = history.replied(float(number))
    return history


call = st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.sampled_from("12"))


@given(st.lists(st.integers(0, 2), max_size=60), st.integers(2, 5))
def test_a_period_is_the_shortest_that_holds_as_often_as_is_asked(things: list[int], times: int) -> None:
    found = period_of(things, times)
    holds = [
        period
        for period in range(1, LONGEST_PERIOD + 1)
        if len(things) >= period * times and things[-period * times :] == things[len(things) - period :] * times
    ]
    assert found == (holds[0] if holds else 0)


@given(st.lists(call, min_size=1, max_size=4), st.data())
def test_calls_of_one_round_end_in_any_order(calls: list[tuple[str, str, str]], data: st.DataObject) -> None:
    otherwise = data.draw(st.permutations(calls))
    assert after(tuple(calls)).rounds[0].digest == after(tuple(otherwise)).rounds[0].digest


@given(st.lists(st.integers(), unique=True, max_size=60))
def test_calls_whose_results_never_come_twice_are_no_loop(results: list[int]) -> None:
    rounds = [(("poll", "same", str(result)),) for result in results]
    assert all(after(*rounds[:end]).period(TIMES) == 0 for end in range(len(rounds) + 1))


@given(st.integers(1, 4), st.lists(st.integers(), max_size=20))
def test_a_planted_loop_is_found_when_it_came_round_as_often_as_is_stated(period: int, before: list[int]) -> None:
    rounds = [(("look", "before", str(result)),) for result in before]
    loop = [(("look", str(place), "same"),) for place in range(period)]
    assert after(*rounds, *loop * (TIMES - 1)).period(TIMES) == 0
    assert after(*rounds, *loop * TIMES).period(TIMES) == period


def test_something_new_begins_a_new_history() -> None:
    looping = after(*[(("look", "x", "same"),)] * TIMES)
    assert (looping.period(TIMES), looping.renewed().period(TIMES), looping.renewed().work) == (1, 0, "")


def test_the_work_of_an_agent_is_what_it_did_with_other_tools_than_those_of_the_channel() -> None:
    mail = (("send_message", "x", "1"), ("list_peers", "y", "2"))
    assert after(mail).work == ""
    assert after(mail, (("fetch", "z", "3"),)).work == after((("fetch", "z", "3"),)).work != ""
    assert after((("fetch", "z", "3"),)).work != after((("fetch", "z", "4"),)).work


def test_the_tools_of_the_channel_are_the_built_in_ones() -> None:
    assert {tool.name for tool in BUILTIN} == MAIL_TOOLS
