"""A stream joined to a run, on both systems: what comes out, what goes in, and an agent that stands still."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from amrita_fleet import (
    Agent,
    AgentStatus,
    AmritaConfig,
    ChannelClosed,
    Ending,
    Fleet,
    FunctionConfig,
    Limit,
    Message,
    ModelPreset,
    Notice,
    Outcome,
    Receipt,
    ReceiptState,
    Refusal,
    Reply,
    StreamClosed,
    StreamMisused,
    SuspendObjectStream,
    SuspendTimedOut,
    SuspensionRefused,
    Tool,
)
from amrita_fleet.protocols.providers.base import Draft, Provider, Watcher
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat
from amrita_fleet.protocols.providers.scripted import ScriptedProvider, call, say

from .gate import Gate

MakeFleet = Callable[..., Fleet]

pytestmark = pytest.mark.anyio


ECHO = "what was said last"


@cache
def attentive() -> type[OpenAIChat]:
    """A protocol whose model plays its script, but for `say(ECHO)` repeats the last turn of its request.

    Made in a function, so that it goes to other processes by value.
    """

    class AttentiveProvider(ScriptedProvider):
        async def call(self, draft: Draft, output: int, watch: Watcher | None = None) -> Reply:
            reply = await super().call(draft, output, watch)
            last = draft.turns[-1]
            if reply.message.content != ECHO or not isinstance(last, Message):
                return reply
            return replace(reply, message=replace(reply.message, content=last.content))

    class Attentive(OpenAIChat):
        @staticmethod
        def get_adapter_protocol() -> tuple[str, ...]:
            return ("attentive",)

        @classmethod
        def direct(cls, preset: ModelPreset) -> Provider:
            return AttentiveProvider(preset)

    return Attentive


def agent(*moves: object, tools: tuple[Tool, ...] = (), timeout: float | None = None) -> Agent:
    """An agent whose model says these moves in turn."""
    attentive()
    preset = ModelPreset(model="m", protocol="attentive", extra_body={"script": list(moves)})
    return Agent(preset=preset, tools=tools, run_timeout=timeout)


async def read(stream: SuspendObjectStream) -> list[object]:
    async with asyncio.timeout(30):
        return [each async for each in stream.get_response_generator()]


def kinds(objects: list[object]) -> list[str]:
    return [f"{each.type}.{each.extra_type}" for each in objects if isinstance(each, Notice)]


async def row(fleet: Fleet, so: Callable[[AgentStatus], bool]) -> None:
    """Wait until the one agent's row of the table is so."""
    async with asyncio.timeout(30):
        while not so((await fleet.statuses())[0]):  # noqa: ASYNC110  nothing tells when a row changes
            await asyncio.sleep(0.01)


async def suspending(fleet: Fleet, stream: SuspendObjectStream, tag: str) -> "asyncio.Task[str]":
    """Ask for a suspension, and wait until the agent knows of it."""
    asked = asyncio.create_task(stream.wait_to_suspend(tag, timeout=30))
    await row(fleet, lambda row: row.note == f"to be suspended at {tag}")
    return asked


async def test_a_stream_gives_the_notices_of_its_run_and_its_outcome_last(make_fleet: MakeFleet) -> None:
    stream = SuspendObjectStream()
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(say("done"), say("other")), ["ana"])
        run = await ana.start("do it", stream=stream)
        objects = await read(stream)
        with pytest.raises(StreamClosed, match="its run is over"):
            await stream.send_to_producer("too late")
        outcome = await run.outcome()
        with pytest.raises(StreamMisused, match=r"reads it already"):
            await ana.start("again", stream=stream)
    assert objects[-1] == outcome
    assert isinstance(outcome, Outcome) and outcome.text == "done"
    assert (kinds(objects)[0], kinds(objects)[-1]) == ("run.started", "run.finished")
    assert {each.run for each in objects if isinstance(each, Notice)} == {run.id}


async def test_texts_sent_before_the_run_begins_are_in_its_first_request(make_fleet: MakeFleet) -> None:
    stream = SuspendObjectStream()
    await stream.send_to_producer("use metres")
    await stream.send_to_producer("be brief")
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(say(ECHO)), ["ana"])
        outcome = await (await ana.start("measure", stream=stream)).outcome()
    assert outcome.rounds == 1
    assert outcome.text.index("use metres") < outcome.text.index("be brief")


async def test_a_text_sent_while_it_runs_is_consumed_at_the_next_boundary(make_fleet: MakeFleet) -> None:
    stream = SuspendObjectStream()
    async with Gate() as gate, make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(call("gate", name="one"), say(ECHO), tools=(gate.tool,)), ["ana"])
        run = await ana.start("go", stream=stream)
        await gate.begun("one")
        await stream.send_to_producer("hello")
        await row(fleet, lambda row: row.waiting == 1)
        gate.let("one")
        order = kinds(await read(stream))
        assert "hello" in (await run.outcome()).text
    taken, ended = order.index("mail.consumed"), order.index("tool.ended")
    assert order[ended + 1 : taken] == ["step.leave", "step.intro"]


