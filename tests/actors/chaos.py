"""Four agents write to each other while calls between processes get lost. Run with a journal and a count.

Every process but this one loses calls: some never arrive, of others the answer does not. Prints what each agent has
consumed, as JSON: how many messages its mailbox counted, each sender's in the order they were first heard of, and how
many were heard of again.
"""

import asyncio
import json
import os
import sys
from typing import Any, cast

from ray.cluster_utils import Cluster

from amrita_fleet import Agent, Fleet, Tool, ToolContext, tool
from amrita_fleet.protocols.ids import AgentId
from amrita_fleet.protocols.providers.scripted import call, repeat, say, scripted

FAILURES = "RAY_testing_rpc_failure"
"""What Ray reads in the environment: which calls get lost."""

NAMES = ("ana", "bob", "cyd", "dan")


def flood(count: int) -> Tool:
    """A tool that sends so many messages to everybody else, all at once."""

    @tool
    async def flood(context: ToolContext) -> str:
        """Write to all."""
        others = [name for name in NAMES if name != context.agent]
        letters = [context.channel.send(AgentId(to), f"letter {number}") for number in range(count) for to in others]
        receipts = await asyncio.gather(*letters)
        return ", ".join(sorted({receipt.state.value for receipt in receipts}))

    return flood


async def main(journal: str, count: int, address: str) -> None:
    async with Fleet("chaos", address=address, journal=journal) as fleet:
        kind = Agent(preset=scripted(call("flood"), repeat(say("read"))), tools=(flood(count),))
        agents = await fleet.spawn(kind, NAMES)
        for agent in agents:
            await agent.start("write")
        expected = count * (len(NAMES) - 1)
        async for _ in fleet.notices():
            if all(row.consumed >= expected and row.phase == "idle" for row in await fleet.statuses()):
                break
        heard: dict[str, dict[str, list[str]]] = {name: {} for name in NAMES}
        again = 0
        newest = (await fleet.notices(-1).__anext__()).number
        async for notice in fleet.notices():
            if notice.extra_type == "consumed":
                sender, _, body = notice.text.removeprefix("from ").partition(": ")
                letters = heard[notice.agent].setdefault(sender, [])
                if body in letters:  # a report whose answer was lost comes a second time
                    again += 1
                else:
                    letters.append(body)
            if notice.number >= newest:
                break
        consumed = {row.agent: row.consumed for row in await fleet.statuses()}
        print(json.dumps({"consumed": consumed, "heard": heard, "again": again}))


if __name__ == "__main__":
    cluster = cast("Any", Cluster)(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    del os.environ[FAILURES]
    try:
        asyncio.run(main(sys.argv[1], int(sys.argv[2]), str(cluster.address)))
    finally:
        cluster.shutdown()
