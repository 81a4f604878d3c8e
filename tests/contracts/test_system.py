"""One contract for both systems: what holds in this process holds on a cluster."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from amrita_fleet import (
    Agent,
    AgentUnknown,
    AmritaConfig,
    ChannelClosed,
    Fleet,
    FleetClosed,
    FleetError,
    NameTaken,
    Outcome,
    RunUnknown,
    Stopped,
    Tool,
    get_config,
    tool,
)
from amrita_fleet.protocols.ids import RunId
from amrita_fleet.protocols.mail import ReceiptState
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.protocols.presets import ModelPreset
from amrita_fleet.protocols.providers.base import Provider
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat
from amrita_fleet.protocols.providers.scripted import ScriptedProvider, call, calls, repeat, say, scripted
from amrita_fleet.runtime.config import BuiltinConfig, FunctionConfig

from .gate import Gate

MakeFleet = Callable[..., Fleet]

pytestmark = pytest.mark.anyio

CANCELLED = "Cancelled: Reach the max limit of repeatly calling tool."


def agent(*moves: object, tools: tuple[Tool, ...] = (), **fields: object) -> Agent:
    """An agent whose model says these moves in turn."""
    return Agent(preset=scripted(*moves), tools=tools, **fields)  # type: ignore[arg-type]


def echo_tool() -> Tool:
    @tool
    async def echo(text: str) -> str:
        """Say it again."""
        return text

    return echo


async def collected(fleet: Fleet, until: Callable[[Notice], bool]) -> list[Notice]:
    """The fleet's notices up to the one that `until` says ends them."""
    seen: list[Notice] = []
    async with asyncio.timeout(30):
        async for notice in fleet.notices():
            seen.append(notice)
            if until(notice):
                return seen
    raise AssertionError


def kinds(notices: list[Notice], name: str) -> list[str]:
    return [f"{n.type}.{n.extra_type}" for n in notices if n.agent == name]


def finished(name: str) -> Callable[[Notice], bool]:
    return lambda n: n.agent == name and n.type is NoticeType.RUN and n.extra_type == "finished"


async def test_a_run_answers_and_says_so_in_its_notices(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(call("echo", text="x"), say("done"), tools=(echo_tool(),)), ["ana"])
        run = await ana.start("do it")
        notices = [notice async for notice in run]
        outcome = await run.outcome()
    assert (outcome.text, outcome.answered, outcome.rounds) == ("done", True, 2)
    assert kinds(notices, "ana") == [
        "run.started",
        "step.intro",
        "model.replied",
        "tool.started",
        "tool.ended",
        "model.replied",
        "step.leave",
        "run.finished",
    ]
    assert [n.number for n in notices] == sorted(n.number for n in notices)
    assert next(n for n in notices if n.extra_type == "intro").get("type") == "step"


async def test_a_message_is_consumed_at_a_boundary_and_ends_the_step_after_the_round(make_fleet: MakeFleet) -> None:
    async with Gate() as gate, make_fleet() as fleet:
        script = (call("gate", name="one"), say("first"))
        (ana,) = await fleet.spawn(agent(*script, tools=(gate.tool,)), ["ana"])
        run = await ana.start("go")
        await gate.begun("one")
        receipt = await ana.send("hello")
        assert receipt.state is ReceiptState.ACCEPTED
        gate.let("one")
        notices = [notice async for notice in run]
        assert (await run.outcome()).text == "first"
        now = await fleet.receipt(receipt)
    order = kinds(notices, "ana")
    taken, ended = order.index("mail.consumed"), order.index("tool.ended")
    assert order[ended + 1 : taken] == ["step.leave", "step.intro"]
    assert order[taken + 1] == "model.replied"
    assert (now.state, now.step, now.run) == (ReceiptState.CONSUMED, 2, run.id)


async def test_mail_wakes_an_idle_agent(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(say("awake")), ["ana"])
        await ana.send("wake up")
        notices = await collected(fleet, finished("ana"))
    assert "mail.consumed" in kinds(notices, "ana")
    assert notices[-1].data["text"] == "awake"


async def test_a_second_start_waits_for_the_first_run(make_fleet: MakeFleet) -> None:
    async with Gate() as gate, make_fleet() as fleet:
        script = (call("gate", name="first"), say("one"), call("gate", name="second"), say("two"))
        (ana,) = await fleet.spawn(agent(*script, tools=(gate.tool,)), ["ana"])
        first = await ana.start("1")
        second = await ana.start("2")
        await gate.begun("first")
        assert not gate.has_begun("second")
        gate.let("first")
        gate.let("second")
        assert [(await first.outcome()).text, (await second.outcome()).text] == ["one", "two"]


