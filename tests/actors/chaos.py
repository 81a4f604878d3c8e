"""Four agents write to each other while calls between processes get lost. Run with a journal and a count.

Every process but this one loses calls: some never arrive, of others the answer does not. Prints what each agent has
consumed, as JSON: how many messages its mailbox counted, each sender's in the order they were first heard of, and how
many were heard of again. Besides, how many notices the Supervisor was told again because an answer of it got lost: that
is in its record. A mailbox holds fewer messages than each gets: senders wait, and ask again.
"""

import asyncio
import json
import os
import sys
from collections import Counter
from typing import Any, cast

from ray.cluster_utils import Cluster

from amrita_fleet import Agent, AmritaConfig, Fleet, Tool, ToolContext, tool
from amrita_fleet.protocols.codec import decode
from amrita_fleet.protocols.ids import AgentId, Incarnation
from amrita_fleet.protocols.mail import Refusal
from amrita_fleet.protocols.providers.scripted import call, repeat, say, scripted
from amrita_fleet.runtime.config import MailConfig
from amrita_fleet.runtime.fleet import AgentRef
from amrita_fleet.runtime.journal.fleet_log import FleetLog
from amrita_fleet.runtime.journal.sql import SqlJournal
from amrita_fleet.runtime.supervision.command_log import Noted
from amrita_fleet.runtime.supervision.commands import Tell

FAILURES = "RAY_testing_rpc_failure"
"""What Ray reads in the environment: which calls get lost."""

NAMES = ("ana", "bob", "cyd", "dan")


WINDOW = 200
"""Messages that one asks to send to another at once; what is refused for want of room is asked for again later."""

CONFIG = AmritaConfig(mail=MailConfig(mail_bytes=256 * 1024, send_timeout=0.5))
"""Whoever finds a mailbox full waits half a second, then reads their own: all write to all at once."""


def flood(count: int) -> Tool:
    """A tool that sends so many messages to everybody else, as far as there is room; called again, it goes on."""
    sent = Counter[str]()

    async def write(context: ToolContext, to: str) -> None:
        while sent[to] < count:
            window = range(sent[to], min(sent[to] + WINDOW, count))
            receipts = await asyncio.gather(*(context.channel.send(AgentId(to), f"letter {n}") for n in window))
            full = [receipt.refusal is Refusal.FULL for receipt in receipts]
            if full != sorted(full) or any(receipt.refusal not in {None, Refusal.FULL} for receipt in receipts):
                raise AssertionError(receipts)
            sent[to] += full.count(False)
            if any(full):
                return

    @tool
    async def flood(context: ToolContext) -> str:
        """Write to all."""
        await asyncio.gather(*(write(context, name) for name in NAMES if name != context.agent))
        return f"{sent.total()} sent"

    return flood


async def write(fleet: Fleet, agent: AgentRef, expected: int) -> None:
    """Have an agent write until all its messages were accepted, in as many runs as that takes."""
    while {row.agent: row.sent for row in await fleet.statuses()}[agent.name] < expected:
        await agent.run("write")


async def hear(fleet: Fleet, expected: int) -> dict[str, Any]:
    """What the agents say that they have consumed, as they say it: the fleet remembers only the last of it."""
    heard: dict[str, dict[str, list[str]]] = {name: {} for name in NAMES}
    again = 0
    async for notice in fleet.notices():
        if notice.extra_type == "consumed":
            sender, _, body = notice.text.removeprefix("from ").partition(": ")
            letters = heard[notice.agent].setdefault(sender, [])
            if body in letters:
                again += 1
                continue
            letters.append(body)
            expected -= 1
            if not expected:
                break
    return {"heard": heard, "again": again}


async def told_again(journal: str) -> int:
    """How many notices reached the Supervisor, by its record, after it had been told of them."""
    kept = SqlJournal(journal)
    told = Counter[tuple[AgentId, Incarnation]]()
    again = 0
    for record in await FleetLog(kept, "chaos").accounts():
        if not record.snapshot and isinstance(command := decode(record.data, Noted).command, Tell):
            life = command.status.agent, command.status.incarnation
            numbers = [notice.number for notice in command.notices]
            again += sum(number <= told[life] for number in numbers)
            told[life] = max(told[life], *numbers, 0)
    await kept.aclose()
    return again


async def main(journal: str, count: int, address: str) -> None:
    async with Fleet("chaos", address=address, journal=journal) as fleet:
        # A run that mail began writes too.
        model = scripted(*(call("flood"), say("read")) * 1000, repeat(say("read")))
        kind = Agent(preset=model, tools=(flood(count),), config=CONFIG, memory="run")
        agents = await fleet.spawn(kind, NAMES)
        each = count * (len(NAMES) - 1)
        async with asyncio.TaskGroup() as tasks:
            hearing = tasks.create_task(hear(fleet, each * len(NAMES)))
            for agent in agents:
                tasks.create_task(write(fleet, agent, each))
        consumed = {row.agent: row.consumed for row in await fleet.statuses()}
    print(json.dumps(hearing.result() | {"consumed": consumed, "told_again": await told_again(journal)}))


if __name__ == "__main__":
    cluster = cast("Any", Cluster)(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    del os.environ[FAILURES]
    try:
        asyncio.run(main(sys.argv[1], int(sys.argv[2]), str(cluster.address)))
    finally:
        cluster.shutdown()
