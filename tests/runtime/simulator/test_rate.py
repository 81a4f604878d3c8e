"""A provider that lets in only so many requests a second, and takes its time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.runtime.simulator.errors import Refused
from amrita_fleet.runtime.simulator.faults import Faults
from amrita_fleet.runtime.simulator.openai_words import OPENAI
from amrita_fleet.runtime.simulator.provider import SimulatedProvider
from amrita_fleet.runtime.simulator.rate import RateLimit


@given(st.integers(1, 5), st.lists(st.floats(0, 2), max_size=40))
def test_within_any_second_no_more_are_let_in_and_who_comes_when_told_is(rate: int, pauses: list[float]) -> None:
    limit, now, let_in = RateLimit(rate), 0.0, list[float]()
    for pause in pauses:
        now += pause
        if after := limit.take(now):
            assert sum(at > now - 1.0 - 1e-9 for at in let_in) >= rate
            now += after
            assert limit.take(now) == 0.0
        let_in.append(now)
    for first, beyond in zip(let_in, let_in[rate:], strict=False):
        assert beyond - first >= 1.0 - 1e-9


def test_without_a_rate_everybody_is_let_in() -> None:
    limit = RateLimit(0)
    assert not any(limit.take(0.0) for _ in range(100))


def test_a_provider_refuses_what_is_too_much_and_says_when_to_come_again() -> None:
    now = [10.0]
    provider = SimulatedProvider((), faults=Faults(rate=2), now=lambda: now[0])
    provider.admit(provider.count(), "", OPENAI)
    now[0] += 0.25
    provider.admit(provider.count(), "", OPENAI)
    now[0] += 0.25
    with pytest.raises(Refused) as refused:
        provider.admit(provider.count(), "", OPENAI)
    assert (refused.value.status, refused.value.after) == (429, 0.5)
    now[0] += 0.5
    provider.admit(provider.count(), "", OPENAI)


def test_answers_take_longer_and_shorter_within_the_bounds() -> None:
    faults = Faults(latency=0.2, spread=1.0)
    delays = [faults.delay(number) for number in range(1, 101)]
    assert all(0.2 <= delay <= 1.2 for delay in delays)
    assert all(20 <= sum(low <= delay < low + 0.25 for delay in delays) <= 30 for low in (0.2, 0.45, 0.7, 0.95))
