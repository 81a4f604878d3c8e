"""A Supervisor's record of the version that counted tokens alone is read, and goes on.

`tokens_only.txt` was written by that version: a fleet of 5,000 tokens with ana, who has 700, and bob. Ana's three calls
are counted, unknown and estimated. Bob's first is open in the snapshot and comes to 50 more than was reserved, his
second is open at the end. Then the fleet is begun again, with 4,000.
"""

from base64 import b64decode
from pathlib import Path

import pytest

from amrita_fleet.protocols.amounts import Amount
from amrita_fleet.protocols.checkin import Proceed, Settlement
from amrita_fleet.protocols.limits import Limits
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.supervision.commands import Newcomer

from .asked import ANA, BOB, Process, check_in

pytestmark = pytest.mark.anyio

LINES = [line.split() for line in (Path(__file__).parent / "tokens_only.txt").read_text().splitlines()]


async def opened(*kinds: str) -> Process:
    """A Supervisor that goes on with those records that are of these kinds."""
    clock = VirtualClock(2_000.0)
    journal = MemoryJournal(clock=clock)
    await journal.open("f/ledger", 1)
    kept = [(kind, b64decode(data)) for kind, data in LINES if kind in kinds]
    for number, (kind, data) in enumerate(kept, start=1):
        await journal.append("f/ledger", 1, number, (data,), snapshot=kind == "snapshot")
    return await Process(journal, clock).open()


def tokens(process: Process) -> dict[str, tuple[int, ...]]:
    return {
        account.name: (
            account.settled.tokens,
            account.reserved.tokens,
            account.overshoot.tokens,
            account.unknown.tokens,
        )
        for account in process.supervisor.accounts()
    }


@pytest.mark.parametrize("kinds", [("command",), ("command", "snapshot")], ids=["commands alone", "a snapshot"])
async def test_the_sums_and_the_limits_are_those_that_were_written(kinds: tuple[str, ...]) -> None:
    process = await opened(*kinds)
    assert tokens(process) == {"f": (510, 150, 50, 150), "ana": (360, 0, 0, 150), "bob": (150, 150, 50, 0)}
    assert [account.limit for account in process.supervisor.accounts()] == [
        Limits(tokens=4_000),
        Limits(tokens=700),
        None,
    ]
    assert process.supervisor.find(ANA).limit == 700


async def test_it_goes_on_in_more_than_tokens() -> None:
    process = await opened("command", "snapshot")
    supervisor = process.supervisor
    late = check_in(BOB, supervisor.find(BOB).incarnation, 2)
    supervisor.settle(Settlement(BOB, late.incarnation, late.reservation, 140, nanodollars=7))
    whole = supervisor.accounts()[0]
    assert (whole.reserved, whole.overshoot.model_calls) == (Amount(), 0), "a call is none too many"
    assert whole.settled.tokens == 650
    supervisor.settle(Settlement(ANA, late.incarnation, "ana/1/2", 100))
    assert supervisor.accounts()[0].overshoot.model_calls == 0

    supervisor.died(ANA, supervisor.find(ANA).incarnation, "gone")
    (life,) = supervisor.admit_all([Newcomer(ANA, None, Limits(tokens=700))], 1)
    supervisor.limit(ANA, Limits(tokens=900, model_calls=9))
    assert isinstance(supervisor.check_in(check_in(ANA, life, 1, 100, 50)), Proceed)
    await process.log.written()
    again = await Process(process.journal, process.clock).open()
    assert again.state() == process.state()
