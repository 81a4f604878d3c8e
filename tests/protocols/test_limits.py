"""What may be spent."""

from typing import Any

import pytest

from amrita_fleet import Limits, PresetInvalid, TokenLimit
from amrita_fleet.protocols.amounts import ZERO, Amount
from amrita_fleet.protocols.codec import decode, encode
from amrita_fleet.protocols.errors import DecodeError
from amrita_fleet.protocols.limits import UNLIMITED, dollars, limit_of


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, r"must limit something: give tokens=\.\.\., dollars="),
        ({"carved": True}, "must limit something"),
        ({"tokens": 0}, "Limits.tokens must be at least 1"),
        ({"model_calls": 1.5}, "Limits.model_calls must be whole, not 1.5"),
        ({"tool_calls": True}, "Limits.tool_calls must be whole, not True"),
        ({"dollars": 0}, "Limits.dollars must be a number above 0, not 0"),
        ({"dollars": "2"}, "Limits.dollars must be a number above 0"),
        ({"dollars": 1e-10}, r"Limits.dollars must be from \$0.000000001 to \$1,000,000, not 1e-10"),
        ({"dollars": 1e20}, r"Limits.dollars must be from \$0.000000001 to \$1,000,000, not 1e\+20"),
        ({"tokens": 2**64}, "Limits.tokens must be at most 1,000,000,000,000,000"),
        ({"model_calls": 10**15 + 1}, "Limits.model_calls must be at most 1,000,000,000,000,000"),
        ({"seconds": float("inf")}, "Limits.seconds must be a number above 0"),
        ({"seconds": float("nan")}, "Limits.seconds must be a number above 0"),
        (
            {"tokens": 5, "on_exhaustion": "die"},
            "on_exhaustion must be 'wind_down' or 'ask' or 'pause' or 'stop', not 'die'",
        ),
        ({"tokens": 5, "carved": 1}, "Limits.carved must be True or False, not 1"),
        ({"dollar": 5}, "did you mean 'dollars'"),
    ],
)
def test_what_limits_nothing_or_cannot_is_refused(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PresetInvalid, match=sentence):
        Limits(**fields)


def test_what_is_not_limited_is_more_than_anybody_asks_for() -> None:
    limits = Limits(dollars=0.1, model_calls=40)
    assert limits.most == Amount(UNLIMITED, 100_000_000, 40, UNLIMITED)
    assert limits.limited == (False, True, True, False)


@pytest.mark.parametrize(
    ("limits", "pool"),
    [
        (Limits(tokens=1_019), Amount(50)),
        (Limits(dollars=2), Amount(0, 100_000_000)),
        (Limits(model_calls=1), ZERO),
        (Limits(model_calls=2), Amount(model_calls=1)),
        (Limits(model_calls=41), Amount(model_calls=3)),
        (Limits(tool_calls=1_000, seconds=60), ZERO),
    ],
    ids=str,
)
def test_a_twentieth_is_kept_for_last_answers(limits: Limits, pool: Amount) -> None:
    assert limits.pool == pool


def test_the_least_and_the_largest_limit_can_be_written_down() -> None:
    for limits in (Limits(tokens=10**15, dollars=10**6), Limits(tool_calls=1, dollars=1e-9)):
        assert decode(encode(limits), Limits) == limits
        assert decode(encode(limits.most), Amount) == limits.most
        assert min(limits.most.parts) >= 1


def test_a_number_is_one_of_tokens() -> None:
    given = limit_of(500)
    assert isinstance(given, TokenLimit)
    assert given.plain == Limits(tokens=500)
    assert limit_of(None) is None
    assert limit_of(Limits(dollars=1)) == Limits(dollars=1)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(tokens=200_000, dollars=2), "200,000 tokens, $2.00"),
        (Limits(model_calls=1, tool_calls=20, seconds=1.5), "1 model call, 20 tool calls, 1.5 seconds"),
    ],
)
def test_limits_are_shown_as_people_write_them(limits: Limits, words: str) -> None:
    assert str(limits) == words


@pytest.mark.parametrize(
    ("money", "shown"),
    [(0, "$0.00"), (1234.5, "$1,234.50"), (0.05, "$0.05"), (0.012_345_67, "$0.01235"), (0.000_004_5, "$0.0000045")],
)
def test_small_sums_show_what_there_is_of_them(money: float, shown: str) -> None:
    assert dollars(money) == shown


def test_what_an_older_version_wrote_as_a_number_is_read_as_tokens() -> None:
    assert decode(encode(700), Limits) == Limits(tokens=700)
    assert decode(encode(700), Amount) == Amount(tokens=700)
    assert decode(encode(Limits(dollars=1)), Limits) == Limits(dollars=1)
    for wrong in ("700", 1.5, True, {"tokens": 700}, 0):
        with pytest.raises(DecodeError):
            decode(encode(wrong), Limits)
