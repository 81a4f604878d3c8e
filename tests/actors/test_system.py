"""What is true of fleets on Ray beyond the contract that both systems keep."""

import asyncio
import os
from collections.abc import Callable
from threading import Lock
from typing import Any

import pytest
import ray

from amrita_fleet import (
    Agent,
    AgentUnknown,
    ChannelClosed,
    Fleet,
    Limits,
    LimitTooLarge,
    NameTaken,
    PeerUnreachable,
    Stopped,
    SystemUnavailable,
    Tool,
    Unpicklable,
    tool,
)
from amrita_fleet.protocols.mail import ReceiptState
from amrita_fleet.protocols.notices import Notice
from amrita_fleet.protocols.providers.scripted import call, say, scripted

from .blocker import Blocker, actors_of, ended

pytestmark = [pytest.mark.anyio, pytest.mark.ray, pytest.mark.usefixtures("ray_cluster")]


def agent(*moves: object, tools: tuple[Tool, ...] = ()) -> Agent:
    return Agent(preset=scripted(*moves), tools=tools)  # type: ignore[arg-type]


def kill(fleet: Fleet, name: str) -> None:
    """End an agent's process as a crash would."""
    ray.kill(ray.get_actor(f"agent:{name}", f"amrita-{fleet.name}"))


async def until(fleet: Fleet, wanted: Callable[[Notice], bool]) -> list[Notice]:
    """The fleet's notices up to the first that is wanted."""
    seen: list[Notice] = []
    async with asyncio.timeout(30):
        async for notice in fleet.notices():
            seen.append(notice)
            if wanted(notice):
                return seen
    raise AssertionError


def died(name: str) -> Callable[[Notice], bool]:
    return lambda notice: (notice.agent, notice.extra_type) == (name, "died")


async def test_every_agent_is_a_named_actor_in_a_process_of_its_own() -> None:
    seen: list[tuple[int, int]] = []

    def progress(ready: int, ordered: int) -> None:
        seen.append((ready, ordered))

    async with Fleet() as fleet:
        await fleet.spawn(agent(say("hi")), ["ana", "bob", "cy"], progress=progress)
        assert actors_of(fleet) == ["agent:ana", "agent:bob", "agent:cy", "supervisor"]
        pids = {row.pid for row in await fleet.statuses()}
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert len(pids - {os.getpid()}) == 3


async def test_nothing_is_left_behind() -> None:
    async with Blocker() as blocker, Fleet() as fleet:
        await fleet.spawn(agent(call("block"), say("never"), tools=(blocker.tool,)), ["ana", "bob"])
        await fleet.start("ana", "go")
        await blocker.begun()
        pids = [row.pid for row in await fleet.statuses()]
        await fleet.close(grace=0.5)
        assert actors_of(fleet) == []
        await asyncio.gather(*map(ended, pids))
        await fleet.close()


async def test_a_blocked_agent_is_seen_gets_mail_and_is_stopped() -> None:
    async with Blocker() as blocker, Fleet() as fleet:
        (ana,) = await fleet.spawn(agent(call("block"), say("never"), tools=(blocker.tool,)), ["ana"])
        run = await ana.start("go")
        await blocker.begun()
        (row,) = await fleet.statuses()
        assert (row.phase, row.run) == ("acting", run.id)
        assert (await ana.send("hello")).state is ReceiptState.ACCEPTED
        assert (await fleet.statuses())[0].waiting == 1
        stopping = asyncio.create_task(fleet.stop("ana", reason="enough"))
        while (receipt := await ana.send("are you there?")).refusal is None:
            assert not stopping.done()
        assert receipt.refusal == "stopped"
        assert not stopping.done()
        blocker.free()
        assert await stopping == Stopped(acknowledged=(ana.name,))
        assert str(await run.outcome()) == "stopped"


