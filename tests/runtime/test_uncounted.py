"""An answer that nobody has counted costs all that was set aside for it: an estimate could be too low."""

import pytest

from amrita_fleet import Fleet, create_agent
from amrita_fleet.runtime.simulator.server import Simulator

pytestmark = pytest.mark.anyio


async def test_an_answer_without_a_count_is_spent_in_full() -> None:
    async with Simulator() as simulator, Fleet(system="local", limit=50_000) as fleet:
        agent = create_agent(base_url=simulator.base_url, model="simulated-doctor+no-usage")
        (ana,) = await fleet.spawn(agent, names=["ana"])
        outcome = await ana.run("Are you there?")
        total, own = await fleet.accounts()
        counted = simulator.totals.answered
    assert outcome.answered
    assert own.settled.tokens == own.unknown.tokens == total.settled.tokens
    assert own.settled.tokens >= counted.prompt_tokens + counted.completion_tokens
