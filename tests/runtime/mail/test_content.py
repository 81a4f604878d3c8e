"""Which messages say the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.runtime.mail.content import content_digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("Thank you!", "  thank   you.\n", id="case, space, punctuation"),
        pytest.param("**Done**: see `x`", "done see x", id="markup"),
        pytest.param("caf\u00e9", "cafe\u0301", id="unicode form"),
        pytest.param("\uff21\uff22", "ab", id="width"),
        pytest.param("\u201cyes\u201d", '"Yes"', id="quotes"),
    ],
)
def test_what_differs_only_in_how_it_is_written_is_the_same(one: str, other: str) -> None:
    assert content_digest(one) == content_digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("report 17: ok", "report 18: ok", id="number"),
        pytest.param("x is 5", "x is -5", id="sign"),
        pytest.param("it is 3.14", "it is 31.4", id="point in a number"),
        pytest.param("a < b", "a > b", id="relation"),
        pytest.param("cat bites dog", "dog bites cat", id="order"),
        pytest.param("?", "!", id="nothing but punctuation"),
        pytest.param("\U0001f44d", "\U0001f44e", id="emoji"),
        pytest.param("", "ok", id="nothing"),
    ],
)
def test_what_differs_in_anything_else_is_not(one: str, other: str) -> None:
    assert content_digest(one) != content_digest(other)


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_has_a_digest_which_spaces_around_words_do_not_change(text: str) -> None:
    found = content_digest(text)
    assert len(found) == 16
    assert content_digest(f" {text.replace(' ', '  ')}\n") == found
