"""Agents that spawn agents on Ray: whoever dies meanwhile, nothing is spawned twice and nothing is left half made."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from amrita_fleet import Agent, Fleet, Notice, SpawnPolicy, tool
from amrita_fleet.actors.spawn_orders import Ordered, SpawnOrders, SpawnService
from amrita_fleet.protocols.ids import AgentId, Incarnation
from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.providers.script import Move, call, say
from amrita_fleet.runtime.agent_channel import Seat
from amrita_fleet.runtime.supervision.spawn_desk import NotBorn

from ..contracts.gate import Gate
from .blocker import actors_of, ended
from .steady import journaled, kill, pid_of, steady, until

pytestmark = [pytest.mark.anyio, pytest.mark.ray, pytest.mark.slow]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


def spawn(name: str = "kid", task: str = "Count.", **more: Json) -> Move:
    return call("spawn_agent", kind="counter", name=name, task=task, **more)


def lead(*moves: Move, kind: Agent, before: Callable[[int], None] = lambda _: None) -> Agent:
    return Agent(preset=steady(*moves, before=before), spawns=SpawnPolicy(kinds={"counter": kind}))


def births(notices: list[Notice]) -> list[tuple[str, object]]:
    return [(each.agent, each.data["incarnation"]) for each in notices if each.extra_type == "admitted"]


def finished(run: str) -> Callable[[Notice], bool]:
    return lambda notice: (notice.run, notice.extra_type) == (run, "finished")


async def test_a_spawner_that_dies_in_mid_spawn_has_one_child_in_its_next_life(
    ray_cluster: str, journal: Path, tmp_path: Path
) -> None:
    flag = tmp_path / "died"

    def slow_and_deadly() -> bool:
        """The child's process, as it is made, kills its spawner's, once."""
        if not flag.exists() and (pid := flag.with_suffix(".pid")).exists():
            flag.touch()
            os.kill(int(pid.read_text()), signal.SIGKILL)
        return True

    def say_pid(_: int) -> None:
        flag.with_suffix(".pid").write_text(str(os.getpid()))

    @tool(enable_if=slow_and_deadly)
    async def count() -> int:
        """Count."""
        return 3

    kind = Agent(preset=steady(say("Three.")), tools=(count,))
    moves = (spawn(), call("wait_for_messages", from_agents=["kid"]), say("Told."))
    async with journaled(journal) as fleet:
        await fleet.spawn(lead(*moves, kind=kind, before=say_pid), ["lead"])
        run = await fleet.start("lead", "go")
        notices = await until(fleet, finished(run.id))
        assert (await run.outcome()).text == "Told."
    assert births(notices) == [("lead", 1), ("kid", 1), ("lead", 2)]
    assert [each.text for each in notices if each.extra_type == "consumed" and each.agent == "kid"] == [
        "from lead: Count."
    ]


async def test_a_supervisor_that_dies_in_mid_spawn_has_the_one_child_born(
    ray_cluster: str, journal: Path, tmp_path: Path
) -> None:
    flag = tmp_path / "supervisor.pid"

    def deadly() -> bool:
        """The child's process, as it is made, kills the Supervisor's, once."""
        if flag.exists():
            pid = int(flag.read_text())
            flag.unlink()
            os.kill(pid, signal.SIGKILL)
        return True

    @tool(enable_if=deadly)
    async def count() -> int:
        """Count."""
        return 3

    kind = Agent(preset=steady(say("Three.")), tools=(count,))
    moves = (spawn(), call("wait_for_messages", from_agents=["kid"]), say("Told."))
    async with journaled(journal) as fleet:
        await fleet.spawn(lead(*moves, kind=kind), ["lead"])
        flag.write_text(str(pid_of(fleet, "supervisor")))
        run = await fleet.start("lead", "go")
        assert (await run.outcome()).text == "Told."
        notices = await until(fleet, finished(run.id))
        assert births(notices) == [("lead", 1), ("kid", 1)]
        assert not flag.exists()


async def test_a_child_that_dies_lives_again_and_answers(ray_cluster: str, journal: Path) -> None:
    async with Gate() as gate, journaled(journal) as fleet:
        model = steady(call("gate", name="one"), call("gate", name="two"), say("Three."))
        moves = (spawn(), call("wait_for_messages", from_agents=["kid"]), say("Told."))
        await fleet.spawn(lead(*moves, kind=Agent(preset=model, tools=(gate.tool,))), ["lead"])
        run = await fleet.start("lead", "go")
        await gate.begun("one")
        kill(fleet, "agent:kid")
        await gate.begun("two")
        gate.let("two")
        notices = await until(fleet, finished(run.id))
        assert (await run.outcome()).text == "Told."
        assert [each.text for each in notices if each.agent == "lead" and each.extra_type == "consumed"] == [
            "from kid: Three."
        ]
        assert births(notices) == [("lead", 1), ("kid", 1), ("kid", 2)]


async def test_a_services_child_outlives_its_makers_and_is_started_again_however_long_its_description(
    ray_cluster: str, journal: Path
) -> None:
    name = f"service-{uuid4().hex[:6]}"
    async with Gate() as gate:
        model = steady(call("gate", name="one"), call("gate", name="two"), say("Three."))
        kind = Agent(preset=model, tools=(gate.tool,), instructions="You count. " * 30_000, description="counts")
        moves = (spawn(), call("wait_for_messages", from_agents=["kid"]), say("Told."))
        async with Fleet(name, address=ray_cluster, journal=journal, service=True) as fleet:
            try:
                await fleet.spawn(lead(*moves, kind=kind), ["lead"])
                run = await fleet.start("lead", "go")
                await gate.begun("one")
                assert actors_of(fleet) == ["agent:kid", "agent:lead", "journal", "supervisor"]
                rows = {row.agent: row.pid for row in await fleet.statuses()}
                maker = pid_of(fleet, "supervisor")
                for pid in (maker, rows[AgentId("lead")]):
                    os.kill(pid, signal.SIGKILL)
                    await ended(pid)
                os.kill(rows[AgentId("kid")], signal.SIGKILL)
                await gate.begun("two")
                gate.let("two")
                assert (await run.outcome()).text == "Told."
                notices = await until(fleet, finished(run.id))
                assert sorted(births(notices)) == [("kid", 1), ("kid", 2), ("lead", 1), ("lead", 2)]
            finally:
                await fleet.end()
    assert actors_of(fleet) == []


SEAT, OTHER = (Seat(AgentId(name), Incarnation(1), AgentId("lead")) for name in ("kid", "cub"))


async def test_an_owner_that_says_nothing_in_time_has_its_late_child_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amrita_fleet.actors.spawn_orders.OWNER_PATIENCE", 0.01)
    orders, silent, ended = SpawnOrders(), asyncio.Event(), asyncio.Queue[Seat]()

    async def said(ordered: Ordered, failure: str) -> bool:
        return orders.ended(ordered.order, failure)

    async def bear(_: Ordered) -> None:
        await silent.wait()

    async def end(seat: Seat) -> None:
        await ended.put(seat)

    service = SpawnService(orders.fresh, said, bear, end)
    service.start()
    with pytest.raises(NotBorn, match="the process that owns the fleet has not answered in"):
        await orders.carry_out(SEAT, ())
    silent.set()
    assert await ended.get() == SEAT
    await service.aclose()


async def test_an_order_whose_answer_was_lost_is_given_again_and_one_that_is_known_is_not() -> None:
    orders = SpawnOrders()
    ordering = asyncio.create_task(orders.carry_out(SEAT, ()))
    ((first,), (again,)) = [await orders.fresh([]), await orders.fresh([])]
    assert (first, first.seat) == (again, SEAT)
    waiting = asyncio.create_task(orders.fresh([first.order]))
    ordering_other = asyncio.create_task(orders.carry_out(OTHER, ()))
    (other,) = await waiting
    assert other.seat == OTHER
    assert orders.ended(first.order, "")
    await ordering
    assert orders.ended(other.order, "no room")
    with pytest.raises(NotBorn, match="no room"):
        await ordering_other
    assert not orders.ended(first.order, "")


async def test_a_child_that_is_asked_for_again_is_a_new_order_which_waits_for_the_one_that_is_under_way() -> None:
    orders, begun, go, at_once = SpawnOrders(), asyncio.Event(), asyncio.Event(), list[int]()
    under_way: set[Seat] = set()

    async def said(ordered: Ordered, failure: str) -> bool:
        return orders.ended(ordered.order, failure)

    async def bear(ordered: Ordered) -> None:
        at_once.append(ordered.seat in under_way)
        under_way.add(ordered.seat)
        begun.set()
        await go.wait()
        under_way.discard(ordered.seat)

    async def end(_: Seat) -> None:
        raise AssertionError

    service = SpawnService(orders.fresh, said, bear, end)
    service.start()
    first = asyncio.create_task(orders.carry_out(SEAT, ()))
    await begun.wait()
    again = asyncio.create_task(orders.carry_out(SEAT, ()))
    go.set()
    await asyncio.gather(first, again)
    await orders.carry_out(SEAT, ())
    await service.aclose()
    assert at_once == [False, False, False]
