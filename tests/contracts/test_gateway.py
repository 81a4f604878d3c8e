"""A fleet's gateway, on both systems: it shows and steers the fleet, and ends with it."""

import asyncio
from collections.abc import Callable

import httpx
import pytest

from amrita_fleet import Agent, Fleet
from amrita_fleet.protocols.providers.script import say
from amrita_fleet.protocols.providers.scripted import scripted

MakeFleet = Callable[..., Fleet]

pytestmark = pytest.mark.anyio


async def test_it_shows_a_fleet_takes_a_message_and_is_gone_with_the_fleet(make_fleet: MakeFleet) -> None:
    async with make_fleet(limit=100_000) as fleet, asyncio.timeout(60):
        await fleet.spawn(Agent(preset=scripted(say("Good."))), ["ana"])
        dashboard = await fleet.serve_dashboard()
        headers = {"Authorization": f"Bearer {dashboard.token}"}
        async with httpx.AsyncClient(base_url=dashboard.url, headers=headers, timeout=30) as client:
            short = (await client.get("/api/fleet")).json()
            assert (short["agents"], short["limit"]["tokens"]) == (1, 100_000)
            receipt = (await client.post("/api/agents/ana/messages", json={"body": "How is it?"})).json()
            assert receipt["state"] == "accepted"
            async with client.stream("GET", "/api/events") as response:
                async for line in response.aiter_lines():
                    if '"extra_type":"finished"' in line:
                        break
            assert (await client.get(f"/api/receipts/ana/{receipt['id']}")).json()["state"] == "consumed"
            assert (await client.post("/api/agents/ana/stop")).json() == {"stopped": ["ana"], "silent": []}
            assert (await client.get("/api/agents/ana")).json()["phase"] == "stopped"
            refused = await client.post("/api/agents/anna/pause")
            assert (refused.status_code, refused.json()["help"]) == (404, "docs/troubleshooting.md#agentunknown")
    async with httpx.AsyncClient() as client:
        with pytest.raises(httpx.ConnectError):
            await client.get(dashboard.url)
