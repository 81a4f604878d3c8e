"""Tokens of a Step, and a bound that no provider's count may pass."""

import json
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.runtime.step.budget import Counted, TokenBudget, request_bound, text_bound

TEXTS = st.text(max_size=40) | st.text("ﷺﷲ½①éé가각 a", max_size=40)
FRAGMENTS = st.lists(TEXTS.map(lambda text: json.dumps({"content": text}, ensure_ascii=False).encode()), max_size=6)
HEADS = TEXTS.map(lambda text: b'{"model":%b,"messages":[' % json.dumps(text, ensure_ascii=False).encode())


def most_tokens(form: str, text: str) -> int:
    """The count of the worst tokenizer there is: it normalises, then takes each byte for a token."""
    return len((normalize(form, text) if form else text).encode())  # type: ignore[arg-type]


@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"])), form=st.sampled_from(["", "NFC", "NFKC"]))
def test_no_tokenizer_counts_more_tokens_than_the_bound_of_a_text(text: str, form: str) -> None:
    assert most_tokens(form, text) <= text_bound(text.encode())


@given(head=HEADS, fragments=FRAGMENTS, hidden=st.integers(0, 2000), form=st.sampled_from(["", "NFC", "NFKC"]))
def test_no_provider_counts_more_tokens_than_the_bound_of_a_request(
    head: bytes, fragments: list[bytes], hidden: int, form: str
) -> None:
    body = head + b",".join(fragments)

    count = hidden + most_tokens(form, body.decode())

    assert count <= request_bound(head, tuple(fragments), hidden, None)


@given(head=HEADS, fragments=FRAGMENTS, known=st.integers(0, 6), hidden=st.integers(0, 2000))
def test_what_was_counted_before_stands_for_its_part(
    head: bytes, fragments: list[bytes], known: int, hidden: int
) -> None:
    before = tuple(fragments[:known])
    prompt = hidden + sum(map(len, before)) // 3
    counted = Counted(head, before, prompt)

    bound = request_bound(head, tuple(fragments), hidden, counted)

    later = b"".join(b"," + each for each in fragments[known:])
    assert prompt + most_tokens("NFKC", later.decode()) <= bound
    assert bound <= request_bound(head, tuple(fragments), hidden, None)


@pytest.mark.parametrize(
    ("head", "fragments"),
    [(b"other", (b"a", b"b")), (b"head", (b"b",)), (b"head", ())],
    ids=["another head", "another beginning", "shorter"],
)
def test_a_count_of_another_request_does_not_stand(head: bytes, fragments: tuple[bytes, ...]) -> None:
    counted = Counted(b"head", (b"a",), 1)

    assert request_bound(head, fragments, 7, counted) == request_bound(head, fragments, 7, None)


def test_a_letter_that_unfolds_when_normalised_is_charged_for_all_of_it() -> None:
    assert text_bound("ﷺ".encode()) == 33


def test_bytes_that_are_no_utf8_have_a_bound_all_the_same() -> None:
    assert text_bound(b"\xff\xfe") >= 2


@given(limit=st.integers(0, 100), spent=st.lists(st.integers(0, 50), max_size=10))
def test_a_step_is_exhausted_when_it_has_used_its_limit(limit: int, spent: list[int]) -> None:
    budget = TokenBudget(limit)
    for tokens in spent:
        budget = budget.spend(tokens)

    assert budget.exhausted == (sum(spent) >= limit)


def test_without_a_limit_a_step_is_never_exhausted() -> None:
    assert not TokenBudget().spend(10**9).exhausted
