"""The gateway's actor: one process, which ends with the fleet; and the command, which serves any fleet."""

import asyncio
import contextlib
import json
import os
import signal
from typing import Any, cast

import httpx
import pytest
import ray
from ray.util import list_named_actors

from amrita_fleet import Agent, Fleet, SystemUnavailable
from amrita_fleet.actors.gateway import GATEWAY, GatewayActor
from amrita_fleet.actors.gateway_host import RayGateway
from amrita_fleet.protocols.providers.script import say
from amrita_fleet.protocols.providers.scripted import scripted
from amrita_fleet.runtime.cli.dashboard import serve

from .processes import processes_of

pytestmark = [pytest.mark.anyio, pytest.mark.ray]


def is_there(fleet: str) -> bool:
    """Whether the fleet has such an actor."""
    found = cast("Any", list_named_actors)(all_namespaces=True)
    return any(each["name"] == GATEWAY and each["namespace"].endswith(fleet) for each in found)


def gateways() -> set[int]:
    """Those of this machine's processes that are gateways of ours."""
    return processes_of(GatewayActor)


async def gone_to(count: int) -> None:
    """Wait until there are no more than so many. Nobody tells when a process is gone from the machine's table."""
    async with asyncio.timeout(10):
        while True:
            if len(gateways()) <= count:
                return
            await asyncio.sleep(0.1)


async def test_its_process_is_there_once_and_gone_when_the_fleet_is_closed(ray_cluster: str) -> None:
    assert ray_cluster
    before = len(gateways())
    async with Fleet("watched") as fleet:
        first = await fleet.serve_dashboard()
        assert await fleet.serve_dashboard() == first
        assert is_there("watched")
        assert len(gateways()) == before + 1
    assert not is_there("watched")
    await gone_to(before)


async def test_a_port_that_is_taken_leaves_no_process_behind(ray_cluster: str) -> None:
    assert ray_cluster
    async with Fleet("watched") as fleet, Fleet("crowded") as crowded:
        port = httpx.URL((await fleet.serve_dashboard()).url).port or 0
        with pytest.raises(SystemUnavailable, match=f"port {port} of 127.0.0.1 is taken"):
            await crowded.serve_dashboard(port=port)
        assert not is_there("crowded")
        assert (await crowded.serve_dashboard()).url


async def test_when_the_supervisor_is_dead_the_gateway_says_that_the_fleet_is_over(ray_cluster: str) -> None:
    assert ray_cluster
    async with asyncio.timeout(60), Fleet("headless") as fleet:
        dashboard = await fleet.serve_dashboard()
        supervisor = ray.get_actor("supervisor", "amrita-headless")
        headers = {"Authorization": f"Bearer {dashboard.token}"}
        async with (
            httpx.AsyncClient(base_url=dashboard.url, headers=headers, timeout=30) as client,
            client.stream("GET", "/api/events") as response,
        ):
            lines = response.aiter_lines()
            while not (await anext(lines)).startswith("event: fleet"):
                pass
            ray.kill(supervisor)
            while not (await anext(lines)).startswith("event: over"):
                pass


async def test_when_its_process_is_killed_another_one_serves_there_and_watchers_go_on_without_a_gap(
    ray_cluster: str,
) -> None:
    assert ray_cluster
    before = gateways()
    async with asyncio.timeout(60), Fleet("tended") as fleet:
        dashboard = await fleet.serve_dashboard()
        headers = {"Authorization": f"Bearer {dashboard.token}"}
        async with httpx.AsyncClient(base_url=dashboard.url, headers=headers, timeout=30) as client:
            await fleet.spawn(Agent(preset=scripted(say("Good."))), ["ana"])
            seen = await notices(client, "ana")
            for process in gateways() - before:
                os.kill(process, signal.SIGKILL)
            await fleet.spawn(Agent(preset=scripted(say("Good."))), ["bob"])
            later = await notices(client, "bob", last=seen[-1])
        assert [*seen, *later] == list(range(seen[0], later[-1] + 1))
        assert await fleet.serve_dashboard() == dashboard
    await gone_to(len(before))


async def test_one_that_cannot_be_kept_alive_is_given_up_and_says_why(ray_cluster: str) -> None:
    assert ray_cluster
    before = gateways()
    async with asyncio.timeout(60), Fleet("untended"):
        gateway = RayGateway("untended", tries=0)
        dashboard = await gateway.open("127.0.0.1", 0)
        for process in gateways() - before:
            os.kill(process, signal.SIGKILL)
        assert (await gateway.over()).startswith("the gateway could not be kept alive: ")
        async with httpx.AsyncClient(base_url=dashboard.url) as client:
            with pytest.raises(httpx.ConnectError):
                await client.get("/api/fleet")
        await gateway.aclose()


async def notices(client: httpx.AsyncClient, agent: str, last: int = 0) -> list[int]:
    """Watch until the agent is told of, as a browser does, which comes again when it is cut off; gives the numbers."""
    found: list[int] = []
    while True:
        with contextlib.suppress(httpx.TransportError):
            known = {"Last-Event-ID": str(found[-1] if found else last)}
            async with client.stream("GET", "/api/events", headers=known) as response:
                async for line in response.aiter_lines():
                    if line.startswith("id: "):
                        found.append(int(line.removeprefix("id: ")))
                    elif line.startswith("data: ") and json.loads(line[6:]).get("agent") == agent:
                        return found
        await asyncio.sleep(0.1)


@pytest.mark.slow
async def test_the_command_serves_a_fleet_of_another_process_until_that_is_over(
    ray_cluster: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ray_cluster
    async with asyncio.timeout(60), Fleet("shown") as fleet:
        await fleet.spawn(Agent(preset=scripted(say("Good."))), ["ana"])
        serving = asyncio.create_task(serve("shown", "auto", "127.0.0.1", 0, browser=False))
        link = ""
        while not link:
            await asyncio.sleep(0.1)
            link = capsys.readouterr().out.removeprefix("fleet shown: ").strip()
        async with httpx.AsyncClient(follow_redirects=True) as browser:
            assert (await browser.get(link)).json()["fleet"] == "shown"
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving
        assert (await fleet.statuses())[0].phase == "idle"
