"""The dashboard's pages in a browser, on both systems: they show a fleet, and their levers move it."""

import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from amrita_fleet import Agent, Fleet, Limits, Tool, tool
from amrita_fleet.protocols.providers.script import call, repeat, say
from amrita_fleet.protocols.providers.scripted import scripted

pytest.importorskip("playwright", reason="playwright is not installed")

from playwright.async_api import ConsoleMessage, Page, async_playwright, expect

CHROMIUM = Path("/usr/bin/chromium")

MakeFleet = Callable[..., Fleet]

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no {CHROMIUM}"),
]

EVIL = '<script>window.hacked = 1</script><img src="x" onerror="window.hacked = 1">'

PATIENCE_MS = 20_000


def delete_tool() -> Tool:
    @tool(approval=True)
    async def delete(path: str) -> str:
        """Delete a file."""
        return f"deleted {path}"

    return delete


def weigh_tool() -> Tool:
    @tool
    async def weigh(what: str) -> str:
        """Weigh something."""
        return f"3 kg of {what}"

    return weigh


class Window:
    """One page of a browser that has come by the link, and what went wrong in it."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.wrong: list[str] = []
        self._url = url
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", self._said)

    def _said(self, said: ConsoleMessage) -> None:
        if said.type == "error":
            self.wrong.append(said.text)

    async def open(self, path: str) -> None:
        await self.page.goto(self._url + path)

    async def sees(self, text: str | re.Pattern[str]) -> None:
        await expect(self.page.locator(".af-body")).to_contain_text(text, timeout=PATIENCE_MS)

    async def state(self, state: str | re.Pattern[str]) -> None:
        await expect(self.page.locator(".af-state")).to_have_text(state, timeout=PATIENCE_MS)

    async def press(self, button: str) -> None:
        await self.page.get_by_role("button", name=button, exact=True).click()

    async def confirm(self, button: str) -> None:
        await self.page.get_by_role("dialog").get_by_role("button", name=button, exact=True).click()

    async def write(self, label: str, text: str) -> None:
        await self.page.get_by_label(label).fill(text)


@asynccontextmanager
async def window(fleet: Fleet) -> AsyncGenerator[Window]:
    """A browser at the fleet's pages; nothing may go wrong in it."""
    dashboard = await fleet.serve_dashboard()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        made = Window(await browser.new_page(), dashboard.url)
        await made.page.goto(dashboard.link)
        yield made
        hacked: object = await made.page.evaluate("window.hacked")
        await browser.close()
    assert hacked is None
    assert made.wrong == []


async def test_the_overview_shows_who_is_there_and_opens_a_page(make_fleet: MakeFleet) -> None:
    async with make_fleet(limit=100_000) as fleet:
        await fleet.spawn(Agent(preset=scripted(say("Good."))), ["ana"])
        async with window(fleet) as at:
            await at.sees("ana")
            await at.sees("0 of 100,000 tokens")
            await fleet.spawn(Agent(preset=scripted(say("Good."))), ["bob"])
            await at.page.get_by_role("gridcell", name="bob").click()
            await at.page.wait_for_url("**/agent/bob")
            await at.sees("bob")


async def test_a_message_from_the_page_is_consumed_and_texts_are_never_markup(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        await fleet.spawn(Agent(preset=scripted(say(f"Here it is: {EVIL}"))), ["ana"])
        async with window(fleet) as at:
            await at.open("/agent/ana")
            await at.write("Message to ana", f"Show me {EVIL}")
            await at.press("Send")
            await expect(at.page.locator(".af-receipt")).to_contain_text("consumed", timeout=PATIENCE_MS)
            await at.sees(f"Here it is: {EVIL}")
            assert await at.page.locator(".af-body img, .af-body script").count() == 0


async def test_an_agent_is_paused_goes_on_and_is_stopped_once_that_is_confirmed(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(Agent(preset=scripted(say("Good."))), ["ana"])
        async with window(fleet) as at:
            await at.open("/agent/ana")
            await at.press("Pause")
            await at.confirm("Pause")
            await expect(at.page.get_by_text("ana pauses at its next boundary.")).to_be_visible()
            run = await ana.start("How is it?")
            await at.state("paused")
            await at.press("Resume")
            await at.confirm("Resume")
            assert (await run.outcome()).text == "Good."
            await at.state(re.compile("idle|done"))
            await at.press("Stop")
            await at.confirm("Stop")
            await at.state("stopped")
            await at.sees("by a person, at the dashboard")


async def test_a_stalled_agent_turns_up_among_the_alerts_with_the_evidence(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        await fleet.spawn(Agent(preset=scripted(repeat(call("weigh", what="apples"))), tools=(weigh_tool(),)), ["dora"])
        async with window(fleet) as at:
            await at.open("/alerts")
            await at.sees("Nothing went wrong so far.")
            await fleet.send("dora", "Weigh them.")
            await at.sees("step.stall")
            await at.sees("tool weigh")


async def test_a_call_that_waits_is_allowed_on_the_page(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        model = scripted(call("delete", path="old.txt"), say("Gone."))
        (eve,) = await fleet.spawn(Agent(preset=model, tools=(delete_tool(),)), ["eve"])
        run = await eve.start("Tidy up.")
        async with window(fleet) as at:
            await at.open("/alerts")
            await at.sees('{"path":"old.txt"}')
            await at.press("Allow")
            await at.confirm("Allow")
            assert (await run.outcome()).text == "Gone."
            await at.sees("No call waits for you.")


async def test_a_limit_that_is_raised_on_the_page_lets_an_agent_go_on(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        few = Limits(tokens=600, on_exhaustion="ask")
        (fred,) = await fleet.spawn(Agent(preset=scripted(say("Done.")), limit=few), ["fred"])
        run = await fred.start("Count all apples.")
        async with window(fleet) as at:
            await at.open("/budgets")
            await at.sees("This call needs at least")
            await at.write("Token limit of fred", "50000")
            await at.page.get_by_role("button", name="Set limit").last.click()
            await at.confirm("Set")
            assert (await run.outcome()).text == "Done."
            await at.sees("No agent waits for a higher limit.")


async def test_the_graph_has_who_wrote_to_whom(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        (ana, _) = await fleet.spawn(
            Agent(preset=scripted(call("send_message", to="bob", body="Hello."), say("Sent."))), ["ana", "bob"]
        )
        await (await ana.start("Write to bob.")).outcome()
        async with window(fleet) as at:
            await at.open("/messages")
            for name in ("ana", "bob"):
                await expect(at.page.get_by_role("gridcell", name=name).first).to_be_visible(timeout=PATIENCE_MS)
            await expect(at.page.locator(".af-body canvas")).to_be_visible()
