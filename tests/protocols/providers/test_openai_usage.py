import pytest

from amrita_fleet.protocols.messages import Json, Usage
from amrita_fleet.protocols.providers.base import Draft
from amrita_fleet.protocols.providers.openai_usage import Counts

DRAFT = Draft((), b"x" * 90, (b"y" * 9, b"z"), b"")


@pytest.mark.parametrize(
    ("usage", "meant"),
    [
        pytest.param(
            {
                "prompt_tokens": 2008,
                "completion_tokens": 266,
                "total_tokens": 2274,
                "completion_tokens_details": {"reasoning_tokens": 261},
            },
            Usage(2008, 266, reasoning=261),
            id="reasoning inside the completion",
        ),
        pytest.param(
            {
                "prompt_tokens": 307,
                "completion_tokens": 26,
                "total_tokens": 560,
                "completion_tokens_details": {"reasoning_tokens": 227},
            },
            Usage(307, 253, reasoning=227),
            id="reasoning beside the completion",
        ),
        pytest.param(
            {"prompt_tokens": 35, "completion_tokens": 12, "total_tokens": 109}, Usage(35, 74), id="only in the total"
        ),
        pytest.param(
            {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 8}},
            Usage(10, 2, cached=8),
            id="cached as OpenAI says it",
        ),
        pytest.param(
            {"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 8},
            Usage(10, 2, cached=8),
            id="cached as DeepSeek says it",
        ),
        pytest.param(
            {"prompt_tokens": 10, "completion_tokens": 2, "cached_tokens": 8},
            Usage(10, 2, cached=8),
            id="cached as Kimi says it",
        ),
        pytest.param(
            {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": None, "x": [1]},
            Usage(10, 2),
            id="details that are null",
        ),
    ],
)
def test_counts_are_read_as_they_are_meant(usage: Json, meant: Usage) -> None:
    assert Counts.read(usage).usage(DRAFT, answer=100) == meant


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        [],
        "9",
        {"prompt_tokens": None},
        {"prompt_tokens": -3},
        {"prompt_tokens": True},
        {"prompt_tokens": "9"},
    ],
    ids=repr,
)
def test_without_a_count_both_sides_are_estimated_and_never_zero(usage: Json) -> None:
    estimate = Counts.read(usage).usage(DRAFT, answer=0)
    assert estimate.estimated
    assert (estimate.prompt, estimate.completion) == (100 // 3 + 1, 1)


def test_an_answer_that_was_written_cost_something() -> None:
    usage = Counts.read({"prompt_tokens": 10, "completion_tokens": 0}).usage(DRAFT, answer=30)
    assert usage == Usage(10, 11, estimated=True)


def test_an_empty_answer_may_have_cost_no_output() -> None:
    assert Counts.read({"prompt_tokens": 10, "completion_tokens": 0}).usage(DRAFT, answer=0) == Usage(10, 0)


def test_running_totals_are_not_added_up() -> None:
    first, last = Counts(prompt=100, completion=1, total=101), Counts(prompt=100, completion=2, total=102)
    assert first.merge(last).merge(last) == last
