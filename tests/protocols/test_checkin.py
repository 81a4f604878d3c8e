"""What an attempt came to, as the gate is told."""

import msgpack
import pytest

from amrita_fleet.protocols.checkin import AttemptResult, Settlement
from amrita_fleet.protocols.codec import VERSION, decode, encode
from amrita_fleet.protocols.errors import (
    ContextOverflow,
    ProviderBusy,
    ProviderError,
    ProviderOverloaded,
    ProviderUnreachable,
    QuotaSpent,
    StreamBroken,
)
from amrita_fleet.protocols.ids import AgentId, Incarnation


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (ProviderBusy(sentence="x", status=429), AttemptResult.BUSY),
        (ProviderBusy(sentence="x"), AttemptResult.BUSY),
        (ProviderOverloaded(sentence="x", status=529), AttemptResult.OVERLOADED),
        (ProviderOverloaded(sentence="x", status=503), AttemptResult.OVERLOADED),
        (ProviderOverloaded(sentence="x", status=500), AttemptResult.FAILED),
        (ProviderOverloaded(sentence="x", status=500, after=2.0), AttemptResult.OVERLOADED),
        (ProviderUnreachable(sentence="x", after=2.0), AttemptResult.FAILED),
        (StreamBroken(sentence="x"), AttemptResult.FAILED),
        (QuotaSpent(sentence="x", status=429), AttemptResult.FAILED),
        (ContextOverflow(sentence="x", status=400), AttemptResult.FAILED),
    ],
    ids=repr,
)
def test_only_too_much_to_do_holds_up_other_calls(error: ProviderError, result: AttemptResult) -> None:
    assert AttemptResult.of(error) is result
    assert result.throttled == (result in {AttemptResult.BUSY, AttemptResult.OVERLOADED})


def test_a_settlement_that_says_how_it_went_comes_back_and_an_older_one_says_nothing() -> None:
    told = Settlement(AgentId("ana"), Incarnation(1), "ana/1/1", 10, result=AttemptResult.BUSY, after=2.0)
    assert decode(encode(told), Settlement) == told
    older = {"$": "Settlement", "agent": "ana", "incarnation": 1, "reservation": "ana/1/1", "tokens": 10}
    read = decode(bytes([VERSION]) + msgpack.packb(older), Settlement)
    assert read == Settlement(AgentId("ana"), Incarnation(1), "ana/1/1", 10)
    assert (read.result, read.after) == (AttemptResult.UNKNOWN, None)
