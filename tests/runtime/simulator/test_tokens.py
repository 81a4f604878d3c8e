"""The count of tokens is a bound that no text breaks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.runtime.simulator import tokens

pytestmark = pytest.mark.slow


@given(st.text())
def test_a_text_has_at_most_as_many_tokens_as_bytes(text: str) -> None:
    assert tokens.count(text) <= len(text.encode("utf-8", "surrogatepass"))


@given(st.text(), st.integers(min_value=0, max_value=50))
def test_a_cut_text_is_a_beginning_with_as_many_tokens_as_fit(text: str, limit: int) -> None:
    cut = tokens.cut(text, limit)
    assert text.startswith(cut)
    assert tokens.count(cut) == min(limit, tokens.count(text))


def test_words_count_by_four_letters_and_marks_one_by_one() -> None:
    assert tokens.count('{"count": 12345}') == 9


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_is_counted_as_any_text_is(text: str) -> None:
    assert tokens.count(text) == tokens.count(f"{text} é") - 1