@pytest.mark.parametrize(
    ("tag", "last"), [("tool", "tool.started"), ("model", "tool.ended"), ("boundary", "step.intro")]
)
async def test_an_agent_stands_at_the_point_that_was_asked_for_until_it_is_resumed(
    make_fleet: MakeFleet, tag: str, last: str
) -> None:
    stream = SuspendObjectStream()
    script = (call("gate", name="one"), call("gate", name="two"), say("done"))
    async with Gate() as gate, make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(*script, tools=(gate.tool,)), ["ana"])
        run = await ana.start("go", stream=stream)
        await gate.begun("one")
        asked = await suspending(fleet, stream, tag)
        if tag == "boundary":
            await stream.send_to_producer("a reason to begin a Step")
            await row(fleet, lambda row: row.waiting == 1)
        gate.let("one")
        assert await asked == tag
        await row(fleet, lambda row: row.note == f"suspended at {tag}")
        assert not gate.has_begun("two")
        await stream.resume()
        gate.let("two")
        objects = await read(stream)
        assert (await run.outcome()).text == "done"
    order = kinds(objects)
    assert last in order
    assert order[-1] == "run.finished"


async def test_a_suspension_asked_for_before_the_run_holds_at_its_very_first_point(make_fleet: MakeFleet) -> None:
    stream = SuspendObjectStream()
    asked = asyncio.create_task(stream.wait_to_suspend(timeout=30))
    await asyncio.sleep(0)
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(say("done")), ["ana"])
        run = await ana.start("go", stream=stream)
        assert await asked == "boundary"
        await stream.resume()
        assert (await run.outcome()).text == "done"


async def test_the_suspension_of_a_run_that_waits_for_its_turn_waits_with_it(make_fleet: MakeFleet) -> None:
    stream = SuspendObjectStream()
    script = (call("gate", name="one"), say("first"), call("gate", name="two"), say("second"))
    async with Gate() as gate, make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(*script, tools=(gate.tool,)), ["ana"])
        first = await ana.start("1")
        await gate.begun("one")
        second = await ana.start("2", stream=stream)
        asked = asyncio.create_task(stream.wait_to_suspend("model", timeout=30))
        await asyncio.sleep(0)
        gate.let("one")
        assert (await first.outcome()).text == "first"
        assert await asked == "model"
        await row(fleet, lambda row: (row.run, row.note) == (second.id, "suspended at model"))
        gate.let("two")
        await stream.resume()
        assert (await second.outcome()).text == "second"


@pytest.mark.slow
async def test_neither_the_end_of_a_run_nor_its_stream_lifts_the_suspension_of_another_one(
    make_fleet: MakeFleet,
) -> None:
    one, two = SuspendObjectStream(), SuspendObjectStream()
    script = (call("gate", name="one"), say("first"), call("gate", name="two"), say("second"))
    async with Gate() as gate, make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(*script, tools=(gate.tool,)), ["ana"])
        first = await ana.start("1", 5.0, stream=one)
        assert await suspended_after(gate, fleet, one) == "model"
        second = await ana.start("2", stream=two)
        asked = asyncio.create_task(two.wait_to_suspend("tool", timeout=30))
        assert (await first.outcome()).limit is Limit.TIME
        assert await asked == "tool"
        await read(one)  # all that run 1's stream does at its end is done
        await one.resume()
        with pytest.raises(SuspensionRefused, match="its run is over"):
            await one.wait_to_suspend()
        await row(fleet, lambda row: (row.run, row.note) == (second.id, "suspended at tool"))
        assert not gate.has_begun("two")
        gate.let("two")
        await two.resume()
        assert (await second.outcome()).text == "second"


async def suspended_after(gate: Gate, fleet: Fleet, stream: SuspendObjectStream) -> str:
    """Have the agent stand before the model call that follows the call which is held."""
    await gate.begun("one")
    asked = await suspending(fleet, stream, "model")
    gate.let("one")
    return await asked


async def test_a_stop_ends_a_run_that_stands_still(make_fleet: MakeFleet) -> None:
    stream = SuspendObjectStream()
    async with Gate() as gate, make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(call("gate", name="one"), say("done"), tools=(gate.tool,)), ["ana"])
        run = await ana.start("go", stream=stream)
        await gate.begun("one")
        asked = await suspending(fleet, stream, "model")
        gate.let("one")
        await asked
        assert (await ana.stop("enough")).acknowledged == ("ana",)
        outcome = await run.outcome()
        with pytest.raises(SuspensionRefused, match="its run is over"):
            await stream.wait_to_suspend()
        objects = await read(stream)
    assert (outcome.ending, outcome.reason, objects[-1]) == (Ending.STOPPED, "enough", outcome)


