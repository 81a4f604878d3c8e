"""The dashboard's pages in a browser, on both systems: they show a fleet, and their levers move it."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from amrita_fleet import Agent, Fleet, Limits, Tool, tool
from amrita_fleet.protocols.ids import AgentId
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.protocols.outcome import Ending
from amrita_fleet.protocols.providers.script import call, repeat, say
from amrita_fleet.protocols.providers.scripted import scripted
from amrita_fleet.runtime.clock import SystemClock
from amrita_fleet.runtime.gateway.recorded import RecordedSource
from amrita_fleet.runtime.gateway.recording import Recording

pytest.importorskip("playwright", reason="playwright is not installed")
pytest.importorskip("nicegui", reason="nicegui is not installed")

from playwright.async_api import expect

from amrita_fleet.runtime.dashboard.opening import open_dashboard

from .window import CHROMIUM, PATIENCE_MS, window, window_at

MakeFleet = Callable[..., Fleet]

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no {CHROMIUM}"),
]

EVIL = '<script>window.hacked = 1</script><img src="x" onerror="window.hacked = 1">'


FOCUSED = """() => {
  const at = document.activeElement;
  return at.ariaLabel || at.querySelector('.q-btn__content > .block')?.innerText || at.innerText;
}"""
"""What the element is called that has the focus."""


WITHIN = "dialog => document.activeElement === document.body || dialog.contains(document.activeElement)"
"""Whether nothing behind a dialogue has the focus; the body has it between its last and its first button."""


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


async def test_the_overview_shows_who_is_there_and_opens_a_page(make_fleet: MakeFleet) -> None:
    async with make_fleet(limit=100_000) as fleet:
        await fleet.spawn(Agent(preset=scripted(say("Good."))), ["ana"])
        async with window(fleet) as at:
            await at.sees("ana")
            await at.sees("0 of 100,000 tokens")
            await at.readable()
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
            await at.readable()
            await at.press("Allow")
            await at.confirm("Allow")
            assert (await run.outcome()).text == "Gone."
            await at.sees("No call waits for you.")


async def test_a_limit_of_calls_is_raised_on_the_page_and_the_others_stay(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        few = Limits(tokens=90_000, model_calls=1, on_exhaustion="ask")
        model = scripted(call("weigh", what="apples"), say("Done."))
        (fred,) = await fleet.spawn(Agent(preset=model, tools=(weigh_tool(),), limit=few), ["fred"])
        async with window(fleet) as at:
            await at.open("/budgets")
            await at.sees("No agent waits for a higher limit.")
            run = await fred.start("Weigh.")
            await at.sees("needs at least 1 model call")
            await at.write("Limit of model calls of fred", "5")
            await at.page.get_by_role("button", name="Set limit").last.click()
            await at.confirm("Set")
            assert (await run.outcome()).text == "Done."
            await at.sees("No agent waits for a higher limit.")
            (account,) = [each for each in await fleet.accounts() if each.name == "fred"]
            assert account.limit == replace(few, model_calls=5)


async def test_a_limit_that_is_raised_on_the_page_lets_an_agent_go_on(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        few = Limits(tokens=600, on_exhaustion="ask")
        (fred,) = await fleet.spawn(Agent(preset=scripted(say("Done.")), limit=few), ["fred"])
        run = await fred.start("Count all apples.")
        async with window(fleet) as at:
            await at.open("/budgets")
            await at.sees("This call needs at least")
            await at.readable()
            await at.write("Token limit of fred", "50000")
            await at.page.get_by_role("button", name="Set limit").last.click()
            await at.confirm("Set")
            assert (await run.outcome()).text == "Done."
            await at.sees("No agent waits for a higher limit.")


async def test_a_call_that_waits_is_refused_with_a_reason_and_one_who_needs_more_is_told_no(
    make_fleet: MakeFleet,
) -> None:
    async with make_fleet() as fleet:
        model = scripted(call("delete", path="old.txt"), say("It stays."))
        (eve,) = await fleet.spawn(Agent(preset=model, tools=(delete_tool(),)), ["eve"])
        few = Limits(tokens=600, on_exhaustion="ask")
        (fred,) = await fleet.spawn(Agent(preset=scripted(say("Done.")), limit=few), ["fred"])
        tidying, counting = await eve.start("Tidy up."), await fred.start("Count all apples.")
        async with window(fleet) as at:
            await at.open("/alerts")
            await at.sees('{"path":"old.txt"}')
            await at.press("Refuse")
            await at.confirm("Refuse")
            assert (await tidying.outcome()).text == "It stays."
            await at.sees("No call waits for you.")
            await at.open("/budgets")
            await at.press("Grant no more")
            await at.confirm("Grant no more")
            assert (await counting.outcome()).ending is not Ending.ANSWERED
            await at.sees("No agent waits for a higher limit.")


async def test_agents_are_filtered_sorted_killed_and_stopped_all_at_once(make_fleet: MakeFleet, tmp_path: Path) -> None:
    async with make_fleet(journal=tmp_path / "journal") as fleet:
        await fleet.spawn(Agent(preset=scripted(say("Good."))), ["ana", "bob", "cem"])
        async with window(fleet) as at:
            cells = at.page.locator(".ag-cell[col-id=id]")
            await expect(cells).to_have_text(["ana", "bob", "cem"], timeout=PATIENCE_MS)
            name = at.page.get_by_role("columnheader", name="Agent").first
            await name.click()
            await expect(at.page.locator(".ag-row[row-index='0'] .ag-cell[col-id=id]")).to_have_text("cem")
            await name.locator(".ag-header-cell-filter-button").click()
            await at.page.get_by_label("Filter Value").first.fill("bo")
            await expect(cells).to_have_text(["bob"], timeout=PATIENCE_MS)
            before = {str(row.agent): int(row.incarnation) for row in await fleet.statuses()}
            await at.open("/agent/bob")
            await at.press("Kill")
            await at.confirm("Kill")
            await expect(at.page.get_by_text("The process of bob was ended.")).to_be_visible(timeout=PATIENCE_MS)
            async with asyncio.timeout(60):
                lives = 0
                async for notice in fleet.notices():
                    lives += (notice.agent, notice.extra_type) == ("bob", "ready")
                    if lives == 2:
                        break
            now = {str(row.agent): int(row.incarnation) for row in await fleet.statuses()}
            assert now == before | {"bob": before["bob"] + 1}
            await at.open("/")
            await at.press("Stop all")
            await at.confirm("Stop all")
            states = at.page.locator(".ag-cell[col-id=state]")
            await expect(states).to_have_text(["stopped"] * 3, timeout=PATIENCE_MS)


async def test_a_recording_is_called_one_and_has_no_levers() -> None:
    came = Notice(NoticeType.AGENT, "admitted", AgentId("ana"), "joined the fleet", number=1, at=1.0)
    source = RecordedSource(Recording("house", (came,)), SystemClock())
    serving, dashboard = await open_dashboard(source, "127.0.0.1", 0)
    try:
        async with window_at(dashboard) as at:
            for page in ("/", "/agent/ana", "/budgets"):
                await at.open(page)
                await at.sees("ana" if page != "/budgets" else "Accounts")
                await expect(at.page.get_by_text("a recording: nothing can be steered")).to_be_visible()
                for lever in ("Stop all", "Pause", "Send", "Set limit"):
                    assert await at.page.get_by_role("button", name=lever).count() == 0  # what is hidden has no role
    finally:
        await serving.aclose()


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


async def test_a_transcript_unfolds_a_mailbox_shows_what_waits_and_neither_is_markup(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        model = scripted(call("weigh", what="apples"), say(f"Three. {EVIL}", reasoning="Apples are heavy."))
        (ana,) = await fleet.spawn(Agent(preset=model, tools=(weigh_tool(),), instructions="You weigh."), ["ana"])
        await (await ana.start("Weigh the apples.")).outcome()
        await fleet.pause("ana", "to be looked at")
        async with window(fleet) as at:
            await at.open("/agent/ana")
            await at.tab("Transcript")
            await at.sees(f"Three. {EVIL}")
            reasoning = at.page.locator(".af-turn:not(.af-live)").get_by_text("Apples are heavy.")
            await expect(reasoning).to_be_hidden()
            await at.page.get_by_text(re.compile("Reasoning, 17 characters")).click()
            await expect(reasoning).to_be_visible()
            await at.readable()
            await at.tab("Mailbox")
            await at.sees("No message waits.")
            await fleet.send("ana", f"And the pears? {EVIL}")
            await expect(at.page.get_by_role("gridcell", name="And the pears?")).to_be_visible(timeout=PATIENCE_MS)


async def test_a_way_on_which_nothing_moves_is_named_with_why(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        writer = Agent(preset=scripted(call("send_message", to="bob", body="Hello."), say("Sent.")))
        (ana, _) = await fleet.spawn(writer, ["ana", "bob"])
        await fleet.pause("bob", "lunch")
        await (await ana.start("Write to bob.")).outcome()
        async with window(fleet) as at:
            await at.open("/messages")
            await at.sees("unread: bob is paused")
            await at.readable()


async def test_the_burn_down_of_one_agent_is_shown_against_its_limit(make_fleet: MakeFleet) -> None:
    async with make_fleet(limit=100_000) as fleet:
        (ana,) = await fleet.spawn(Agent(preset=scripted(say("Good."))), ["ana"], limit=20_000)
        await (await ana.start("How is it?")).outcome()
        async with window(fleet) as at:
            await at.open("/budgets")
            await at.sees("Tokens left of 100,000, over time")
            await at.page.get_by_label("Account").click()
            await at.page.get_by_role("option", name="agent ana").click()
            await at.sees("Tokens left of 20,000, over time")


async def test_every_page_is_readable_in_both_colours_and_both_widths_and_says_what_is_missing(
    make_fleet: MakeFleet,
) -> None:
    empty = {
        "/": "No agents yet",
        "/messages": "Nobody has written",
        "/budgets": "No agent waits",
        "/alerts": "No call",
    }
    async with make_fleet(limit=100_000) as fleet, window(fleet) as at:
        for path, words in {**empty, "/agent/nobody": "There is no agent 'nobody'"}.items():
            await at.open(path)
            await at.sees(words)
            await at.readable()


async def test_all_levers_are_reached_by_the_tab_key_and_escape_leaves_a_question(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        await fleet.spawn(Agent(preset=scripted(say("Good."))), ["ana"])
        async with window(fleet) as at:
            await at.open("/agent/ana")
            await at.page.get_by_label("Message to ana").focus()
            levers = [
                "Send",
                "Pause",
                "Resume",
                "Stop",
                "Kill",
                "Token limit of ana",
                "Set limit",
                "Timeline",
                "Transcript",
            ]
            reached: list[str] = []
            for _ in range(len(levers)):
                await at.page.keyboard.press("Tab")
                reached.append(str(await at.page.evaluate(FOCUSED)))
            assert reached == levers
            await at.page.get_by_role("button", name="Stop", exact=True).focus()
            await at.page.keyboard.press("Enter")
            dialog = at.page.get_by_role("dialog")
            await expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
            for _ in range(4):
                await at.page.keyboard.press("Tab")  # what leaves the dialogue is brought back
                await at.page.wait_for_function(WITHIN, arg=await dialog.element_handle())
            await at.page.keyboard.press("Escape")
            await expect(dialog).to_be_hidden()
            assert [row.stopped for row in await fleet.statuses()] == [""]


async def test_a_page_that_loses_its_fleet_says_how_it_was_last(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        await fleet.spawn(Agent(preset=scripted(say("Good."))), ["ana"])
        async with window(fleet) as at:
            await at.sees("ana")
            await at.page.context.set_offline(True)
            await at.page.evaluate("window.socket.disconnect()")
            await expect(at.page.get_by_text("Connection lost.")).to_be_visible(timeout=PATIENCE_MS)
            await at.page.context.set_offline(False)
            await at.page.evaluate("window.socket.connect()")
            await expect(at.page.get_by_text("Connection lost.")).to_be_hidden(timeout=PATIENCE_MS)
