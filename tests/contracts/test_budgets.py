"""Limits in more than tokens, of fleets, teams, agents and runs, and what happens when they are reached."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from amrita_fleet import (
    Account,
    Agent,
    AgentRef,
    AgentUnknown,
    Amount,
    ChannelClosed,
    Ending,
    Fleet,
    Limit,
    Limits,
    LimitTooLarge,
    ModelPreset,
    NameInvalid,
    Notice,
    PresetInvalid,
    Price,
    PriceMissing,
    TeamUnknown,
    tool,
)
from amrita_fleet.protocols.mail import ReceiptState, Refusal
from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.providers.script import Move
from amrita_fleet.protocols.providers.scripted import call, calls, repeat, say, scripted
from amrita_fleet.runtime.step.prompts import LEFT_OUT

pytestmark = pytest.mark.anyio

MakeFleet = Callable[..., Fleet]
COST = {"prompt": 1_000, "completion": 100}
PRICE = Price(prompt=3.0, output=15.0, as_of="2026-11-01")
WAIT = call("wait_for_messages", seconds=600)
EACH = 1_000 * 3_000 + 100 * 15_000
"""Nano-dollars of one call that is counted so."""


@tool
def look(at: int) -> str:
    """Look at something."""
    return f"seen {at}"


def priced(preset: ModelPreset) -> ModelPreset:
    return replace(preset, price=PRICE)


def answering(*, price: Price | None = None, limit: Limits | None = None) -> Agent:
    return Agent(preset=replace(scripted(repeat(say("done", usage=COST))), price=price), limit=limit)


def looking(limit: Limits | None = None) -> Agent:
    """Looks at another thing each time, for ever."""
    spent: Json = {**COST}
    rounds = [call("look", at=number) | {"usage": spent} for number in range(40)]
    return Agent(preset=priced(scripted(*rounds)), tools=(look,), limit=limit)


async def account(fleet: Fleet, name: str) -> Account:
    return next(each for each in await fleet.accounts() if each.name == name)


async def seen(fleet: Fleet, event: str, count: int = 1) -> Notice:
    """Wait for the notice of that kind that is the `count`-th."""
    async with asyncio.timeout(20):
        async for notice in fleet.notices():
            count -= f"{notice.type}.{notice.extra_type}" == event
            if not count:
                return notice
    raise AssertionError(event)


async def stopped_runs(agent: AgentRef) -> None:
    """Ask for run after run, each of which is stopped, until none is taken any more."""
    while (await agent.run("Look.")).ending is Ending.STOPPED:
        pass


# --- what is limited --------------------------------------------------------------------------------------------------


async def test_money_is_counted_by_the_price_of_the_preset_and_its_limit_is_hard(make_fleet: MakeFleet) -> None:
    async with make_fleet(Limits(dollars=0.1)) as fleet:
        (ana,) = await fleet.spawn(answering(price=PRICE), ["ana"])
        outcome = await ana.run("?")
        while outcome.answered:
            outcome = await ana.run("?")
        whole, (row,) = await account(fleet, fleet.name), await fleet.statuses()
        assert outcome.limit is Limit.FLEET_DOLLARS
        assert whole.spent.nanodollars % EACH == 0 < whole.spent.nanodollars <= 0.1e9
        assert whole.spent.dollars == pytest.approx(whole.spent.model_calls * EACH / 1e9)
        assert row.spent == whole.spent


async def test_a_limit_in_dollars_needs_a_price_and_says_what_to_write(make_fleet: MakeFleet) -> None:
    async with make_fleet(Limits(dollars=1)) as fleet:
        with pytest.raises(PriceMissing, match=r"write ModelPreset\(price=Price\(prompt=\.\.\., output=\.\.\., as_of="):
            await fleet.spawn(answering(), ["ana"])
        assert await fleet.statuses() == ()
        await fleet.spawn(answering(price=PRICE), ["ana"])
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(answering(), ["ana"])
        with pytest.raises(PriceMissing):
            await ana.run("?", limit=Limits(dollars=1))
        with pytest.raises(PriceMissing):
            await fleet.limit(Limits(dollars=1))
        assert (await ana.run("?")).answered


async def test_model_calls_are_limited_and_one_is_kept_for_the_last_answer(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(looking(Limits(model_calls=3)), ["ana"])
        outcome = await ana.run("Look.")
        assert (outcome.ending, outcome.limit, outcome.rounds) == (Ending.LIMIT, Limit.MODEL_CALLS, 2)
        assert (await account(fleet, "ana")).spent.model_calls == 3


async def test_calls_of_a_reply_that_are_too_many_are_left_out_and_the_model_is_told(make_fleet: MakeFleet) -> None:
    many = calls(*(call("look", at=number) for number in range(5)))
    agent = Agent(preset=scripted(many, say("That is all.")), tools=(look,), limit=Limits(tool_calls=3))
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent, ["ana"])
        run = await ana.start("Look five times.")
        told = [notice.extra_type async for notice in run if notice.type == "tool"]
        outcome = await run.outcome()
        assert [told.count(event) for event in ("started", "ended", "left_out")] == [3, 3, 2]
        assert (outcome.limit, outcome.text) == (Limit.TOOL_CALLS, "That is all.")
        assert (await account(fleet, "ana")).spent.tool_calls == 3


async def test_the_model_reads_that_a_call_was_left_out(make_fleet: MakeFleet) -> None:
    many = calls(*(call("look", at=number) for number in range(2)))
    agent = Agent(preset=scripted(many), tools=(look,), limit=Limits(tool_calls=1, model_calls=2))
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent, ["ana"])
        assert LEFT_OUT in (await ana.run("Look twice.")).text


# --- whose limit ------------------------------------------------------------------------------------------------------


async def test_a_run_can_have_a_limit_of_its_own_and_the_next_one_begins_anew(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(looking(), ["ana"])
        outcome = await ana.run("Look.", limit=Limits(model_calls=3))
        assert (outcome.limit, outcome.rounds) == (Limit.RUN_MODEL_CALLS, 2)
        await seen(fleet, "run.finished")
        assert [each.name for each in await fleet.accounts()] == [fleet.name, "ana"]
        assert (await ana.run("Look.", limit=Limits(model_calls=5))).rounds == 4
        assert (await account(fleet, "ana")).spent.model_calls == 8
        with pytest.raises(PresetInvalid, match="time_limit"):
            await ana.run("Look.", limit=Limits(seconds=3))


async def test_a_team_shares_its_limit_and_its_agents_children_are_in_it(make_fleet: MakeFleet) -> None:
    async with make_fleet(teams={"research": Limits(model_calls=4), "rest": None}) as fleet:
        (ana,) = await fleet.spawn(looking(), ["ana"], team="research")
        (bob,) = await fleet.spawn(looking(), ["bob"], parent=ana)
        (cem,) = await fleet.spawn(answering(), ["cem"], team="rest")
        assert (await ana.run("Look.")).limit is Limit.TEAM_MODEL_CALLS
        assert (await bob.run("Look.")).limit is Limit.TEAM_MODEL_CALLS
        assert (await cem.run("?")).answered
        assert (await account(fleet, "research")).spent.model_calls == 4
        with pytest.raises(TeamUnknown, match="Did you mean research"):
            await fleet.spawn(looking(), ["dan"], team="reserch")
        with pytest.raises(NameInvalid, match="a team of the fleet has that name"):
            await fleet.spawn(looking(), ["rest"])


async def test_what_is_carved_for_one_is_not_there_for_another(make_fleet: MakeFleet) -> None:
    async with make_fleet(Limits(model_calls=10)) as fleet:
        (ana,) = await fleet.spawn(looking(Limits(model_calls=6, carved=True)), ["ana"])
        with pytest.raises(LimitTooLarge, match="does not fit into"):
            await fleet.spawn(looking(Limits(model_calls=6, carved=True)), ["bob"])
        (bob,) = await fleet.spawn(looking(), ["bob"])
        assert (await bob.run("Look.")).rounds == 3  # 10 without the 6 and the one that is kept for last answers
        assert (await ana.run("Look.")).rounds == 5
        assert (await account(fleet, fleet.name)).spent.model_calls == 10


# --- what happens then ------------------------------------------------------------------------------------------------


async def test_who_is_to_pause_stays_where_it_is_until_the_limit_is_raised(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(looking(Limits(model_calls=3, on_exhaustion="pause")), ["ana"])
        run = await ana.start("Look.")
        told = await seen(fleet, "budget.paused")
        assert (told.agent, told.data["limit"], told.data["account"]) == ("ana", "model_calls", "ana")
        assert (await account(fleet, "ana")).spent.model_calls == 2
        await fleet.limit(Limits(model_calls=5), of="ana")
        outcome = await run.outcome()
        assert (outcome.limit, outcome.rounds) == (Limit.MODEL_CALLS, 4)


async def test_a_person_is_asked_and_says_no(make_fleet: MakeFleet) -> None:
    async with make_fleet(Limits(model_calls=3, on_exhaustion="ask")) as fleet:
        (ana,) = await fleet.spawn(looking(), ["ana"])
        run = await ana.start("Look.")
        assert (await seen(fleet, "budget.asked")).agent == "ana"
        await fleet.grant_no_more()
        assert (await run.outcome()).limit is Limit.FLEET_MODEL_CALLS


@pytest.mark.parametrize(
    ("action", "said"), [("ask", "asks for more"), ("pause", "paused until there is more")], ids=["ask", "pause"]
)
async def test_the_row_of_who_stays_where_it_is_says_what_it_asks_for(
    make_fleet: MakeFleet, action: Literal["ask", "pause"], said: str
) -> None:
    few = Limits(model_calls=3, on_exhaustion=action)
    async with make_fleet(name="crew", teams={"two": few}) as fleet:
        (ana,) = await fleet.spawn(looking(), ["ana"], team="two")
        run = await ana.start("Look.")
        async with asyncio.timeout(20):
            while not (row := (await fleet.statuses())[0]).note.endswith(" s") or row.phase != "paused":  # noqa: ASYNC110
                await asyncio.sleep(0.02)  # no notice tells that the row is there
        assert re.fullmatch(rf"{said}: limit model_calls of team two, for \d+ s", row.note)
        assert type(row.phase) is str
        await fleet.grant_no_more(of="two")
        assert (await run.outcome()).limit is Limit.TEAM_MODEL_CALLS
        assert said not in (await fleet.statuses())[0].note


async def test_a_person_who_lets_it_go_on_without_more_is_asked_again(make_fleet: MakeFleet) -> None:
    async with make_fleet(Limits(model_calls=3, on_exhaustion="ask")) as fleet:
        (ana,) = await fleet.spawn(looking(), ["ana"])
        run = await ana.start("Look.")
        await seen(fleet, "budget.asked")
        await ana.resume()
        await seen(fleet, "budget.asked", 2)
        await fleet.limit(None)
        assert (await run.outcome()).limit is Limit.ROUNDS


async def test_an_account_can_stop_all_of_its_agents(make_fleet: MakeFleet) -> None:
    async with make_fleet(teams={"two": Limits(model_calls=3, on_exhaustion="stop")}) as fleet:
        ana, bob = await fleet.spawn(looking(), ["ana", "bob"], team="two")
        (cem,) = await fleet.spawn(answering(), ["cem"])
        outcome = await ana.run("Look.")
        assert (outcome.ending, outcome.rounds) == (Ending.STOPPED, 2)
        assert "1 model call. Of the 3 that 'two' may spend" in outcome.reason
        for each in (ana, bob):
            with pytest.raises(ChannelClosed, match="Of the 3 that 'two' may spend"):
                await stopped_runs(each)
            refused = await each.send("Are you there?")
            assert (refused.state, refused.refusal) == (ReceiptState.REFUSED, Refusal.STOPPED)
        assert (await cem.run("?")).answered
        phases = {str(row.agent): row.phase for row in await fleet.statuses()}
        assert (phases["ana"], phases["bob"]) == ("stopped", "stopped")


async def test_a_run_that_is_to_pause_goes_on_with_a_higher_limit_and_no_later_run_waits_for_it(
    make_fleet: MakeFleet,
) -> None:
    few = Limits(model_calls=3, on_exhaustion="ask")
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(looking(), ["ana"])
        run = await ana.start("Look.", limit=few)
        assert (await seen(fleet, "budget.asked")).data["account"] == run.id
        await fleet.limit(replace(few, model_calls=5), of=run)
        await seen(fleet, "budget.asked", 2)
        await fleet.grant_no_more(of=run)
        outcome = await run.outcome()
        assert (outcome.limit, outcome.rounds) == (Limit.RUN_MODEL_CALLS, 4)
        late = await ana.start("Look.", time_limit=0.5, limit=replace(few, model_calls=1))
        assert (await late.outcome()).limit is Limit.TIME
        assert (await ana.run("Look.", limit=Limits(model_calls=2))).limit is Limit.RUN_MODEL_CALLS


async def test_whom_an_account_stops_is_told_also_while_it_asks_for_nothing(make_fleet: MakeFleet) -> None:
    @tool
    async def dig() -> str:
        """Dig for ever."""
        await asyncio.Event().wait()
        return "done"

    def first(move: Move) -> Agent:
        return Agent(preset=scripted(move, repeat(say("done"))), tools=(dig,))

    async with make_fleet(Limits(model_calls=8, on_exhaustion="stop")) as fleet:
        _, halted = await fleet.spawn(first(WAIT), ["waiting", "halted"])
        await fleet.spawn(first(call("dig")), ["digging"])
        runs = [await fleet.start(name, "Go.") for name in ("waiting", "halted", "digging")]
        await seen(fleet, "tool.started", 3)
        await halted.pause()
        (ana,) = await fleet.spawn(looking(), ["ana"])
        assert (await ana.run("Look.")).ending is Ending.STOPPED
        for run in runs:
            outcome = await run.outcome()
            assert (outcome.ending, "Of the 8 that" in outcome.reason) == (Ending.STOPPED, True)


async def test_a_run_that_may_only_spend_so_much_is_stopped_alone(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(looking(), ["ana"])
        outcome = await ana.run("Look.", limit=Limits(model_calls=3, on_exhaustion="stop"))
        assert outcome.ending is Ending.STOPPED
        assert (await ana.run("Look.", limit=Limits(model_calls=3))).limit is Limit.RUN_MODEL_CALLS


async def test_the_limit_of_a_run_is_raised_while_it_is_paused_for_it_and_then_refused(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(looking(), ["ana"])
        run = await ana.start("Look.", limit=Limits(model_calls=3, on_exhaustion="pause"))
        assert (await seen(fleet, "budget.paused")).data["account"] == run.id
        await fleet.limit(Limits(model_calls=5, on_exhaustion="ask"), of=run)
        assert (await seen(fleet, "budget.asked")).agent == "ana"
        await fleet.grant_no_more(of=run.id)
        outcome = await run.outcome()
        assert (outcome.limit, outcome.rounds) == (Limit.RUN_MODEL_CALLS, 4)


async def test_after_its_limit_was_raised_an_agent_takes_runs_and_mail_again(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(looking(Limits(model_calls=3)), ["ana"])
        assert (await ana.run("Look.")).limit is Limit.MODEL_CALLS
        assert (await ana.send("hello")).refusal == "limit"
        await fleet.limit(Limits(model_calls=6), of=ana)
        assert (await ana.run("Look.")).rounds == 2
        await fleet.limit(None, of=ana)
        assert (await ana.send("hello")).refusal is None


async def test_a_limit_is_changed_of_what_there_is(make_fleet: MakeFleet) -> None:
    async with make_fleet(Limits(tokens=50_000), teams={"all": Limits(tokens=9_000)}) as fleet:
        await fleet.spawn(answering(), ["ana"], team="all")
        with pytest.raises(AgentUnknown, match="Did you mean ana"):
            await fleet.limit(5, of="anna")
        await fleet.limit(30_000, of="all")
        await fleet.limit(20_000, of="ana")
        with pytest.raises(LimitTooLarge, match="does not fit into 'all'"):
            await fleet.limit(Limits(tokens=40_000, carved=True), of="ana")
        assert [str(each.limit) for each in await fleet.accounts()] == [
            "50,000 tokens",
            "30,000 tokens",
            "20,000 tokens",
        ]


@pytest.mark.parametrize("system", ["local", pytest.param("ray", marks=pytest.mark.ray)])
async def test_changed_limits_and_what_is_spent_outlive_the_process(
    system: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if system == "ray":
        request.getfixturevalue("ray_cluster")

    def fleet() -> Fleet:
        teams = {"two": Limits(model_calls=30)}
        return Fleet("kept", system=system, journal=tmp_path / "kept.sqlite", teams=teams)  # type: ignore[arg-type]

    async with fleet() as first:
        (ana,) = await first.spawn(looking(Limits(model_calls=3)), ["ana"], team="two")
        await ana.run("Look.")
        await first.limit(Limits(model_calls=5), of="ana")
        before = await account(first, "ana")
    async with fleet() as second:
        (ana,) = await second.spawn(looking(Limits(model_calls=3)), ["ana"], team="two")
        again = await account(second, "ana")
        assert (again.limit, again.spent) == (Limits(model_calls=5), before.spent)
        assert (await ana.run("Look.")).limit is Limit.MODEL_CALLS
        assert (await account(second, "two")).spent == Amount(5 * 1_100, 5 * EACH, 5, 3)


# --- providers that bill more -----------------------------------------------------------------------------------------


async def test_a_provider_that_may_bill_more_is_told_of_and_what_it_did_is_shown_in_each_account(
    make_fleet: MakeFleet,
) -> None:
    liar = scripted(repeat(say("done", usage={"prompt": 1_000, "completion": 9_000})))
    liar = priced(replace(liar, profile={"honours_cap": False}))
    async with make_fleet(Limits(tokens=1_000_000, dollars=9), teams={"all": None}) as fleet:
        (ana,) = await fleet.spawn(Agent(preset=liar), ["ana"], team="all")
        assert (await seen(fleet, "budget.soft")).agent == "ana"
        await ana.run("?")
        told = await seen(fleet, "budget.overshoot")
        accounts = await fleet.accounts()
        assert len(accounts) == 3
        for each in accounts:
            assert each.overshoot.tokens == told.data["overshoot"] != 0
            assert each.overshoot.dollars == told.data["dollars"] != 0
            assert each.spent.tokens == 10_000
