"""Circles: the same call again and again, and cycles that bring nothing new."""

from collections.abc import Callable
from itertools import count, cycle, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.messages import Finish as FinishReason
from amrita_fleet.protocols.messages import Reply, ToolCall
from amrita_fleet.protocols.outcome import Ending
from amrita_fleet.runtime.step.events import CallFacts, Replied
from amrita_fleet.runtime.step.phases import Phase, WaitFor
from amrita_fleet.runtime.step.prompts import CANCELLED, CUT, GIVE_UP
from amrita_fleet.runtime.step.rules import Rules
from amrita_fleet.runtime.step.stall import Window

from .pairing import flaw
from .play import Play, Result, calls, mail, says

MANY = Rules(rounds=200, repeats=5)


def again(*rounds: Reply, times: int) -> list[Reply]:
    """The same rounds over and over."""
    return list(islice(cycle(rounds), len(rounds) * times))


def numbered() -> Callable[[ToolCall], Result]:
    """A tool that never says the same twice."""
    numbers = count(1)
    return lambda asked: Result(f"{asked.name} {next(numbers)}")


@pytest.mark.parametrize("repeats", [2, 3, 5, 8])
def test_the_nth_identical_call_never_runs(repeats: int) -> None:
    play = Play([calls("look")] * 20, Rules(rounds=100, repeats=repeats)).ask()

    assert len(play.ran) == repeats - 1
    assert play.outputs[-1] == "Cancelled: Reach the max limit of repeatly calling tool." == CANCELLED


def test_the_give_up_prompt_follows_once_and_the_outcome_is_stalled() -> None:
    play = Play([*[calls("look")] * 5, says("I could not find it.")], MANY).ask()

    assert play.texts.count(GIVE_UP) == 1
    assert play.texts[-3:] == [CANCELLED, GIVE_UP, "I could not find it."]
    assert str(play.outcome) == "stalled"
    assert play.outcome.text == "I could not find it."
    assert play.outcome.reason == "look came again and again"
    assert flaw(play.turns) is None
    assert "step.stall" in play.notices
    assert "tool.cancelled" in play.notices


def test_it_counts_whatever_the_results_are() -> None:
    play = Play([calls("look")] * 9, MANY, tools=numbered()).ask()

    assert len(play.ran) == 4


def test_it_counts_across_steps() -> None:
    play = Play([calls("look")] * 9, Rules(rounds=100, step_rounds=1)).ask()

    assert play.ran == ["look"] * 4


def test_it_counts_within_a_reply() -> None:
    play = Play([calls(*["look"] * 7), says("Sorry.")], MANY).ask()

    assert len(play.ran) == 4
    assert play.outputs == [*["look is done"] * 4, *[CANCELLED] * 3]
    assert str(play.outcome) == "stalled"


def test_other_calls_of_the_reply_still_run() -> None:
    play = Play([*[calls("look")] * 4, calls("look", "find"), says("Sorry.")], MANY).ask()

    assert play.ran == [*["look"] * 4, "find"]
    assert play.outputs[-2:] == [CANCELLED, "find is done"]


def test_a_call_in_between_makes_the_count_begin_anew() -> None:
    lines = [*[calls("look")] * 4, calls("find"), *[calls("look")] * 4, says("Done.")]
    play = Play(lines, MANY).ask()

    assert play.outcome.answered


def test_each_run_has_a_window_of_its_own() -> None:
    lines = [*[calls("look")] * 4, says("One."), *[calls("look")] * 4, says("Two.")]
    play = Play(lines, MANY).ask().ask()

    assert [one.ending for one in play.outcomes] == [Ending.ANSWERED] * 2


@pytest.mark.parametrize("names", ["ab", "abc", "abcd", "aab"], ids=list)
def test_a_cycle_with_the_same_results_is_a_stall(names: str) -> None:
    play = Play(again(*(calls(name) for name in names), times=20), MANY).ask()

    assert play.ran == [*names] * 3
    assert play.outcome.ending is Ending.STALLED
    assert play.texts.count(GIVE_UP) == 1


@pytest.mark.parametrize("names", ["ab", "abc", "abcd"])
def test_a_cycle_with_changing_results_is_none(names: str) -> None:
    lines = again(*(calls(name) for name in names), times=10)
    play = Play([*lines, says("Done.")], MANY, tools=numbered()).ask()

    assert play.outcome.answered