async def test_an_agent_that_does_not_stop_in_time_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amrita_fleet.actors.steering.STOP_PATIENCE", 0.5)
    async with Blocker() as blocker, Fleet() as fleet:
        ana, bob = await fleet.spawn(agent(call("block"), say("x"), tools=(blocker.tool,)), ["ana", "bob"])
        await ana.start("go")
        await blocker.begun()
        assert await fleet.stop_all() == Stopped(acknowledged=(bob.name,), silent=(ana.name,))
        blocker.free()


async def test_a_pause_tells_all_it_can_names_those_it_cannot_and_can_be_asked_for_again() -> None:
    async with Blocker() as blocker, Fleet() as fleet:

        @tool(enable_if=blocker.blocked)
        async def late() -> str:
            """Its agent is long in starting."""
            return ""

        (lead,) = await fleet.spawn(agent(say("hi")), ["lead"])
        spawning = asyncio.create_task(fleet.spawn(agent(say("hi"), tools=(late,)), ["ann"], parent=lead))
        await blocker.begun()
        (bob,) = await fleet.spawn(agent(say("hi")), ["bob"], parent=lead)
        with pytest.raises(PeerUnreachable, match="'ann' cannot be reached now: it is being started"):
            await lead.pause()
        blocker.free()
        (ann,) = await spawning
        await lead.pause()
        runs = [await each.start("?") for each in (ann, bob)]
        for run in runs:
            await until(fleet, lambda notice, run=run: notice.run == run.id and notice.text.startswith("paused"))  # type: ignore[misc]
        await lead.resume()
        assert [(await run.outcome()).text for run in runs] == ["hi", "hi"]


async def test_what_fails_while_agents_end_does_not_keep_the_rest_from_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = await Fleet().__aenter__()
    await fleet.spawn(agent(say("hi")), ["ana"])
    ana = ray.get_actor("agent:ana", f"amrita-{fleet.name}")
    real = ray.kill

    def kill_all_but_ana(actor: Any) -> None:  # noqa: ANN401
        if actor == ana:
            raise RuntimeError("no such luck")
        real(actor)

    monkeypatch.setattr(ray, "kill", kill_all_but_ana)
    with pytest.raises(RuntimeError, match="no such luck"):
        await fleet.close()
    assert "supervisor" not in actors_of(fleet)


async def test_a_death_is_noticed_once_ends_the_run_and_is_told_to_the_parent() -> None:
    async with Blocker() as blocker, Fleet() as fleet:
        (lead,) = await fleet.spawn(agent(call("wait_for_messages", seconds=60), say("told")), ["lead"])
        (kid,) = await fleet.spawn(agent(call("block"), say("never"), tools=(blocker.tool,)), ["kid"], parent=lead)
        watch = await lead.start("watch over kid")
        run = await kid.start("go")
        await blocker.begun()
        await until(fleet, lambda notice: (notice.agent, notice.extra_type) == ("lead", "waiting"))
        kill(fleet, "kid")
        with pytest.raises(ChannelClosed, match="it died: it was killed"):
            await run.outcome()
        notices = [notice async for notice in watch]
        assert "kid died" in next(notice.text for notice in notices if notice.extra_type == "consumed")
        assert (await watch.outcome()).text == "told"
        assert [row.phase for row in await fleet.statuses()] == ["idle", "dead"]
        with pytest.raises(ChannelClosed, match="it died"):
            await kid.send("hello?")
        with pytest.raises(ChannelClosed, match="it died"):
            await kid.start("hello?")
        everything = await until(fleet, lambda notice: (notice.agent, notice.extra_type) == ("lead", "finished"))
        assert len(list(filter(died("kid"), everything))) == 1


