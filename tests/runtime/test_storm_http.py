"""The storm of refusals over HTTP and in real time: many agents, and a provider that lets in five requests a second."""

import asyncio
from collections import Counter

import pytest

from amrita_fleet import Fleet, create_agent
from amrita_fleet.runtime.fleet import AgentRef
from amrita_fleet.runtime.simulator.faults import Faults
from amrita_fleet.runtime.simulator.server import Simulator

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

AGENTS, TASKS, RATE = 32, 5, 5


@pytest.mark.timeout(240)
async def test_few_requests_are_sent_in_vain_nobody_starves_and_everybody_finishes() -> None:
    done = Counter[str]()
    fewest: list[int] = []

    async def work(agent: AgentRef) -> None:
        for _ in range(TASKS):
            assert (await agent.run("Are you there?")).answered
            done[agent.name] += 1
        fewest.append(min(done.values()))

    faults = Faults(latency=0.05, spread=0.4, rate=RATE)
    async with Simulator(faults=faults) as simulator, Fleet(system="local") as fleet:
        agents = await fleet.spawn(
            create_agent(base_url=simulator.base_url, model="simulated-doctor", memory="run"),
            names=[f"a{number}" for number in range(AGENTS)],
        )
        await asyncio.gather(*map(work, agents))
        totals = simulator.totals
    allowed = totals.answered.requests
    ratio = (allowed + totals.refused) / allowed
    print(f"{allowed} allowed, {totals.refused} refused, {ratio:.3f}; tasks done when the first had all: {fewest[0]}")
    assert allowed == AGENTS * TASKS
    assert ratio <= 1.3
    assert fewest[0] >= TASKS - 2, "first come, first served"
