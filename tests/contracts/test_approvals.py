"""Calls that wait for a person, on both systems: seen, allowed, refused, and never run behind anybody's back."""

import asyncio
from collections.abc import Callable

import pytest

from amrita_fleet import (
    Agent,
    AnswerInvalid,
    Approval,
    ApprovalUnknown,
    Fleet,
    FleetClosed,
    Hooks,
    NeedsApproval,
    Notice,
    RefuseCall,
    RewriteArguments,
    Run,
    Tool,
    ToolAsked,
    tool,
)
from amrita_fleet.protocols.providers.script import Move, call, calls, say
from amrita_fleet.protocols.providers.scripted import scripted

from .gate import Gate

MakeFleet = Callable[..., Fleet]

pytestmark = pytest.mark.anyio


def delete_tool() -> Tool:
    @tool(approval=True)
    async def delete(path: str) -> str:
        """Delete a file."""
        return f"deleted {path}"

    return delete


def echo_tool() -> Tool:
    @tool
    async def echo(text: str) -> str:
        """Say it again."""
        return text

    return echo


def agent(*moves: Move, tools: tuple[Tool, ...] = (), hooks: tuple[Hooks, ...] = ()) -> Agent:
    return Agent(preset=scripted(*moves), tools=tools, hooks=hooks)


async def held(fleet: Fleet, count: int = 1) -> tuple[Approval, ...]:
    """Wait until so many calls wait for a person, which notices say, and give them."""
    async with asyncio.timeout(30):
        async for notice in fleet.notices():
            count -= f"{notice.type}.{notice.extra_type}" == "tool.approval"
            if count == 0:
                return await fleet.approvals.pending()
    raise AssertionError


async def tool_notices(run: Run) -> list[Notice]:
    return [notice async for notice in run if notice.type == "tool"]


async def test_a_marked_tool_runs_once_a_person_has_allowed_it(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(call("delete", path="x"), say("done"), tools=(delete_tool(),)), ["ana"])
        run = await ana.start("go")
        (waiting,) = await held(fleet)
        assert (waiting.agent, waiting.run, waiting.step, waiting.tool) == ("ana", run.id, 1, "delete")
        assert waiting.arguments == '{"path":"x"}'
        assert waiting.reason
        assert (await fleet.statuses())[0].phase == "acting"
        await fleet.approvals.allow(waiting)
        assert (await run.outcome()).text == "done"
        told = await tool_notices(run)
        assert await fleet.approvals.pending() == ()
    assert [notice.extra_type for notice in told] == ["started", "approval", "approved", "ended"]
    assert told[1].data["id"] == waiting.id
    assert told[-1].text == "delete: deleted x"


async def test_a_refused_call_does_not_run_and_the_model_reads_why(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(call("delete", path="x"), say("done"), tools=(delete_tool(),)), ["ana"])
        run = await ana.start("go")
        (waiting,) = await held(fleet)
        await fleet.approvals.refuse(waiting.id, "keep it")
        assert (await run.outcome()).text == "done"
        texts = [notice.text for notice in await tool_notices(run)]
    assert "keep it" in texts[-1]
    assert not any("deleted" in text for text in texts)


