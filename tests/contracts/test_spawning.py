"""Agents that spawn agents, on both systems."""

import asyncio
from collections.abc import Callable

import pytest

from amrita_fleet import Agent, Fleet, Notice, SpawnPolicy, TokenLimit, Tool, tool
from amrita_fleet.protocols.checkin import DEAD, AgentStatus
from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.providers.script import Move, call, calls, say
from amrita_fleet.protocols.providers.scripted import scripted

from .gate import Gate

MakeFleet = Callable[..., Fleet]

pytestmark = pytest.mark.anyio

NOTE = "from supervisor: kid ended its run: failed. The script has no more moves."
COUNTS = Agent(preset=scripted(say("There are three.")), description="counts things")


def spawn(name: str, task: str = "Count.", **more: Json) -> Move:
    return call("spawn_agent", kind="counter", name=name, task=task, **more)


def lead(*moves: Move, kind: Agent = COUNTS, tools: tuple[Tool, ...] = (), **policy: int) -> Agent:
    """An agent that may spawn counters."""
    return Agent(preset=scripted(*moves), spawns=SpawnPolicy(kinds={"counter": kind}, **policy), tools=tools)


async def outputs(fleet: Fleet, agent: str = "lead", task: str = "go") -> list[str]:
    """What the tools of one run said."""
    run = await fleet.start(agent, task)
    return [notice.text async for notice in run if notice.type == "tool" and notice.extra_type != "started"]


async def row(fleet: Fleet, name: str) -> AgentStatus:
    (found,) = [row for row in await fleet.statuses() if row.agent == name]
    return found


async def until(fleet: Fleet, wanted: Callable[[Notice], bool]) -> Notice:
    async with asyncio.timeout(30):
        async for notice in fleet.notices():
            if wanted(notice):
                return notice
    raise AssertionError


