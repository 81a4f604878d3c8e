"""Agents on Ray race for the tokens of a fleet, over HTTP, and are killed in mid-call: the limit is not passed."""

import asyncio
from pathlib import Path
from random import Random

import pytest

from amrita_fleet import Agent, ChannelClosed, Fleet, NameTaken, PeerUnreachable, create_agent
from amrita_fleet.protocols.amounts import ZERO
from amrita_fleet.protocols.outcome import Limit
from amrita_fleet.runtime.fleet import AgentRef
from amrita_fleet.runtime.simulator.faults import Faults
from amrita_fleet.runtime.simulator.scenario import parse_scenario
from amrita_fleet.runtime.simulator.server import Simulator

from .steady import kill

pytestmark = [pytest.mark.anyio, pytest.mark.ray, pytest.mark.slow, pytest.mark.usefixtures("ray_cluster")]

NAMES = tuple(f"a{number}" for number in range(8))
LIMIT = 60_000
KILLS = 4
RULES = [
    {"when": {"no_tools": True}, "say": "All that I have. " * 20},
    {"when": {"rounds": 0, "user": "Begin"}, "calls": [{"name": "list_peers"}]},
    {
        "when": {"rounds": 1, "user": "tell (?P<peer>[a-z0-9]+)"},
        "calls": [{"name": "send_message", "arguments": {"to": "{peer}", "body": "Go on, {peer}."}}],
    },
    {"say": "So much has been said. " * 40},
]
SCENARIO = parse_scenario("race", {"models": ["racer"], "rules": RULES})


class Race:
    """One fleet that spends its limit, and what becomes of its agents meanwhile.

    Attributes:
        again: Dead agents are restarted by the fleet itself, as it has a journal.
        over: Agents that may spend no more.
    """

    def __init__(self, fleet: Fleet, simulator: Simulator, seed: int, *, again: bool) -> None:
        self.fleet = fleet
        self.simulator = simulator
        self.random = Random(seed)  # noqa: S311  no key is made of it
        self.again = again
        self.over = set[str]()
        self.agent: Agent = create_agent(
            base_url=simulator.base_url, model="racer", model_config={"max_tokens": 320}, memory="run"
        )

    async def run(self) -> None:
        agents = await self.fleet.spawn(self.agent, NAMES)
        async with asyncio.TaskGroup() as tasks:
            work = [tasks.create_task(self.work(agent)) for agent in agents]
            looking = tasks.create_task(self.look_on())
            tasks.create_task(self.reap())
            await asyncio.gather(*work)
            looking.cancel()

    async def work(self, agent: AgentRef) -> None:
        """Begin one run after the other, until the agent may spend no more."""
        while agent.name not in self.over:
            try:
                outcome = await agent.run(f"Begin, then tell {self.random.choice(NAMES)}.")
            except (ChannelClosed, PeerUnreachable):  # it was killed, or mail has had it spend the rest
                rows = {str(row.agent): row.phase for row in await self.fleet.statuses()}
                if rows[agent.name] == "stopped":
                    self.over.add(agent.name)
                elif rows[agent.name] == "dead":
                    await self.begin_anew(agent)
                await asyncio.sleep(0.1)
            else:
                if outcome.limit is Limit.FLEET_TOKENS:
                    self.over.add(agent.name)

    async def begin_anew(self, agent: AgentRef) -> None:
        assert not self.again
        try:
            await self.fleet.spawn(self.agent, [agent.name])
        except NameTaken:
            return

    async def reap(self) -> None:
        """Kill agents in mid-call, and in some races the Supervisor too."""
        victims = self.random.sample(NAMES, KILLS)
        for victim in victims:
            await asyncio.sleep(self.random.uniform(0.0, 0.5))
            if await self.calls(victim):
                kill(self.fleet, f"agent:{victim}")
        if self.again:
            kill(self.fleet, "supervisor")

    async def calls(self, name: str) -> bool:
        """Wait until an agent is in a model call; False: it will make no more."""
        while name not in self.over:
            rows = {str(row.agent): row.phase for row in await self.fleet.statuses()}
            if rows[name] == "thinking":
                return True
            await asyncio.sleep(0.02)
        return False

    async def look_on(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(0.1)

    async def look(self) -> tuple[int, int]:
        """What the provider has counted is set aside or spent, and that is within the limit; gives both."""
        answered = self.simulator.totals.answered
        counted = answered.prompt_tokens + answered.completion_tokens
        total, *_ = await self.fleet.accounts()
        held = (total.settled + total.reserved).tokens
        assert counted <= held <= LIMIT, (counted, total)
        assert total.overshoot == ZERO
        return counted, held


@pytest.mark.timeout(240)
@pytest.mark.parametrize("seed", range(5))
async def test_a_race_on_a_cluster_does_not_pass_the_limit(seed: int, tmp_path: Path) -> None:
    again = seed % 2 == 0
    faults = Faults(latency=0.05, spread=0.4, busy_every=23, retry_after=0.3)
    journal = tmp_path / "journal.sqlite" if again else None
    async with Simulator(scenarios=[SCENARIO], faults=faults) as simulator:
        async with Fleet(limit=LIMIT, journal=journal) as fleet:
            race = Race(fleet, simulator, seed, again=again)
            await race.run()
            counted, held = await race.look()
            lives = sum(row.incarnation - 1 for row in await fleet.statuses())
        totals = simulator.totals
    print(
        f"seed {seed}: {counted:,} counted of {LIMIT:,}, {held:,} spent; {totals.refused} refused, {lives} lives more"
    )
    assert lives >= 1
    assert totals.refused >= 1
    assert held >= 0.9 * LIMIT
