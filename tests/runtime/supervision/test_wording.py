"""What the Supervisor says of an account that is short."""

import pytest

from amrita_fleet.protocols.amounts import ZERO, Amount
from amrita_fleet.protocols.limits import Limits, Unit
from amrita_fleet.runtime.supervision.account import Account
from amrita_fleet.runtime.supervision.ledger import Short
from amrita_fleet.runtime.supervision.wording import shortage

NEEDS = "This call needs at least 200 tokens. Of the 100 that 'f' may spend, "


@pytest.mark.parametrize("nothing", [ZERO, Amount()], ids=["shared", "read from a record"])
def test_each_number_is_named_also_where_it_is_nothing_but_carved_limits_only_where_there_are_any(
    nothing: Amount,
) -> None:
    account = Account(("f",), Limits(tokens=100), settled=nothing, reserved=nothing, carved=nothing)
    said = shortage(Short(account, Unit.TOKENS, Amount(tokens=200)))
    assert said == f"{NEEDS}0 are spent, 0 are held by calls in flight and 5 are kept for last answers."


def test_what_is_carved_is_named() -> None:
    account = Account(("f",), Limits(tokens=100), carved=Amount(tokens=40))
    said = shortage(Short(account, Unit.TOKENS, Amount(tokens=200)))
    assert said == (
        f"{NEEDS}0 are spent, 0 are held by calls in flight, 40 are set aside for carved limits "
        "and 5 are kept for last answers."
    )
