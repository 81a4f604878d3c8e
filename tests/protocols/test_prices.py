"""What a model's tokens cost."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet import ModelPreset, PresetInvalid, Price
from amrita_fleet.protocols.codec import decode, encode
from amrita_fleet.protocols.messages import Usage
from amrita_fleet.protocols.prices import Rates

GIVEN: dict[str, Any] = {"prompt": 3.0, "output": 15.0, "as_of": "2026-11-01"}
PRICE = Price(prompt=3.0, output=15.0, cached=0.3, cache_write=3.75, as_of="2026-11-01")
prices = st.floats(0, 1_000).map(lambda price: round(price, 4))
counts = st.integers(0, 10**7)


def test_each_class_of_tokens_costs_its_price_as_far_as_the_usage_tells_them_apart() -> None:
    usage = Usage(prompt=10_000, completion=100, cached=6_000, written=1_000)
    assert PRICE.cost(usage) == 3_000 * 3_000 + 6_000 * 300 + 1_000 * 3_750 + 100 * 15_000
    assert PRICE.cost(Usage(10_000, 100)) == 10_000 * 3_000 + 100 * 15_000
    plain = Price(prompt=3.0, output=15.0, as_of="2026-11-01")
    assert plain.cost(usage) == plain.cost(Usage(10_000, 100))


def test_a_price_of_a_fraction_of_a_cent_is_exact_and_sums_are_rounded_up() -> None:
    tiny = Price(prompt=0.0375, output=0.15, as_of="2026-11-01")
    assert tiny.cost(Usage(1, 0)) == 38
    assert tiny.cost(Usage(1_000_000, 0)) == 37_500_000


def test_a_call_is_reserved_at_the_dearest_class() -> None:
    assert PRICE.rates == Rates(prompt=3_750_000, output=15_000_000)


@given(
    asked=st.tuples(prices, prices, st.none() | prices, st.none() | prices),
    prompt=counts,
    output=counts,
    data=st.data(),
)
def test_no_call_costs_more_than_its_rates_say(
    asked: tuple[float, float, float | None, float | None], prompt: int, output: int, data: st.DataObject
) -> None:
    plain, out, cached, write = asked
    price = Price(prompt=plain, output=out, cached=cached, cache_write=write, as_of="2026-11-01")
    read = data.draw(st.integers(0, prompt))
    written = data.draw(st.integers(0, prompt - read))
    assert price.cost(Usage(prompt, output, read, written=written)) <= price.rates.cost(prompt, output)


@given(rates=st.builds(Rates, counts, counts), prompt=counts, money=st.integers(0, 10**12))
def test_what_is_affordable_fits_and_one_token_more_does_not(rates: Rates, prompt: int, money: int) -> None:
    output = rates.affordable(prompt, money)
    if output is None:
        assert rates.output == 0
    elif output >= 0:
        assert rates.cost(prompt, output) <= money < rates.cost(prompt, output + 1)
    else:
        assert rates.cost(prompt, 0) > money


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"prompt": -1.0}, "Price.prompt must be dollars for a million tokens, from 0 to 1,000,000, not -1.0"),
        ({"prompt": 1e300}, "Price.prompt must be dollars for a million tokens, from 0 to 1,000,000, not 1e\\+300"),
        ({"output": "3"}, "Price.output must be dollars"),
        ({"prompt": None}, "Price.prompt must be dollars"),
        ({"cached": float("nan")}, "Price.cached must be dollars"),
        ({"cache_write": float("inf")}, "Price.cache_write must be dollars"),
        ({"output": True}, "Price.output must be dollars"),
        ({"as_of": "yesterday"}, "Price.as_of must be the day of the price, as in '2026-11-01', not 'yesterday'"),
        ({"as_of": "2026-02-31"}, "Price.as_of must be the day of the price"),
        ({"as_of": "\u0662\u0660\u0662\u0666-11-01"}, "Price.as_of must be the day of the price"),
        ({"as_of": 2026}, "Price.as_of must be the day"),
        ({"promt": 3}, "did you mean 'prompt'"),
    ],
)
def test_what_is_no_price_is_refused(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PresetInvalid, match=sentence):
        Price(**GIVEN | fields)


def test_what_the_dearest_model_costs_for_a_count_that_is_a_mistake_can_still_be_written_down() -> None:
    dearest = Price(prompt=1_000_000, output=1_000_000, as_of="2026-11-01")
    assert dearest.cost(Usage(1_000_000, 0)) == 10**15
    assert dearest.cost(Usage(10**12, 10**12)) == 10**15
    assert decode(encode(dearest.rates), Rates) == dearest.rates


def test_a_preset_takes_a_price_and_nothing_else_for_one() -> None:
    assert ModelPreset(model="m", base_url="http://h/v1", price=PRICE).price is PRICE
    with pytest.raises(PresetInvalid, match=r"price must be a Price, not 3: use Price\(prompt="):
        ModelPreset(model="m", base_url="http://h/v1", price=3)  # type: ignore[arg-type]
    given = {"model": "m", "base_url": "http://h/v1", "price": {"prompt": 1, "output": 2, "as_of": "2026-11-01"}}
    assert ModelPreset.parse(given).price == Price(prompt=1, output=2, as_of="2026-11-01")
