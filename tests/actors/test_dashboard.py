"""The dashboard of a real fleet: agents in processes on Ray, models over HTTP, a person at a browser."""

import os
import re
import signal

import pytest

from amrita_fleet import Agent, Fleet, Limits, create_agent, tool
from amrita_fleet.actors.gateway import GatewayActor
from amrita_fleet.runtime.simulator.scenario import parse_scenario
from amrita_fleet.runtime.simulator.server import Simulator

pytest.importorskip("playwright", reason="playwright is not installed")

from playwright.async_api import expect

from ..contracts.window import CHROMIUM, PATIENCE_MS, Window, window
from .processes import processes_of

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.ray,
    pytest.mark.slow,
    pytest.mark.usefixtures("ray_cluster"),
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no {CHROMIUM}"),
]

SCENARIO = parse_scenario(
    "orchard",
    {
        "models": ["gardener-thinking"],
        "rules": [
            {"when": {"no_tools": True}, "say": "That is all I know."},
            {
                "when": {"user": "[Ww]eigh"},
                "calls": [{"name": "weigh", "arguments": {"what": "pears"}}],
            },
            {
                "when": {"rounds": 0, "user": "Tidy"},
                "calls": [{"name": "delete", "arguments": {"path": "old.csv"}}],
            },
            {"say": "The orchard is in order."},
        ],
    },
)


@tool
async def weigh(what: str) -> str:
    """Weigh something."""
    return f"3 kg of {what}"


@tool(approval=True)
async def delete(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


def gardener(simulator: Simulator, limit: Limits | None = None) -> Agent:
    return create_agent(
        base_url=simulator.base_url,
        model="gardener-thinking",
        model_config={"stream": True, "max_tokens": 512},
        thinking_config={"enabled": True},
        tools=[weigh, delete],
        limit=limit,
    )


async def the_overview_fills(at: Window) -> None:
    await at.open("/")
    for name in ("ana", "dora", "eve", "fred"):
        await expect(at.page.get_by_role("gridcell", name=name, exact=True)).to_be_visible(timeout=PATIENCE_MS)


async def an_agent_is_paused_and_goes_on(at: Window) -> None:
    await at.open("/agent/ana")
    await at.press("Pause")
    await at.confirm("Pause")
    await at.write("Message to ana", "How is the orchard?")
    await at.press("Send")
    await at.state("paused")
    await at.press("Resume")
    await at.confirm("Resume")
    await expect(at.page.locator(".af-receipt")).to_contain_text("consumed", timeout=PATIENCE_MS)
    await at.tab("Transcript")
    await at.sees("The orchard is in order.")
    await expect(at.page.locator(".af-turn:not(.af-live) summary", has_text="Reasoning")).to_be_visible()


async def a_stalled_agent_turns_up_with_its_reason(at: Window) -> None:
    await at.open("/agent/dora")
    await at.write("Message to dora", "Weigh the pears.")
    await at.press("Send")
    await at.open("/alerts")
    await at.sees("step.stall")
    await at.sees("tool weigh")


async def a_message_is_consumed_at_the_next_boundary_once_a_call_is_allowed(at: Window, beside: Window) -> None:
    await at.open("/agent/eve")
    await at.write("Message to eve", "Tidy up.")
    await at.press("Send")
    await at.sees("tool.approval")
    await at.write("Message to eve", "And tell me about it.")
    await at.press("Send")
    receipt = at.page.locator(".af-receipt").nth(1)
    await expect(receipt).to_have_text("accepted", timeout=PATIENCE_MS)
    await beside.open("/alerts")
    await beside.sees('{"path":"old.csv"}')
    await beside.press("Allow")
    await beside.confirm("Allow")
    await expect(receipt).to_have_text(re.compile(r"consumed at Step \d+"), timeout=PATIENCE_MS)


async def a_higher_limit_lets_an_agent_go_on(at: Window) -> None:
    await at.open("/agent/fred")
    await at.write("Message to fred", "How is the orchard?")
    await at.press("Send")
    await at.state("paused")
    await at.open("/budgets")
    await at.sees("This call needs at least")
    await at.write("Token limit of fred", "50000")
    await at.page.get_by_role("button", name="Set limit").last.click()
    await at.confirm("Set")
    await at.sees("No agent waits for a higher limit.")
    await at.open("/agent/fred")
    await at.sees("The orchard is in order.")


async def test_a_person_sees_and_steers_a_fleet_on_ray_from_the_browser() -> None:
    async with Simulator(scenarios=[SCENARIO]) as simulator, Fleet(limit=500_000) as fleet:
        await fleet.spawn(gardener(simulator), ["ana", "dora", "eve"])
        await fleet.spawn(gardener(simulator, Limits(tokens=600, on_exhaustion="ask")), ["fred"])
        async with window(fleet) as at:
            await the_overview_fills(at)
            await an_agent_is_paused_and_goes_on(at)
            await a_stalled_agent_turns_up_with_its_reason(at)
            async with at.beside() as beside:
                await a_message_is_consumed_at_the_next_boundary_once_a_call_is_allowed(at, beside)
            await a_higher_limit_lets_an_agent_go_on(at)


async def test_an_open_page_comes_back_when_another_gateway_follows_one_whose_process_was_killed() -> None:
    before = processes_of(GatewayActor)
    async with Simulator(scenarios=[SCENARIO]) as simulator, Fleet() as fleet:
        await fleet.spawn(gardener(simulator), ["ana"])
        async with window(fleet) as at:
            await expect(at.page.get_by_role("gridcell", name="ana", exact=True)).to_be_visible(timeout=PATIENCE_MS)
            for process in processes_of(GatewayActor) - before:
                os.kill(process, signal.SIGKILL)
            await fleet.spawn(gardener(simulator), ["bob"])
            await expect(at.page.get_by_role("gridcell", name="bob", exact=True)).to_be_visible(timeout=PATIENCE_MS)
            cut_off = [each for each in at.wrong if "ERR_CONNECTION" in each or "WebSocket" in each]
            at.wrong = [each for each in at.wrong if each not in cut_off]
