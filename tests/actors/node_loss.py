"""An agent's node is lost while a tool runs.

Run as a module, with a journal, how (`removed`, or `stopped`, so that it lives on), and what the fleet is: `owned` by
this process, or a `service`. Prints, as JSON, what came of it.
"""

import asyncio
import json
import os
import signal
import sys
from typing import Any, cast

from ray.cluster_utils import Cluster

from amrita_fleet import Agent, Fleet
from amrita_fleet.protocols.mail import ReceiptState
from amrita_fleet.protocols.providers.scripted import call, say

from ..contracts.gate import Gate
from .blocker import ended
from .steady import event, handle, steady, until

QUICK = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 300,
    "health_check_timeout_ms": 1000,
    "health_check_failure_threshold": 3,
}
"""A node that does not answer is dead within seconds."""


async def main(cluster: Any, nodes: list[Any], journal: str, how: str, kind: str) -> None:  # noqa: ANN401  Ray's, untyped
    model = steady(call("gate", name="one"), call("gate", name="two"), say("done"))
    service = kind == "service"
    async with Gate() as gate, Fleet(address=cluster.address, journal=journal, service=service) as fleet:
        (ana,) = await fleet.spawn(Agent(preset=model, tools=(gate.tool,)), ["ana"])
        run = await ana.start("go")
        await gate.begun("one")
        accepted = (await ana.send("hello")).state is ReceiptState.ACCEPTED
        was = await handle(fleet, "agent:ana").node.remote()
        pid = (await fleet.statuses())[0].pid
        (lost,) = [node for node in nodes if node.node_id == was]
        if how == "removed":
            await asyncio.to_thread(cluster.remove_node, lost, allow_graceful=False)
        else:
            os.kill(lost.all_processes["raylet"][0].process.pid, signal.SIGSTOP)
        await gate.begun("two")
        now = await handle(fleet, "agent:ana").node.remote()
        gate.let("one")  # what still runs on the lost node now goes on
        await ended(pid)
        gate.let("two")
        outcome = await run.outcome()
        seen = await until(fleet, event("ana", "finished"))
        facts = {
            "accepted": accepted,
            "moved": was != now,
            "text": outcome.text,
            "finished": sum(event("ana", "finished")(notice) for notice in seen),
            "consumed": [notice.text for notice in seen if notice.extra_type == "consumed"],
            "lives": [row.incarnation for row in await fleet.statuses()],
        }
        print(json.dumps(facts))


if __name__ == "__main__":
    head = {"num_cpus": 0, "include_dashboard": False, "_system_config": QUICK}
    made = cast("Any", Cluster)(initialize_head=True, head_node_args=head)
    try:
        others = [made.add_node(num_cpus=1, resources={"agent_slot": 1}) for _ in range(2)]
        asyncio.run(main(made, others, *sys.argv[1:4]))
    finally:
        made.shutdown()