async def test_a_dead_agent_can_be_spawned_again_and_is_found_by_those_who_knew_it() -> None:
    async with Fleet() as fleet:
        sends = call("send_message", to="bob", body="hello")
        (ana,) = await fleet.spawn(agent(sends, say("one"), sends, say("two")), ["ana"])
        await fleet.spawn(agent(say("x")), ["bob"])
        await ana.run("greet")
        kill(fleet, "bob")
        await until(fleet, died("bob"))
        await fleet.spawn(agent(say("back")), ["bob"])
        run = await ana.start("greet again")
        sent = [notice async for notice in run if notice.extra_type == "sent"]
        assert len(sent) == 1
        assert [(row.agent, row.incarnation) for row in await fleet.statuses()] == [("ana", 1), ("bob", 2)]


async def test_a_tool_that_cannot_travel_is_named_and_nobody_is_admitted() -> None:
    lock = Lock()

    @tool
    async def guarded() -> str:
        """Do it alone."""
        with lock:
            return "done"

    async with Fleet() as fleet:
        with pytest.raises(Unpicklable) as caught:
            await fleet.spawn(agent(say("x"), tools=(guarded,)), ["ana"])
        assert caught.value.path == "agent.tools[0].function.lock"
        assert "cannot pickle '_thread.lock' object" in str(caught.value)
        assert await fleet.statuses() == ()


async def test_a_spawn_that_fails_half_way_leaves_no_process() -> None:
    class Touchy:
        def __reduce__(self) -> tuple[object, ...]:
            return int, ("not a number",)

    thing = Touchy()

    @tool
    async def touchy() -> str:
        """Break where it arrives."""
        return str(thing)

    async with Fleet() as fleet:
        await fleet.spawn(agent(say("hi")), ["ana"])
        with pytest.raises(SystemUnavailable, match=r"'bob' could not be started: .*not a number"):
            await fleet.spawn(agent(say("x"), tools=(touchy,)), ["bob"])
        with pytest.raises(NameTaken):
            await fleet.spawn(agent(say("x")), ["cy", "ana"])
        assert actors_of(fleet) == ["agent:ana", "supervisor"]
        assert [(row.agent, row.phase) for row in await fleet.statuses()] == [("ana", "idle"), ("bob", "dead")]
        assert (await fleet.agent("ana").run("?")).text == "hi"


async def test_a_second_fleet_of_the_same_name_is_refused() -> None:
    async with Fleet() as fleet:
        with pytest.raises(SystemUnavailable, match="choose another name"):
            await Fleet(fleet.name).__aenter__()
        await fleet.spawn(agent(say("hi")), ["ana"])
        assert (await fleet.agent("ana").run("?")).text == "hi"


async def test_what_the_supervisor_refuses_to_begin_with_is_raised_as_it_is_and_leaves_nothing() -> None:
    fleet = Fleet(limit=1_000, teams={"all": Limits(tokens=2_000, carved=True)})
    with pytest.raises(LimitTooLarge, match="does not fit"):
        await fleet.__aenter__()
    assert actors_of(fleet) == []


async def test_a_peer_that_does_not_exist_is_an_error_with_near_names_in_an_agents_process_too() -> None:
    async with Fleet() as fleet:
        await fleet.spawn(agent(say("hi")), ["analyst"])
        (bob,) = await fleet.spawn(agent(call("send_message", to="analist", body="hi"), say("sent")), ["bob"])
        notices = [notice async for notice in await bob.start("write")]
        with pytest.raises(AgentUnknown):
            await fleet.start("analist", "?")
    output = next(notice.text for notice in notices if (notice.type, notice.extra_type) == ("tool", "failed"))
    assert "Did you mean analyst?" in output


async def test_a_tool_whose_task_exits_does_not_end_the_agents_loop() -> None:
    @tool
    async def careless() -> str:
        """Start a task that means to end the program."""

        async def leave() -> None:
            raise SystemExit(4)

        await asyncio.create_task(leave())
        return "never"

    async with Fleet() as fleet:
        (ana,) = await fleet.spawn(agent(call("careless"), say("went on"), say("again"), tools=(careless,)), ["ana"])
        assert (await ana.run("?")).text == "went on"
        assert (await ana.run("?")).text == "again"