async def test_messages_of_one_sender_are_consumed_in_order(make_fleet: MakeFleet) -> None:
    async with Gate() as gate, make_fleet() as fleet:
        sends = calls(*[call("send_message", to="bob", body=f"n{i}") for i in range(20)])
        await fleet.spawn(agent(call("gate", name="bob"), say("read"), tools=(gate.tool,)), ["bob"])
        (ana,) = await fleet.spawn(agent(sends, say("sent")), ["ana"])
        bob = await fleet.start("bob", "wait")
        await gate.begun("bob")
        assert (await ana.run("send")).text == "sent"
        gate.let("bob")
        await bob.outcome()
        notices = await collected(fleet, finished("bob"))
    taken = [str(n.text) for n in notices if n.agent == "bob" and n.extra_type == "consumed"]
    assert len(taken) == 20
    assert taken == [f"from ana: n{i}" for i in range(20)]


async def test_a_misspelt_recipient_is_an_error_that_names_near_ones(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        await fleet.spawn(agent(say("hi")), ["analyst"])
        with pytest.raises(AgentUnknown) as caught:
            await fleet.send("analist", "hello")
    assert "analyst" in caught.value.near


async def test_a_stopped_agent_refuses_mail_and_runs_at_once(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(say("hi")), ["ana"])
        await ana.stop()
        receipt = await ana.send("hello")
        assert (receipt.state, receipt.refusal) == (ReceiptState.REFUSED, "stopped")
        with pytest.raises(ChannelClosed):
            await ana.start("more")


async def test_the_nth_identical_call_does_not_run_and_the_run_ends_stalled(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        script = (repeat(call("echo", text="same")),)
        (ana,) = await fleet.spawn(agent(*script, tools=(echo_tool(),)), ["ana"])
        run = await ana.start("loop")
        notices = [notice async for notice in run]
        outcome = await run.outcome()
    assert str(outcome) == "stalled"
    assert kinds(notices, "ana").count("tool.started") == 4
    assert kinds(notices, "ana").count("step.stall") == 1
    assert CANCELLED in next(n.text for n in notices if n.extra_type == "cancelled")


async def test_the_run_ends_at_the_round_limit_with_a_last_answer(make_fleet: MakeFleet) -> None:
    config = AmritaConfig(function_config=FunctionConfig(agent_tool_call_limit=3))
    async with make_fleet() as fleet:
        moves = [call("echo", text=str(i)) for i in range(3)]
        (ana,) = await fleet.spawn(agent(*moves, say("what I have"), tools=(echo_tool(),), config=config), ["ana"])
        outcome = await ana.run("work")
    assert (str(outcome), outcome.text) == ("limit:agent_tool_call_limit", "what I have")


async def test_eight_agents_at_once_never_pass_the_fleets_limit(make_fleet: MakeFleet) -> None:
    limit = 60_000
    config = AmritaConfig(function_config=FunctionConfig(agent_tool_call_limit=1000, step_rounds=50))
    spender = agent(
        *[call("echo", text=f"{i} " + "x" * 200) for i in range(1000)],
        tools=(echo_tool(),),
        config=config,
    )
    async with make_fleet(limit=limit) as fleet:
        names = [f"s{i}" for i in range(8)]
        spenders = await fleet.spawn(spender, names)
        runs = [await each.start("spend") for each in spenders]
        outcomes: list[Outcome] = await asyncio.gather(*(run.outcome() for run in runs))
        accounts = {account.name: account for account in await fleet.accounts()}
    account = accounts[fleet.name]
    assert {str(outcome) for outcome in outcomes} == {"limit:fleet_tokens"}
    assert account.spent.tokens == sum(outcome.tokens for outcome in outcomes) <= limit
    assert account.reserved.tokens == 0
    assert account.overshoot.tokens == 0
    assert account.spent.tokens > limit * 0.7


async def test_stop_while_a_tool_runs_ends_the_run_and_cancels_the_tool(make_fleet: MakeFleet) -> None:
    async with Gate() as gate, make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(call("gate", name="x"), say("never"), tools=(gate.tool,)), ["ana"])
        run = await ana.start("go")
        await gate.begun("x")
        assert await ana.stop("enough") == Stopped(acknowledged=(ana.name,))
        await gate.cut("x")
        outcome = await run.outcome()
    assert (str(outcome), outcome.reason) == ("stopped", "enough")


async def test_stopping_the_whole_fleet_names_everybody_and_holds_for_those_to_come(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        ana, bob = await fleet.spawn(agent(say("hi")), ["ana", "bob"])
        assert await fleet.stop(ana, "bob") == Stopped(acknowledged=(ana.name, bob.name))
        (cat,) = await fleet.spawn(agent(say("hi")), ["cat"])
        assert (await cat.run("?")).answered
        assert await fleet.stop_all("over") == Stopped(acknowledged=(ana.name, bob.name, cat.name))
        (late,) = await fleet.spawn(agent(say("hi")), ["late"])
        with pytest.raises(ChannelClosed, match="over"):
            await late.run("?")


async def test_a_paused_agent_goes_on_when_it_is_resumed(make_fleet: MakeFleet) -> None:
    async with Gate() as gate, make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(call("gate", name="x"), say("done"), tools=(gate.tool,)), ["ana"])
        run = await ana.start("go")
        await gate.begun("x")
        await fleet.pause("ana")
        gate.let("x")
        notices = await collected(fleet, lambda n: n.agent == "ana" and n.text.startswith("paused") and n.run == run.id)
        assert "run.finished" not in kinds(notices, "ana")
        await fleet.resume("ana")
        assert (await run.outcome()).text == "done"


async def test_a_family_that_was_paused_goes_on_when_its_head_is_resumed(make_fleet: MakeFleet) -> None:
    async with Gate() as gate, make_fleet() as fleet:
        described = agent(call("gate", name="lead"), say("done"), tools=(gate.tool,))
        (lead,) = await fleet.spawn(described, ["lead"])
        (kid,) = await fleet.spawn(
            agent(call("gate", name="kid"), say("done"), tools=(gate.tool,)), ["kid"], parent=lead
        )
        runs = [await each.start("go") for each in (lead, kid)]
        for each in (lead, kid):
            await gate.begun(each.name)
        await lead.pause()
        await lead.pause("again")
        for each, run in zip((lead, kid), runs, strict=True):
            gate.let(each.name)
            await collected(fleet, lambda n, run=run: n.run == run.id and n.text.startswith("paused"))  # type: ignore[misc]
        await lead.resume()
        await lead.resume()
        assert [(await run.outcome()).text for run in runs] == ["done", "done"]


async def test_a_spawn_that_fails_half_way_is_undone_and_the_names_can_live_again(make_fleet: MakeFleet) -> None:
    def broken() -> bool:
        raise RuntimeError("no such switch")

    @tool(enable_if=broken)
    async def rare() -> str:
        """Nobody ever has it."""
        return ""

    async with make_fleet() as fleet:
        with pytest.raises(RuntimeError, match="no such switch"):
            await fleet.spawn(agent(say("x"), tools=(rare,)), ["ana", "bob"])
        assert [(row.agent, row.phase) for row in await fleet.statuses()] == [("ana", "dead"), ("bob", "dead")]
        with pytest.raises(ChannelClosed):
            await fleet.send("bob", "hello?")
        _, bob = await fleet.spawn(agent(say("alive")), ["ana", "bob"])
        run = await bob.start("?")
        notices = [notice async for notice in run]
        assert (await run.outcome()).text == "alive"
    assert (kinds(notices, "bob")[0], kinds(notices, "bob")[-1]) == ("run.started", "run.finished")
    assert {notice.run for notice in notices} == {run.id}


async def test_one_bad_name_admits_nobody(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        await fleet.spawn(agent(say("x")), ["ana"])
        with pytest.raises(NameTaken):
            await fleet.spawn(agent(say("x")), ["bob", "ana"])
        with pytest.raises(AgentUnknown):
            await fleet.spawn(agent(say("x")), ["bob"], parent="nobody")
        assert [row.agent for row in await fleet.statuses()] == ["ana"]


async def test_a_run_that_is_not_there_is_named(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(say("hi")), ["ana"])
        run = await ana.start("?")
        await run.outcome()
        run.id = RunId("ana.1.77")
        with pytest.raises(RunUnknown, match=r"The agent 'ana' has no run 'ana\.1\.77', or it ended too long ago\."):
            await run.outcome()


async def test_a_tool_reads_the_configuration_of_its_own_agent(make_fleet: MakeFleet) -> None:
    @tool
    async def trigger() -> int:
        """The number of identical calls that are a stall."""
        return get_config().builtin.loop_reasoning_trigger

    @tool
    def trigger_in_a_thread() -> int:
        """The same, in a thread."""
        return get_config().builtin.loop_reasoning_trigger

    async with make_fleet() as fleet:
        for name, number in (("ana", 7), ("bob", 9)):
            config = AmritaConfig(builtin=BuiltinConfig(loop_reasoning_trigger=number))
            moves = (calls(call("trigger"), call("trigger_in_a_thread")), say("done"))
            await fleet.spawn(agent(*moves, tools=(trigger, trigger_in_a_thread), config=config), [name])
        for name, told in (("ana", "7"), ("bob", "9")):
            notices = [notice async for notice in await fleet.start(name, "?")]
            assert [n.text.endswith(told) for n in notices if n.extra_type == "ended"] == [True, True]


async def test_two_fleets_side_by_side_share_nothing(make_fleet: MakeFleet) -> None:
    async with make_fleet() as one, make_fleet() as other:
        await one.spawn(agent(say("one")), ["ana"])
        await other.spawn(agent(say("other")), ["ana"])
        outcomes = await asyncio.gather(one.agent("ana").run("?"), other.agent("ana").run("?"))
        with pytest.raises(NameTaken):
            await one.spawn(agent(say("again")), ["bob", "ana"])
        assert [status.agent for status in await other.statuses()] == ["ana"]
    assert [outcome.text for outcome in outcomes] == ["one", "other"]


async def test_a_waiting_agent_is_woken_by_the_mail_it_waits_for(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(call("wait_for_messages", seconds=60), say("got it")), ["ana"])
        run = await ana.start("wait")
        await collected(fleet, lambda n: n.agent == "ana" and n.extra_type == "waiting")
        await ana.send("here")
        assert (await run.outcome()).text == "got it"


async def test_the_parent_is_told_by_mail_how_a_child_ended(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        (lead,) = await fleet.spawn(agent(call("wait_for_messages", seconds=60), say("told")), ["lead"])
        (kid,) = await fleet.spawn(agent(repeat(call("echo", text="x")), tools=(echo_tool(),)), ["kid"], parent=lead)
        run = await lead.start("watch over kid")
        await collected(fleet, lambda n: n.agent == "lead" and n.extra_type == "waiting")
        assert str(await kid.run("loop")) == "stalled"
        notices = [notice async for notice in run]
    (note,) = [n for n in notices if n.extra_type == "consumed"]
    assert note.data["sender"] == "supervisor"
    assert "kid ended its run: stalled" in note.text


async def test_an_agent_out_of_tokens_refuses_mail_and_names_the_limit(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        moves = [call("echo", text=f"{i} " + "x" * 200) for i in range(100)]
        config = AmritaConfig(function_config=FunctionConfig(agent_tool_call_limit=100))
        small = agent(*moves, tools=(echo_tool(),), config=config)
        (ana,) = await fleet.spawn(small, ["ana"], limit=20_000)
        outcome = await ana.run("spend")
        assert str(outcome) == "limit:tokens"
        assert outcome.tokens <= 20_000
        receipt = await ana.send("more?")
    assert (receipt.state, receipt.refusal) == (ReceiptState.REFUSED, "limit")


async def test_an_adapter_of_the_users_own_speaks_wherever_the_agent_lives(make_fleet: MakeFleet) -> None:
    @dataclass(frozen=True)
    class Shouting(OpenAIChat):
        """Known only to this process until a preset carries it."""

        @staticmethod
        def get_adapter_protocol() -> tuple[str, ...]:
            return ("shouting",)

        @classmethod
        def direct(cls, preset: ModelPreset) -> Provider:
            return ScriptedProvider(scripted(say(preset.model.upper())))

    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(Agent(preset=ModelPreset(model="hello", protocol="shouting")), ["ana"])
        assert (await ana.run("?")).text == "HELLO"


async def test_whoever_reads_the_notices_comes_to_an_end_with_the_fleet(make_fleet: MakeFleet) -> None:
    begun = asyncio.Event()

    async def read() -> list[str]:
        told: list[str] = []
        async for notice in fleet.notices():
            told.append(f"{notice.agent} {notice.extra_type}")
            begun.set()
        return told

    async with make_fleet() as fleet:
        await fleet.spawn(Agent(preset=scripted(say("hi"))), ["ana"])
        reading = asyncio.create_task(read())
        await begun.wait()
    async with asyncio.timeout(30):
        assert (await reading)[:2] == ["ana admitted", "ana ready"]


async def test_a_fleet_is_used_only_while_it_is_open(make_fleet: MakeFleet) -> None:
    fleet = make_fleet()
    with pytest.raises(FleetClosed, match="not open yet"):
        await fleet.statuses()
    async with fleet:
        (ana,) = await fleet.spawn(agent(say("hi")), ["ana"])
        run = await ana.start("?")
        await run.outcome()
        with pytest.raises(FleetClosed, match="entered once"):
            await fleet.__aenter__()
    for use in (fleet.statuses, fleet.stop_all, lambda: fleet.send("ana", "hello"), lambda: ana.run("?")):
        with pytest.raises(FleetClosed, match="make a new Fleet"):
            await use()
    with pytest.raises(FleetError):
        await run.outcome()
    with pytest.raises(FleetClosed):
        await fleet.__aenter__()
    await fleet.close()