def test_the_order_inside_a_parallel_set_does_not_count() -> None:
    play = Play(again(calls("a", "b"), calls("b", "a"), times=20), MANY).ask()

    assert play.outcome.ending is Ending.STALLED
    assert len(play.ran) == 10


def test_a_parallel_set_again_and_again_is_a_stall() -> None:
    play = Play([calls("a", "b")] * 20, MANY).ask()

    assert play.outcome.ending is Ending.STALLED
    assert len(play.ran) == 2 * MANY.repeats


def test_a_longer_patience_holds_for_cycles_too() -> None:
    lines = [*again(calls("poll"), calls("sleep"), times=30), says("Done.")]
    play = Play(lines, Rules(rounds=200, repeats=100)).ask()

    assert play.outcome.answered


def test_polling_goes_on_while_the_result_changes() -> None:
    play = Play([*[calls("job")] * 50, says("Done.")], MANY, tools=numbered(), polling=("job",)).ask()

    assert play.outcome.answered


def test_polling_for_a_result_that_stays_the_same_is_a_stall() -> None:
    play = Play([calls("job")] * 50, MANY, polling=("job",)).ask()

    assert len(play.ran) == 4
    assert play.outputs[-1] == CANCELLED


def test_a_changed_result_gives_polling_its_full_patience_back() -> None:
    results = iter(["10 %"] * 3 + ["35 %"] * 3 + ["60 %"] * 3)
    play = Play([*[calls("job")] * 9, says("Done.")], MANY, tools=lambda _: Result(next(results)), polling=("job",))

    assert play.ask().outcome.answered


def test_waiting_for_mail_again_and_again_is_no_stall() -> None:
    play = Play([*[calls("wait")] * 30, says("Done.")], MANY, tools=lambda _: Result("Wait.", WaitFor((), 9.0))).ask()
    for number in range(30):
        assert play.phase is Phase.WAITING
        play.send(mail("Next.", number=number))

    assert play.outcome.answered


def test_answering_the_same_way_after_each_wait_is_no_stall() -> None:
    def waits(asked: ToolCall) -> Result:
        return Result("Accepted.", WaitFor((), 9.0) if asked.name == "wait" else None)

    play = Play([*again(calls("answer"), calls("wait"), times=20), says("Done.")], MANY, tools=waits).ask()
    for number in range(20):
        play.send(mail("Next.", number=number))

    assert play.outcome.answered


SIGNATURES = st.lists(st.sampled_from("abc"), max_size=40)


@given(signatures=SIGNATURES, limit=st.integers(2, 6))
def test_a_window_counts_what_stands_last_in_a_row(signatures: list[str], limit: int) -> None:
    window = Window(limit)
    for index, signature in enumerate(signatures):
        window = window.asked(signature)
        row = 0
        while row <= index and signatures[index - row] == signature:
            row += 1
        assert window.count == row
        assert window.repeated(polling=False) == (row >= limit)


@given(before=SIGNATURES, names=st.lists(st.sampled_from("abcdef"), min_size=2, max_size=4, unique=True))
def test_any_short_cycle_is_seen_whatever_came_before(before: list[str], names: list[str]) -> None:
    window = Window()
    for name in [*before, *names * 3]:
        window = window.asked(name).ended(((name, "same"),))

    assert window.period


@given(rounds=st.lists(st.sampled_from("abc"), max_size=60))
def test_results_that_never_come_twice_are_no_cycle(rounds: list[str]) -> None:
    window = Window()
    for number, name in enumerate(rounds):
        window = window.asked(name).ended(((name, str(number)),))
        assert not window.period


@given(rounds=st.lists(st.lists(st.sampled_from("ab"), max_size=3), max_size=80), limit=st.integers(2, 30))
def test_a_window_stays_small(rounds: list[list[str]], limit: int) -> None:
    window = Window(limit)
    for names in rounds:
        window = window.ended(tuple((name, "r") for name in names))

    assert len(window.rounds) <= max(12, limit + 3)


def test_a_call_without_facts_is_a_bug_of_the_driver() -> None:
    play = Play().ask()
    op = next(iter(play.pending))

    with pytest.raises(ValueError, match="shorter"):
        play.feed(Replied(op, calls("a", "b"), (CallFacts("a"),)))


def test_a_call_that_is_cut_again_and_again_is_a_stall_too() -> None:
    play = Play([calls("write", finish=FinishReason.LENGTH)] * 9, Rules(rounds=100, repeats=3)).ask()

    assert play.outcome.ending is Ending.STALLED
    assert play.outputs == [CUT] * 3
    assert play.ran == []
