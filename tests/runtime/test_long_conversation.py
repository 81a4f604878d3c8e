"""An hour of messages among agents, in less than a minute."""

import asyncio
import json
import re
from itertools import chain

import pytest

from amrita_fleet import Agent
from amrita_fleet.protocols.ids import AgentId
from amrita_fleet.protocols.messages import ToolCall
from amrita_fleet.runtime.records import Happened, decode_record
from amrita_fleet.runtime.step.events import MailTaken
from amrita_fleet.runtime.step.phases import Mail
from amrita_fleet.runtime.system import SpawnOrder

from .doomed import FLEET, Act, Asked, DoomedSystem, World, preset, process

RING = [AgentId(name) for name in ("ana", "bob", "cyd", "dee")]
HOUR = 3_600.0
LATENCY = 10.0
"""Seconds of a model call, and so of each leg."""

PARCEL = re.compile(r"parcel (\w+), leg (\d+)")


def pass_on(asked: Asked) -> Act:
    """Whoever gets a parcel passes it on around the ring."""
    parcels = PARCEL.findall(asked.turns[-1].content)
    after = RING[(RING.index(asked.agent) + 1) % len(RING)]
    return Act("", tuple(passed(name, int(leg) + 1, after) for name, leg in parcels))


def passed(name: str, leg: int, to: AgentId) -> ToolCall:
    return ToolCall("call_0", "send_message", json.dumps({"to": to, "body": f"parcel {name}, leg {leg}"}))


@pytest.mark.slow
def test_an_hour_of_messages_loses_none() -> None:
    world = World(lambda asked: pass_on(asked) if asked.turns[-1].content.count("parcel") else Act("Passed."), LATENCY)

    async def hour(system: DoomedSystem) -> None:
        members = tuple(SpawnOrder(name, Agent(preset=preset(name), memory="run")) for name in RING)
        await system.spawn(members, lambda _ready, _ordered: None)
        for name in RING:
            await system.start(name, f"parcel {name}, leg 0", None)
        await world.clock.sleep(HOUR)

    assert process(world, hour, tick=10.0) is not None

    legs: dict[str, list[int]] = {name: [] for name in RING}
    for mail in chain.from_iterable(read_by(world, name) for name in RING):
        for parcel, leg in PARCEL.findall(mail.body):
            legs[parcel].append(int(leg))
    for parcel, seen in legs.items():
        assert sorted(seen) == list(range(1, len(seen) + 1)), parcel
        assert len(seen) > 0.5 * HOUR / LATENCY, parcel
    assert world.flaws == []


def read_by(world: World, agent: AgentId) -> list[Mail]:
    """What an agent has read."""
    records = asyncio.run(world.journal.read(f"{FLEET}/agent/{agent}"))
    happened = [each for each in (decode_record(record.data) for record in records) if isinstance(each, Happened)]
    events = chain.from_iterable(each.events for each in happened)
    return [mail for event in events if isinstance(event, MailTaken) for mail in event.mails]
