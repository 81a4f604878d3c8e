"""An agent writes to its peers, and to nobody else first."""

import json
from collections.abc import Callable

import pytest

from amrita_fleet import Agent, Fleet, SpawnPolicy
from amrita_fleet.protocols.notices import Notice
from amrita_fleet.protocols.providers.script import call, say
from amrita_fleet.protocols.providers.scripted import scripted

MakeFleet = Callable[..., Fleet]

pytestmark = pytest.mark.anyio

ENDS = {("tool", "ended"), ("tool", "failed")}


async def told(fleet: Fleet, agent: str, task: str) -> list[Notice]:
    """What an agent's tools came to."""
    run = await fleet.start(agent, task)
    return [notice async for notice in run if (notice.type, notice.extra_type) in ENDS]


async def test_a_model_learns_whom_it_may_write_to_and_that_nothing_left_for_others(make_fleet: MakeFleet) -> None:
    writes = scripted(
        call("list_peers"),
        call("send_message", to=["eve", "bob"], body="Good morning."),
        call("ask_peer", to="eve", question="How many?"),
        say("Done."),
    )
    async with make_fleet() as fleet:
        await fleet.spawn(Agent(preset=scripted(say("Good morning."), say("Yes."))), ["bob", "eve"])
        await fleet.spawn(Agent(preset=writes, peers=("bob",)), ["ana"])
        listed, sent, asked = await told(fleet, "ana", "Say good morning.")
        rows = {str(row.agent): row for row in await fleet.statuses()}
        assert (await fleet.send("eve", "You are written to by people in any case.")).refusal is None

    assert [row["name"] for row in json.loads(listed.text.partition(": ")[2])] == ["bob"]
    kept_back = "The message to eve was not sent: you may not write to it; list_peers names those you may write to."
    assert kept_back in sent.text
    assert "Accepted by bob." in sent.text
    assert kept_back in asked.text
    assert (rows["ana"].sent, rows["eve"].waiting + rows["eve"].consumed) == (1, 0)


async def test_who_has_no_peers_answers_those_who_write_to_it(make_fleet: MakeFleet) -> None:
    asks = scripted(call("ask_peer", to="bob", question="How many?", seconds=60), say("Three."))
    answers = scripted(call("send_message", to="ana", body="There are three."), say("I have told her."))
    async with make_fleet() as fleet:
        await fleet.spawn(Agent(preset=answers, peers=()), ["bob"])
        (ana,) = await fleet.spawn(Agent(preset=asks, peers=("bob",)), ["ana"])
        run = await ana.start("Ask bob.")
        consumed = [notice async for notice in run if (notice.type, notice.extra_type) == ("mail", "consumed")]

    assert [notice.text for notice in consumed] == ["from bob: There are three."]


async def test_parents_and_children_are_peers_in_any_case(make_fleet: MakeFleet) -> None:
    kind = Agent(preset=scripted(call("send_message", to="ana", body="Here I am."), say("Done.")), peers=())
    spawns = scripted(
        call("spawn_agent", kind="helper", name="bob", task="Say that you are there."),
        call("wait_for_messages", seconds=60),
        say("It is there."),
    )
    agent = Agent(preset=spawns, peers=(), spawns=SpawnPolicy(kinds={"helper": kind}))
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent, ["ana"])
        run = await ana.start("Spawn one.")
        consumed = [notice async for notice in run if (notice.type, notice.extra_type) == ("mail", "consumed")]

    assert [notice.text for notice in consumed] == ["from bob: Here I am."]