async def test_only_a_call_that_waits_can_be_answered_and_only_once(make_fleet: MakeFleet) -> None:
    async with Gate() as gate, make_fleet() as fleet:
        moves = (calls(call("delete", path="x"), call("gate", name="one")), say("done"))
        (ana,) = await fleet.spawn(agent(*moves, tools=(delete_tool(), gate.tool)), ["ana"])
        run = await ana.start("go")
        (waiting,) = await held(fleet)
        with pytest.raises(ApprovalUnknown) as unknown:
            await fleet.approvals.allow("ana.1.1.99")
        assert (unknown.value.approval, unknown.value.pending) == ("ana.1.1.99", (waiting.id,))
        answers = (fleet.approvals.allow(waiting), fleet.approvals.refuse(waiting))
        came_to = await asyncio.gather(*answers, return_exceptions=True)
        assert sorted(type(each).__name__ for each in came_to) == ["ApprovalUnknown", "NoneType"]
        await gate.begun("one")
        with pytest.raises(ApprovalUnknown, match="it was answered"):
            await fleet.approvals.refuse(waiting)
        gate.let("one")
        assert (await run.outcome()).text == "done"
        with pytest.raises(ApprovalUnknown, match=r"'anna\.1\.1\.1' is pending: .*; nothing is pending there"):
            await fleet.approvals.allow("anna.1.1.1")
        with pytest.raises(AnswerInvalid, match="by its id; this is of type int"):
            await fleet.approvals.allow(5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        with pytest.raises(AnswerInvalid, match="is a text; this is of type int"):
            await fleet.approvals.refuse(waiting, 5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(FleetClosed):
        await fleet.approvals.pending()


async def test_calls_beside_a_held_one_run_and_the_batch_waits_for_it(make_fleet: MakeFleet) -> None:
    moves = (calls(call("echo", text="a"), call("delete", path="x"), call("delete", path="y")), say("done"))
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(*moves, tools=(delete_tool(), echo_tool())), ["ana"])
        run = await ana.start("go")
        x, y = await held(fleet, 2)
        assert [x.arguments, y.arguments] == ['{"path":"x"}', '{"path":"y"}']
        await fleet.approvals.refuse(y)
        assert [each.id for each in await fleet.approvals.pending()] == [x.id]
        await fleet.approvals.allow(x)
        assert (await run.outcome()).text == "done"
        ended = [notice.text for notice in await tool_notices(run) if notice.extra_type == "ended"]
    assert ended == ["echo: a", "delete: deleted x"]


async def test_a_stopped_runs_held_call_was_not_run_and_waits_no_longer(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(call("delete", path="x"), tools=(delete_tool(),)), ["ana"])
        run = await ana.start("go")
        (waiting,) = await held(fleet)
        assert (await ana.stop()).acknowledged == ("ana",)
        assert str(await run.outcome()) == "stopped"
        assert await fleet.approvals.pending() == ()
        with pytest.raises(ApprovalUnknown, match="its run has ended"):
            await fleet.approvals.allow(waiting)
        assert not any(notice.extra_type == "ended" for notice in await tool_notices(run))


async def test_a_hook_asks_for_approval_and_refuses(make_fleet: MakeFleet) -> None:
    class Careful(Hooks):
        async def before_tool(self, call: ToolAsked) -> NeedsApproval | RefuseCall | None:
            if call.arguments["text"] == "never":
                return RefuseCall("not that")
            return NeedsApproval("it speaks") if call.arguments["text"] == "ask" else None

    moves = (calls(call("echo", text="ask"), call("echo", text="never"), call("echo", text="fine")), say("done"))
    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(*moves, tools=(echo_tool(),), hooks=(Careful(),)), ["ana"])
        run = await ana.start("go")
        (waiting,) = await held(fleet)
        assert (waiting.tool, waiting.reason) == ("echo", "it speaks")
        await fleet.approvals.allow(waiting)
        assert (await run.outcome()).text == "done"
        texts = [notice.text for notice in await tool_notices(run) if notice.extra_type in {"ended", "failed"}]
    assert sorted(texts) == ["echo: Cancelled: not that", "echo: ask", "echo: fine"]


async def test_what_runs_is_what_the_person_allowed_though_a_hook_would_rewrite_it_anew(make_fleet: MakeFleet) -> None:
    class Counting(Hooks):
        def __init__(self) -> None:
            self.asked = 0

        def before_tool(self, call: ToolAsked) -> RewriteArguments:
            self.asked += 1
            return RewriteArguments({"path": f"{call.arguments['path']}/{self.asked}"})

    async with make_fleet() as fleet:
        moves = (call("delete", path="/tmp"), say("done"))
        (ana,) = await fleet.spawn(agent(*moves, tools=(delete_tool(),), hooks=(Counting(),)), ["ana"])
        run = await ana.start("go")
        (waiting,) = await held(fleet)
        assert waiting.arguments == '{"path":"/tmp/1"}'
        await fleet.approvals.allow(waiting)
        assert (await run.outcome()).text == "done"
        told = {notice.extra_type: notice for notice in await tool_notices(run)}
    assert told["approval"].data["arguments"] == waiting.arguments
    assert told["ended"].text == "delete: deleted /tmp/1"
