"""Looking into a live agent through the gateway, on both systems: what was said, what waits, what is being said."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import httpx
import pytest

from amrita_fleet import Agent, Fleet, Tool, create_agent, tool
from amrita_fleet.protocols.providers.script import call, say
from amrita_fleet.protocols.providers.scripted import scripted
from amrita_fleet.runtime.simulator.server import Simulator

MakeFleet = Callable[..., Fleet]

pytestmark = pytest.mark.anyio


def weigh_tool() -> Tool:
    @tool
    async def weigh(what: str) -> str:
        """Weigh something."""
        return f"3 kg of {what}"

    return weigh


@asynccontextmanager
async def client_of(fleet: Fleet) -> AsyncGenerator[httpx.AsyncClient]:
    dashboard = await fleet.serve_dashboard()
    headers = {"Authorization": f"Bearer {dashboard.token}"}
    async with httpx.AsyncClient(base_url=dashboard.url, headers=headers, timeout=30) as client:
        yield client


async def test_a_transcript_has_all_that_was_said_and_a_mailbox_what_waits(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet, asyncio.timeout(60):
        model = scripted(call("weigh", what="apples"), say("Three kilograms."))
        (ana,) = await fleet.spawn(Agent(preset=model, tools=(weigh_tool(),)), ["ana"])
        assert (await ana.run("Weigh the apples.")).text == "Three kilograms."
        await fleet.pause("ana", "to be looked at")
        await fleet.send("ana", "And the pears?")
        async with client_of(fleet) as client:
            seen = (await client.get("/api/agents/ana/transcript")).json()
            said = [(each["role"], each["text"]) for each in seen["transcript"]]
            assert said[-3:] == [("assistant", ""), ("tool", "3 kg of apples"), ("assistant", "Three kilograms.")]
            assert seen["transcript"][-3]["calls"] == [{"tool": "weigh", "arguments": '{"what":"apples"}'}]
            box = (await client.get("/api/agents/ana/mailbox")).json()
            assert [(each["sender"], each["body"]) for each in box["mailbox"]] == [("user", "And the pears?")]
            assert (await client.get("/api/agents/anna/transcript")).status_code == httpx.codes.NOT_FOUND
            assert (await client.get("/api/events?follow=anna")).status_code == httpx.codes.NOT_FOUND


async def test_what_a_model_says_comes_beside_the_notices_while_it_says_it(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet, Simulator() as simulator, asyncio.timeout(60):
        words = create_agent(base_url=simulator.base_url, model="simulated-doctor", model_config={"stream": True})
        (ana,) = await fleet.spawn(words, ["ana"])
        async with client_of(fleet) as client:
            head, text, numbers = "", "", list[str]()
            async with client.stream("GET", "/api/events", params={"follow": "ana"}) as response:
                run = await ana.start("Say something.")
                async for line in response.aiter_lines():
                    if line.startswith(("event: ", "id: ")):
                        numbers += [head] if line == "event: delta" and head.startswith("id: ") else []
                        head = line
                    elif line.startswith("data: ") and head == "event: delta":
                        delta = json.loads(line[6:])
                        text = delta["text"] if delta["begins"] else text + delta["text"]
                        if delta["over"] and text:
                            break
            assert text == (await run.outcome()).text
            assert numbers == []