@pytest.mark.slow
async def test_the_end_of_its_time_ends_a_run_that_stands_still(make_fleet: MakeFleet) -> None:
    stream = SuspendObjectStream()
    async with Gate() as gate, make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(call("gate", name="one"), say("last words"), tools=(gate.tool,)), ["ana"])
        run = await ana.start("go", 5.0, stream=stream)
        await gate.begun("one")
        asked = await suspending(fleet, stream, "model")
        gate.let("one")
        await asked
        outcome = await run.outcome()
        await row(fleet, lambda row: row.note == "")
    assert (outcome.limit, outcome.text) == (Limit.TIME, "last words")


@pytest.mark.slow
async def test_the_end_of_its_time_ends_a_run_that_stands_still_before_its_last_answer(make_fleet: MakeFleet) -> None:
    stream = SuspendObjectStream()
    config = AmritaConfig(function_config=FunctionConfig(agent_tool_call_limit=1))
    async with Gate() as gate, make_fleet() as fleet:
        described = agent(call("gate", name="one"), say("last words"), tools=(gate.tool,))
        (ana,) = await fleet.spawn(replace(described, config=config), ["ana"])
        run = await ana.start("go", 5.0, stream=stream)
        assert await suspended_after(gate, fleet, stream) == "model"
        outcome = await run.outcome()
        await row(fleet, lambda row: row.note == "")
    assert str(outcome) == "limit:agent_tool_call_limit"
    assert "last words" not in outcome.text  # the model was not asked


@pytest.mark.slow
async def test_who_waits_for_a_suspension_is_told_when_the_run_is_over(make_fleet: MakeFleet) -> None:
    stream = SuspendObjectStream()
    async with Gate() as gate, make_fleet() as fleet:
        (ana,) = await fleet.spawn(
            agent(call("gate", name="one"), say("done"), say("again"), tools=(gate.tool,)), ["ana"]
        )
        await ana.start("go", stream=stream)
        await gate.begun("one")
        asked = await suspending(fleet, stream, "boundary")
        gate.let("one")
        with pytest.raises(SuspensionRefused, match="its run is over"):
            await asked
        await row(fleet, lambda row: row.note == "")
        assert (await ana.run("again")).text == "again"


async def test_a_suspension_that_comes_too_late_or_at_no_point_leaves_the_agent_alone(make_fleet: MakeFleet) -> None:
    stream = SuspendObjectStream()
    async with Gate() as gate, make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(call("gate", name="one"), say("done"), tools=(gate.tool,)), ["ana"])
        run = await ana.start("go", stream=stream)
        await gate.begun("one")
        with pytest.raises(SuspensionRefused, match="has the points boundary, model, tool, and no 'bounday'"):
            await stream.wait_to_suspend("bounday")
        with pytest.raises(SuspendTimedOut):
            await stream.wait_to_suspend("model", timeout=0.01)
        gate.let("one")
        assert (await run.outcome()).text == "done"


@pytest.mark.slow
async def test_a_text_that_a_stopped_agent_refuses_comes_back(make_fleet: MakeFleet) -> None:
    stream = SuspendObjectStream()
    async with Gate() as gate, make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(call("gate", name="one"), say("done"), tools=(gate.tool,)), ["ana"])
        held = await ana.start("first")
        await gate.begun("one")
        await ana.start("second", stream=stream)
        await stream.send_to_producer("only for the second")
        await ana.stop("enough")
        objects = await read(stream)
        assert (await held.outcome()).ending is Ending.STOPPED
    refused = [each for each in objects if isinstance(each, Receipt)]
    assert [(each.state, each.refusal) for each in refused] == [(ReceiptState.REFUSED, Refusal.STOPPED)]
    assert isinstance(objects[-1], Outcome)


@pytest.mark.slow
async def test_a_stream_whose_run_could_not_begin_is_closed(make_fleet: MakeFleet) -> None:
    stream = SuspendObjectStream()
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(say("done")), ["ana"])
        await ana.stop()
        with pytest.raises(ChannelClosed):
            await ana.start("go", stream=stream)
        assert await read(stream) == []
        with pytest.raises(StreamClosed):
            await stream.send_to_producer("x")


@pytest.mark.slow
async def test_leaving_the_fleet_ends_every_iteration(make_fleet: MakeFleet) -> None:
    stream = SuspendObjectStream()
    async with Gate() as gate:
        async with make_fleet() as fleet:
            (ana,) = await fleet.spawn(agent(call("gate", name="one"), say("x"), tools=(gate.tool,)), ["ana"])
            await ana.start("go", stream=stream)
            await gate.begun("one")
            reading = asyncio.create_task(read(stream))
            assert not reading.done()
            await fleet.close(grace=0)
        await gate.cut("one")
        assert "run.finished" not in kinds(await reading)