async def test_a_child_gets_its_task_and_its_answer_comes_back(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        await fleet.spawn(lead(spawn("kid"), call("wait_for_messages", from_agents=["kid"]), say("Three.")), ["lead"])
        run = await fleet.start("lead", "How many?")
        notices = [notice async for notice in run]
        assert [notice.text for notice in notices if notice.extra_type == "consumed"] == ["from kid: There are three."]
        (said, _) = [notice.text for notice in notices if notice.extra_type == "ended"]
        assert said.startswith("spawn_agent: Spawned kid (counter), which works on its task. Its answer comes as a")
        kid = await row(fleet, "kid")
        assert (kid.parent, kid.kind, kid.incarnation) == ("lead", "counter", 1)


async def test_an_agent_without_a_policy_has_no_such_tool(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        await fleet.spawn(Agent(preset=scripted(spawn("kid"), say("no"))), ["lead"])
        (said,) = await outputs(fleet)
        assert "There is no tool named 'spawn_agent'." in said
        assert [each.agent for each in await fleet.statuses()] == ["lead"]


async def test_each_refusal_says_what_can_be_done_instead(make_fleet: MakeFleet) -> None:
    kind = Agent(
        preset=scripted(say("Three.")), limit=TokenLimit(tokens=20_000), spawns=SpawnPolicy(kinds={"counter": COUNTS})
    )
    moves = (
        spawn("kid"),
        spawn("my kid"),
        spawn("lead"),
        spawn("cub"),
        call("spawn_agent", kind="coder", name="x", task="x"),
    )
    async with make_fleet(limit=60_000) as fleet:
        await fleet.spawn(lead(*moves, say("done"), kind=kind, tokens=30_000), ["lead"])
        made, invalid, taken, dear, unknown = await outputs(fleet)
    assert "It may spend 20,000 tokens." in made
    assert "my kid was not spawned. No agent can be named 'my kid'" in invalid
    assert "lead was not spawned. The fleet has an agent named lead. Choose another name." in taken
    assert "cub might spend 20,000 tokens, and 10,000 tokens are left of what all below lead may spend" in dear
    assert "There is no kind 'coder'. Choose one of: counter." in unknown


async def test_racing_calls_of_one_reply_pass_no_limit_together(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        moves = (calls(*[spawn(f"kid{number}") for number in range(4)]), say("done"))
        await fleet.spawn(lead(*moves, live=2), ["lead"])
        said = await outputs(fleet)
        assert sum("Spawned kid" in each for each in said) == 2
        assert sum("2 may live below lead at once, and 2 do." in each for each in said) == 2
        assert len(await fleet.statuses()) == 3


async def test_a_stopped_child_makes_room_for_another(make_fleet: MakeFleet) -> None:
    moves = (spawn("kid"), spawn("cub"), call("stop_agent", name="kid"), spawn("cub", task="Count again."), say("done"))
    async with make_fleet() as fleet:
        await fleet.spawn(lead(*moves, live=1), ["lead"])
        first, second, stopped, third = await outputs(fleet)
        assert "Spawned kid" in first
        assert "end one that you no longer need with stop_agent" in second
        assert stopped == "stop_agent: kid is stopped for good."
        assert "Spawned cub" in third
        kid = await row(fleet, "kid")
        assert (kid.phase, kid.note) == ("stopped", "stopped by lead")


async def test_a_child_spawns_as_deep_as_its_spawner_may(make_fleet: MakeFleet) -> None:
    middle = Agent(
        preset=scripted(spawn("cub"), say("I tried.")),
        spawns=SpawnPolicy(kinds={"counter": COUNTS}),
    )
    async with make_fleet() as fleet:
        await fleet.spawn(lead(spawn("kid"), say("done"), kind=middle, depth=1), ["lead"])
        await outputs(fleet)
        refused = await until(fleet, lambda notice: notice.extra_type == "spawn_refused")
        assert (refused.agent, refused.data["cause"]) == ("kid", "depth")


async def test_a_stop_of_the_spawner_stops_its_children(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        await fleet.spawn(lead(spawn("kid"), say("done")), ["lead"])
        await outputs(fleet)
        await fleet.stop("lead", reason="enough")
        assert [(each.agent, each.phase) for each in await fleet.statuses()] == [
            ("lead", "stopped"),
            ("kid", "stopped"),
        ]


async def test_a_child_that_cannot_live_leaves_nothing_behind(make_fleet: MakeFleet) -> None:
    def broken() -> bool:
        raise RuntimeError("no such switch")

    @tool(enable_if=broken)
    async def rare() -> str:
        """Nobody ever has it."""
        return ""

    policy = SpawnPolicy(kinds={"counter": COUNTS, "broken": Agent(preset=scripted(), tools=(rare,))}, children=1)
    tries = call("spawn_agent", kind="broken", name="kid", task="Count.")
    async with make_fleet() as fleet:
        await fleet.spawn(Agent(preset=scripted(tries, spawn("kid"), say("done")), spawns=policy), ["lead"])
        failed, made = await outputs(fleet)
        assert "kid was not spawned. It could not be brought to life: RuntimeError: no such switch." in failed
        assert "Spawned kid" in made
        kid = await row(fleet, "kid")
        assert (kid.kind, kid.incarnation) == ("counter", 2)


async def test_a_childs_bad_end_is_told_to_its_parent(make_fleet: MakeFleet) -> None:
    bad = Agent(preset=scripted())
    moves = (spawn("kid"), call("wait_for_messages", from_agents=["kid"]), say("told"))
    async with make_fleet() as fleet:
        await fleet.spawn(lead(*moves, kind=bad), ["lead"])
        await fleet.start("lead", "go")
        told = await until(fleet, lambda notice: notice.agent == "lead" and notice.extra_type == "consumed")
        assert told.text in {"from kid: No answer: failed. The script has no more moves.", NOTE}


async def test_children_come_back_with_their_parent_and_go_on(reopen: MakeFleet) -> None:
    async with Gate() as gate:
        counts = Agent(
            preset=scripted(call("gate", name="kid"), say("Three.")),
            tools=(gate.tool,),
            limit=TokenLimit(tokens=20_000),
        )
        waits = call("wait_for_messages", from_agents=["kid"])
        async with reopen() as fleet:
            await fleet.spawn(lead(spawn("kid"), waits, kind=counts), ["lead"])
            run = await fleet.start("lead", "go")
            await gate.begun("kid")
            await until(fleet, lambda notice: notice.agent == "lead" and notice.extra_type == "waiting")
            await fleet.close(grace=0)
        async with reopen() as again:
            assert {(each.agent, each.phase) for each in await again.statuses()} == {("lead", DEAD), ("kid", DEAD)}
            gate.let("kid")
            (ref,) = await again.spawn(lead(say("Told."), kind=counts), ["lead"])
            assert ref.name == "lead"
            finished = await until(again, lambda notice: (notice.run, notice.extra_type) == (run.id, "finished"))
            assert finished.data["outcome"] == "answered"
            kid = await row(again, "kid")
            assert (kid.parent, kid.kind, kid.incarnation, kid.limit) == ("lead", "counter", 2, 20_000)


async def test_a_call_that_is_made_again_in_the_next_process_finds_the_child_that_it_has(reopen: MakeFleet) -> None:
    async with Gate() as gate:
        both = calls(spawn("kid", tokens=9_000), call("gate", name="beside"))
        kind = Agent(preset=scripted(call("gate", name="kid"), say("Three.")), tools=(gate.tool,))
        async with reopen() as fleet:
            await fleet.spawn(lead(both, kind=kind, tools=(gate.tool,)), ["lead"])
            run = await fleet.start("lead", "go")
            await gate.begun("kid")
            await gate.begun("beside")
            await fleet.close(grace=0)
        async with reopen() as again:
            gate.let("kid")
            await again.spawn(lead(say("Told."), say("Told."), kind=kind, tools=(gate.tool,)), ["lead"])
            notices: list[Notice] = []
            async with asyncio.timeout(30):
                async for notice in again.notices():
                    notices.append(notice)
                    if (notice.run, notice.extra_type) == (run.id, "finished"):
                        break
            (revived,) = [notice for notice in notices if notice.extra_type == "revived" and notice.agent == "lead"]
            assert revived.data["again"] == ["spawn_agent"]
            told = [notice.text for notice in notices if notice.data.get("tool") == "spawn_agent"]
            said = [text for text in told if text != "spawn_agent"]
            assert [text[:40] for text in said] == ["spawn_agent: Spawned kid (counter), whic"] * 2
            kids = [notice for notice in notices if notice.agent == "kid"]
            assert [notice.data["incarnation"] for notice in kids if notice.extra_type == "admitted"] == [1, 2]
            assert [notice.text for notice in kids if notice.extra_type == "consumed"] == ["from lead: Count."]


async def test_a_child_whose_kind_is_gone_stays_dead_and_whoever_waits_for_it_is_told(reopen: MakeFleet) -> None:
    waits = call("wait_for_messages", from_agents=["kid"])
    async with reopen() as fleet:
        await fleet.spawn(lead(spawn("kid", tokens=9_000), waits, say("done")), ["lead"])
        await outputs(fleet)
    async with reopen() as again:
        other = SpawnPolicy(kinds={"other": COUNTS})
        await again.spawn(Agent(preset=scripted(waits, say("gone")), spawns=other), ["lead"])
        run = await again.start("lead", "Wait for kid.")
        (ended,) = [notice async for notice in run if notice.extra_type == "wait_ended"]
        assert ended.data["cause"] == "gone"
        assert (await row(again, "kid")).phase == DEAD
