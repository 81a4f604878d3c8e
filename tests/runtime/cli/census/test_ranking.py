"""The most frequent words from short lists."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.runtime.cli.census.ranking import WordList, most_frequent, ranking

pytestmark = pytest.mark.slow

PARTS = st.lists(st.dictionaries(st.sampled_from("abcdefghij"), st.integers(1, 9)), min_size=1, max_size=5)


def whole(parts: list[dict[str, int]]) -> list[tuple[str, int]]:
    """The true ranking."""
    words: Counter[str] = Counter()
    for part in parts:
        words.update(part)
    return [(word, words[word]) for word in ranking(words)]


@given(PARTS, st.integers(1, 10), st.integers(1, 10))
def test_what_is_told_is_always_the_beginning_of_the_true_ranking(
    parts: list[dict[str, int]], listed: int, top: int
) -> None:
    told = list(most_frequent([WordList.of(part, listed) for part in parts], top).items())
    assert told == whole(parts)[: len(told)]


@given(PARTS, st.integers(1, 10))
def test_lists_that_leave_nothing_out_give_the_whole_ranking(parts: list[dict[str, int]], top: int) -> None:
    told = list(most_frequent([WordList.of(part, 10) for part in parts], top).items())
    assert told == whole(parts)[:top]


def test_a_list_says_how_often_a_word_that_it_leaves_out_can_stand_there() -> None:
    assert WordList.of({"a": 5, "b": 3, "c": 2}, 2) == WordList({"a": 5, "b": 3}, others_at_most=2)


def test_a_word_that_a_list_leaves_out_is_not_certain() -> None:
    lists = [WordList({"the": 9, "a": 5}, 1), WordList({"the": 9}, 2)]
    assert most_frequent(lists) == {"the": 18}
