"""A tree of twenty agents on Ray is stopped while half of it is being spawned."""

import asyncio

import pytest

from amrita_fleet import ChannelClosed, Fleet, create_agent
from amrita_fleet.runtime.fleet import AgentRef
from amrita_fleet.runtime.simulator.faults import Faults
from amrita_fleet.runtime.simulator.server import Simulator
from amrita_fleet.runtime.system import Stopped

pytestmark = [pytest.mark.anyio, pytest.mark.ray, pytest.mark.slow, pytest.mark.usefixtures("ray_cluster")]

LEADS = [f"lead{number}" for number in range(4)]
LEAVES = [f"leaf{number}" for number in range(15)]
TASKS = 30
"""More than anybody is done with when the stop comes."""


class Tree:
    """The tree in a fleet.

    Attributes:
        half: Half of the leaves are there.
        held: Tokens that calls in flight held when the stop began.
    """

    def __init__(self, fleet: Fleet, base_url: str) -> None:
        self.fleet = fleet
        self.agent = create_agent(base_url=base_url, model="simulated-doctor", memory="run")
        self.half = asyncio.Event()
        self.held = 0

    async def stop(self) -> Stopped:
        await self.half.wait()
        self.held = (await self.fleet.accounts())[0].reserved.tokens
        return await self.fleet.stop("root", reason="enough")

    def progress(self, ready: int, _ordered: int) -> None:
        if ready == len(LEAVES) // 2:
            self.half.set()

    async def takes_no_task(self, agent: AgentRef) -> None:
        with pytest.raises(ChannelClosed, match="enough"):
            await agent.start("Are you there?")

    async def live(self) -> Stopped:
        """Spawn all, and stop them meanwhile; gives what came of that."""
        (root,) = await self.fleet.spawn(self.agent, ["root"])
        leads = await self.fleet.spawn(self.agent, LEADS, parent=root)
        runs = [await each.start("Are you there?") for each in (root, *leads) for _ in range(TASKS)]
        stopping = asyncio.create_task(self.stop())
        leaves = await self.fleet.spawn(self.agent, LEAVES, parent=leads[0], progress=self.progress)
        stopped = await stopping
        outcomes = [str(await run.outcome()) for run in runs]
        assert set(outcomes) == {"answered", "stopped"}
        assert outcomes[TASKS - 1 :: TASKS] == ["stopped"] * (1 + len(LEADS))
        for each in (root, *leads, *leaves):
            await self.takes_no_task(each)
        return stopped


@pytest.mark.timeout(240)
async def test_a_tree_is_stopped_while_half_of_it_is_being_spawned() -> None:
    async with Simulator(faults=Faults(latency=0.5, spread=0.5)) as simulator, Fleet() as fleet:
        tree = Tree(fleet, simulator.base_url)
        stopped = await tree.live()
        rows = await fleet.statuses()
        total, *_ = await fleet.accounts()
    print(f"{total.after_stop.tokens} tokens after the stop; {tree.held} were held by calls in flight; {stopped}")
    assert {*stopped.acknowledged, *stopped.silent} == {"root", *LEADS, *LEAVES}
    assert {"root", *LEADS} <= {*stopped.acknowledged}
    assert set(stopped.silent) < set(LEAVES), "those that had not come yet"
    assert [(row.phase, row.run, row.note) for row in rows] == [("stopped", None, "enough")] * 20
    assert 0 < total.after_stop.tokens <= tree.held
    assert total.reserved.tokens == 0
