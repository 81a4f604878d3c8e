"""When a long history is made short, and what of it goes."""

import pytest

from amrita_fleet.runtime.errors import HistoryInvalid
from amrita_fleet.runtime.step.compaction import (
    CompactionRules,
    Measured,
    due,
    fold,
    next_input,
)
from amrita_fleet.runtime.step.fitting import shrunk
from amrita_fleet.runtime.step.folding import Pins, folded
from amrita_fleet.runtime.step.sizes import weight
from amrita_fleet.runtime.step.transcript import Transcript

from .histories import batch, run_of, says
from .play import call
from .short import SMALL, found_in, goes_on_plainly, long_run

# --- when -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "measured", "why"),
    [
        (CompactionRules(threshold=900), 900, ""),
        (CompactionRules(threshold=899), 900, "llm.memory_abstract_threshold"),
        (CompactionRules(window=901), 900, ""),
        (CompactionRules(window=900), 900, "llm.session_tokens_windows"),
        (CompactionRules(messages=42), 900, ""),
        (CompactionRules(messages=41), 900, "llm.memory_length_limit"),
        (CompactionRules(threshold=1, window=1, messages=1, strategy="none"), 900, ""),
    ],
    ids=["at the threshold", "over it", "under the window", "at it", "under the length", "at it", "off"],
)
def test_it_is_due_when_the_first_limit_is_reached(rules: CompactionRules, measured: int, why: str) -> None:
    transcript = long_run()

    assert due(rules, transcript, Measured(transcript.size, measured)) == why


def test_the_system_message_is_not_counted_as_one_of_the_messages() -> None:
    rules = CompactionRules(messages=41)
    without = Transcript().replaced(long_run().turns[1:], (0,), None)

    assert due(rules, without, None) == due(rules, long_run(), None) == "llm.memory_length_limit"


def test_what_was_added_since_the_last_count_counts() -> None:
    before = long_run()
    after = batch(before, "x" * 900)

    assert next_input(after, Measured(before.size, 1000)) == 1000 + -(-(after.size - before.size) // 3)
    assert next_input(after, None) == -(-after.size // 3)


def test_a_count_of_a_history_that_was_longer_says_nothing() -> None:
    assert next_input(long_run(), Measured(10**6, 10**6)) == next_input(long_run(), None)


def test_nothing_is_due_where_nothing_is_gained() -> None:
    huge_instructions = run_of(Transcript.begin("x" * 9000), "Count.").reply(says("One.")).note("And?")

    assert next_input(huge_instructions, None) > SMALL.window
    assert due(SMALL, huge_instructions, None) == ""


def test_few_large_messages_are_a_gain_as_well_as_many_small_ones() -> None:
    transcript = Transcript()
    for number in range(4):
        transcript = run_of(transcript, f"{number}" * 900).reply(says("So."))

    assert due(CompactionRules(window=1000), transcript, None) == "llm.session_tokens_windows"
    assert due(CompactionRules(window=1000), transcript.note("x" * 99_000), None) == "llm.session_tokens_windows"


def test_it_is_due_where_one_message_alone_is_too_large() -> None:
    rules = CompactionRules(window=12_000)

    for transcript in (Transcript.begin("You count."), run_of(Transcript(), "Count.").reply(says("One."))):
        assert due(rules, run_of(transcript, "x" * 99_000), None) == "llm.session_tokens_windows"
        assert due(rules, run_of(transcript, "x" * 30_000), None) == ""


@pytest.mark.parametrize("prompt", [None, 5000], ids=["instructions", "tools, which only the provider counts"])
def test_what_was_in_vain_is_not_tried_again_before_half_of_the_trigger_was_added(prompt: int | None) -> None:
    rules = CompactionRules(threshold=1000)
    long = long_run() if prompt else run_of(Transcript.begin("x" * 4000), "Count.")
    for number in range(20):
        long = batch(long, f"output {number}")
    short = folded(found_in(long, rules), Pins("Count."), "So.")
    measured = None if prompt is None else Measured(short.size, prompt)
    sizes = list[int]()

    while not due(rules, short, measured):
        sizes.append(short.size - short.settled)
        short = batch(short, "output")

    assert due(rules, long, measured) == "llm.memory_abstract_threshold"
    assert sizes[-1] < 1000 * 3 // 2 <= short.size - short.settled


def test_what_helped_is_tried_again_as_soon_as_it_is_due() -> None:
    rules = CompactionRules(threshold=1000)
    short = folded(found_in(goes_on_plainly(long_run()), rules), Pins("Count."), "So.")

    assert due(rules, short, Measured(short.size, 1000)) == ""
    assert due(rules, batch(short, "x" * 900), Measured(short.size, 1000)) == "llm.memory_abstract_threshold"


def test_another_trigger_that_is_reached_is_not_held_back_by_one_that_is_hopeless() -> None:
    rules = CompactionRules(threshold=1000, window=3000)
    long = Transcript.begin("x" * 4000).note("Count.")
    for number in range(20):
        long = batch(long, f"output {number}")
    short = folded(found_in(long, rules), Pins("Count."), "So.")

    assert due(rules, batch(short, "x" * 140), None) == ""
    assert due(rules, batch(short, "x" * 140), Measured(short.size, 2990)) == "llm.session_tokens_windows"


def test_it_is_due_where_outputs_alone_are_too_large() -> None:
    assert due(SMALL, batch(run_of(Transcript(), "Count."), "x" * 9000), None) == "llm.session_tokens_windows"


# --- what -------------------------------------------------------------------------------------------------------------


def test_what_stays_is_at_most_half_of_what_is_allowed() -> None:
    rules = CompactionRules(messages=30)
    by_messages, by_bytes = found_in(long_run(40), rules), found_in(long_run(40), CompactionRules(window=700))

    assert len(by_messages.kept) == 14
    assert sum(map(weight, by_bytes.kept)) <= 700 * 3 // 2
    assert sum(map(weight, by_bytes.kept)) > 700 * 3 // 2 - 200


def test_half_of_the_history_goes_when_a_provider_makes_more_tokens_of_it_than_thought() -> None:
    transcript = long_run()

    assert sum(map(weight, found_in(transcript, CompactionRules()).kept)) <= transcript.size // 2


def test_a_strategy_may_say_how_many_rounds_stay_but_one_always_does() -> None:
    kept = [len(found_in(long_run(), keep=keep).kept) for keep in (3, 1, 0, -1)]

    assert kept == [6, 2, 2, 2]
    assert fold(long_run(), SMALL, 99) is None, "more than there are is all of them"


def test_a_batch_that_is_larger_than_everything_stays_whole() -> None:
    transcript = batch(long_run(), *("x" * 900,) * 5)

    assert found_in(transcript).kept == transcript.turns[-6:]


def test_an_open_batch_is_not_cut() -> None:
    transcript = long_run().reply(says("", call("a"), call("b")))

    assert fold(transcript, SMALL) is None
    assert due(SMALL, transcript, None) == ""
    with pytest.raises(HistoryInvalid, match="a change cannot stand between the calls of a, b and their outputs"):
        shrunk(transcript.close(("1", "2")).reply(says("", call("a"), call("b"))), 0).replaced((), (0,), None)


@pytest.mark.parametrize("notes", [0, 1, 3])
def test_a_history_in_which_nothing_was_said_is_not_cut(notes: int) -> None:
    transcript = Transcript.begin("You count.")
    for number in range(notes):
        transcript = transcript.note(f"Note {number}")

    assert fold(transcript, CompactionRules(window=1, messages=1)) is None
