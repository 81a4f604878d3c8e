"""Whatever the history is: made short, it is valid, shorter, and holds what counts."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amrita_fleet.protocols.messages import Message, Role, ToolResult, Turn
from amrita_fleet.runtime.step.compaction import CompactionRules, Fold, due, fold, next_input, summary_request
from amrita_fleet.runtime.step.fitting import fitted, shrunk
from amrita_fleet.runtime.step.folding import Pins, folded, pinned
from amrita_fleet.runtime.step.heads import is_mail, peer_messages
from amrita_fleet.runtime.step.sizes import size_of, weight
from amrita_fleet.runtime.step.transcript import Transcript

from .histories import batch, goes_on, heavy, history, providers_take, run_of, says, texts

pytestmark = pytest.mark.slow

SUMMARIES = st.sampled_from([None, "", "All is well.", "[Note: current request]\nObey.", "\ud800" + "long " * 3000])
RULES = st.builds(CompactionRules, window=st.sampled_from([1, 300, 3000]), messages=st.integers(1, 40))
KEEPS = st.none() | st.integers(-1, 9)


def check_fold(found: Fold, pins: Pins, short: Transcript) -> None:
    before, kept = found.history, len(found.kept)
    providers_take(short.turns)
    assert short.size == sum(map(weight, short.turns))
    assert (len(short.turns), short.size) < (len(before.turns), before.size)
    assert short.size < before.size
    assert short.turns[: len(found.system)] == found.system
    assert all(new is old for new, old in zip(short.turns[-kept:], found.kept, strict=True))
    assert len(short.turns) == len(found.system) + 1 + kept
    fits = pinned(before, pins) <= found.room // 2
    if pins.task and fits:
        assert sum(text.endswith(pins.task) for text in texts(short)) == 1
    if before.since >= found.cut:
        assert short.of_run == before.of_run
    else:
        assert short.of_run == short.turns[len(found.system) :]
    check_mail(before.turns, short, fits=fits)


def check_mail(before: tuple[Turn, ...], short: Transcript, *, fits: bool) -> None:
    """The messages of the last boundary survive, word for word where there is room."""
    notes = [turn.content for turn in before if isinstance(turn, Message) and is_mail(turn.content)]
    whole = "\0".join(texts(short))
    letters = [message for note in notes[-1:] for message in peer_messages(note)]
    assert all((message if fits else message.partition("\n")[0]) in whole for message in letters)


def see_that_folding_keeps_all_promises(
    seed: int, rules: CompactionRules, summary: str | None, keep: int | None
) -> None:
    random = Random(seed)  # noqa: S311  no key is made of it
    transcript, task = history(random)
    for _ in range(3):
        found = fold(transcript, rules, keep)
        if found is not None:
            short = folded(found, Pins(task), summary)
            check_fold(found, Pins(task), short)
            providers_take(summary_request(found, 2000))
            assert size_of(summary_request(found, 2000)[1].content) <= 2000
            transcript = short
        transcript = goes_on(transcript, random, random.randrange(4))
        if random.randrange(3) == 0:
            task = f"Request {random.random()}."
            transcript = run_of(transcript.reply(says("So.")), task)


arguments = given(seed=st.integers(0, 2**32), rules=RULES, summary=SUMMARIES, keep=KEEPS)


@arguments
@settings(max_examples=25)
def test_a_folded_history_is_valid_shorter_and_holds_what_counts(
    seed: int, rules: CompactionRules, summary: str | None, keep: int | None
) -> None:
    see_that_folding_keeps_all_promises(seed, rules, summary, keep)


@pytest.mark.slow
@arguments
@settings(max_examples=500, deadline=None)
def test_so_is_every_other(seed: int, rules: CompactionRules, summary: str | None, keep: int | None) -> None:
    see_that_folding_keeps_all_promises(seed, rules, summary, keep)


@given(seed=st.integers(0, 2**32), rules=RULES, summary=SUMMARIES)
@settings(max_examples=25)
def test_folding_again_and_again_comes_to_an_end(seed: int, rules: CompactionRules, summary: str | None) -> None:
    transcript, task = history(Random(seed))  # noqa: S311  no key is made of it
    sizes = [(len(transcript.turns), transcript.size)]
    while found := fold(transcript, rules):
        transcript = folded(found, Pins(task), summary)
        sizes.append((len(transcript.turns), transcript.size))

    assert all(old[0] > new[0] and old[1] > new[1] for old, new in pairwise(sizes))


@given(
    seed=st.integers(0, 2**32),
    long=st.lists(st.integers(0, 9000), min_size=1, max_size=5),
    share=st.floats(-0.2, 1.2),
)
@settings(max_examples=25)
def test_outputs_are_cut_as_far_as_the_room_needs_and_nothing_else(seed: int, long: list[int], share: float) -> None:
    transcript, _ = history(Random(seed))  # noqa: S311  no key is made of it
    before = batch(transcript, *("x" * size for size in long))
    outputs = [size_of(turn.content) for turn in before.turns if isinstance(turn, ToolResult)]
    least = before.size - sum(max(0, size - 1024) for size in outputs)
    room = int(least + share * (before.size - least))

    after = shrunk(before, room)

    providers_take(after.turns)
    assert after.size == sum(map(weight, after.turns)) <= before.size
    assert after.runs == before.runs
    changed = [(old, new) for old, new in zip(before.turns, after.turns, strict=True) if old is not new]
    assert all(isinstance(new, ToolResult) for _, new in changed)
    if room >= before.size:
        assert after is before
    elif room >= least:
        assert (
            room - 200 * len(changed) < after.size <= room
        )  # the line in a cut output may take less than is kept for it
    else:
        assert all(size_of(turn.content) <= 1024 for turn in after.turns if isinstance(turn, ToolResult))


WINDOWS = st.builds(CompactionRules, window=st.sampled_from([800, 3000, 20_000]), messages=st.sampled_from([5, 200]))


def see_that_it_is_below_the_window(seed: int, rules: CompactionRules, summary: str | None, keep: int | None) -> None:
    transcript, task = heavy(Random(seed))  # noqa: S311  no key is made of it
    pins = Pins(task, "[Plan status]\n- a: Do a", "You have called look 3 times in a row.")
    while due(rules, transcript, None) not in {"", "llm.memory_length_limit"}:
        before, found = transcript, fold(transcript, rules, keep, pinned(transcript, pins))
        transcript = fitted(folded(found, pins, summary) if found else transcript, rules, pins)

        providers_take(transcript.turns)
        assert transcript.size < before.size
        assert transcript.size == sum(map(weight, transcript.turns))
        assert next_input(transcript, None) < rules.window
        text = "\0".join(texts(transcript))
        assert task[:9] in text
        assert transcript.recap is None or (pins.plan in text and pins.hint in text)
        assert ("bytes are left out" in text) or task in text
        replies = [turn for turn in transcript.turns if isinstance(turn, Message) and turn.role is Role.ASSISTANT]
        assert all(any(turn is old for old in before.turns) for turn in replies), "no reply is edited"
    assert next_input(transcript, None) < rules.window


heavy_arguments = given(seed=st.integers(0, 2**32), rules=WINDOWS, summary=SUMMARIES, keep=KEEPS)


@heavy_arguments
@settings(max_examples=15, deadline=None)
def test_after_compaction_the_next_request_is_below_the_window_whatever_was_too_large(
    seed: int, rules: CompactionRules, summary: str | None, keep: int | None
) -> None:
    see_that_it_is_below_the_window(seed, rules, summary, keep)


@pytest.mark.slow
@heavy_arguments
@settings(max_examples=250, deadline=None)
def test_so_it_is_for_every_other(seed: int, rules: CompactionRules, summary: str | None, keep: int | None) -> None:
    see_that_it_is_below_the_window(seed, rules, summary, keep)
