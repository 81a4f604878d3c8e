"""Leaving a fleet lets its agents reach a boundary, on both systems; what is cut all the same says so."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from amrita_fleet import Agent, Fleet, FleetClosed, FleetError, Notice, NumberInvalid, Outcome, Run
from amrita_fleet.protocols.providers.scripted import call, say, scripted

from .gate import Gate

MakeFleet = Callable[..., Fleet]

pytestmark = pytest.mark.anyio


async def begun(fleet: Fleet, gate: Gate) -> tuple[Run, "asyncio.Task[Outcome]"]:
    """A run that is at the gate and then waits for mail, and whoever waits for its outcome."""
    moves = (call("gate", name="x"), call("wait_for_messages", seconds=500), say("never"))
    (ana,) = await fleet.spawn(Agent(preset=scripted(*moves), tools=(gate.tool,)), ["ana"])
    run = await ana.start("go")
    await gate.begun("x")
    return run, asyncio.create_task(run.outcome())


async def heard(run: Run, seen: list[Notice]) -> None:
    """Collect a run's notices until nobody tells more."""
    with suppress(FleetError):
        seen += [notice async for notice in run if notice.extra_type == "undrained"]


async def test_a_fleet_that_is_left_waits_until_its_agents_stand_at_a_boundary(make_fleet: MakeFleet) -> None:
    async with Gate() as gate:
        async with make_fleet() as fleet:
            _, waiting = await begun(fleet, gate)
            asyncio.get_running_loop().call_soon(gate.let, "x")
        outcome = await waiting
        assert (str(outcome), outcome.reason) == ("stopped", "the fleet is closed")
        assert not gate.was_cut("x")


async def test_a_fleet_that_is_left_by_an_exception_drains_too(make_fleet: MakeFleet) -> None:
    async def live(gate: Gate) -> None:
        async with make_fleet() as fleet:
            await begun(fleet, gate)
            asyncio.get_running_loop().call_soon(gate.let, "x")
            raise ZeroDivisionError

    async with Gate() as gate:
        with pytest.raises(ZeroDivisionError):
            await live(gate)
        assert not gate.was_cut("x")


@pytest.mark.parametrize("times", [1, 2])
async def test_a_task_that_is_cancelled_in_a_fleet_drains_it_and_a_second_time_ends_it_at_once(
    make_fleet: MakeFleet, times: int
) -> None:
    async def live(gate: Gate) -> None:
        async with make_fleet() as fleet:
            _, waiting = await begun(fleet, gate)
            try:
                entered.set_result(waiting)
                await asyncio.Event().wait()
            finally:
                left.set()

    entered: asyncio.Future[asyncio.Task[Outcome]] = asyncio.get_running_loop().create_future()
    left = asyncio.Event()
    async with Gate() as gate:
        living = asyncio.create_task(live(gate))
        waiting = await entered
        living.cancel()
        await left.wait()
        if times == 1:
            gate.let("x")
        else:
            living.cancel()
        with pytest.raises(asyncio.CancelledError):
            await living
        assert str(await waiting) == "stopped"
        if times == 1:
            assert not gate.was_cut("x")
        else:
            await gate.cut("x")


async def test_a_fleet_that_is_closed_without_grace_ends_at_once(make_fleet: MakeFleet) -> None:
    async with Gate() as gate, make_fleet() as fleet:
        _, waiting = await begun(fleet, gate)
        await fleet.close(grace=0)
        await gate.cut("x")
        assert (str(await waiting), (await waiting).reason) == ("stopped", "the fleet is closed")
        with pytest.raises(FleetClosed):
            await fleet.statuses()


async def test_who_reaches_no_boundary_in_time_is_named(
    make_fleet: MakeFleet, caplog: pytest.LogCaptureFixture
) -> None:
    async with Gate() as gate, make_fleet() as fleet:
        run, waiting = await begun(fleet, gate)
        seen: list[Notice] = []
        hearing = asyncio.create_task(heard(run, seen))
        with caplog.at_level(logging.WARNING, "amrita_fleet.runtime.draining"):
            await fleet.close(grace=0.3)
        await hearing
        assert str(await waiting) == "stopped"
        assert "ana is cut off in mid-Step" in caplog.text
        assert [(notice.agent, notice.data["seconds"]) for notice in seen] == [("ana", 0.3)]


@pytest.mark.parametrize("grace", [-1, float("nan"), "10", True, None], ids=str)
async def test_a_grace_that_is_no_time_closes_nothing(grace: float) -> None:
    async with Fleet(system="local") as fleet:
        with pytest.raises(NumberInvalid, match=r"grace=.* cannot be used: it is a number of seconds"):
            await fleet.close(grace=grace)
        assert await fleet.statuses() == ()


@pytest.mark.slow
@pytest.mark.parametrize("system", ["local", pytest.param("ray", marks=pytest.mark.ray)])
async def test_a_run_that_was_drained_goes_on_in_the_next_process(
    system: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if system == "ray":
        request.getfixturevalue("ray_cluster")

    def opened() -> Fleet:
        return Fleet("lasting", system=system, journal=tmp_path / "journal.sqlite")  # type: ignore[arg-type]

    async with Gate() as gate:
        async with opened() as fleet:
            run, waiting = await begun(fleet, gate)
            asyncio.get_running_loop().call_soon(gate.let, "x")
        with pytest.raises(FleetError, match="goes on when it is opened again"):
            await waiting
        async with opened() as again:
            await again.spawn(Agent(preset=scripted(say("done"))), ["ana"])
            await again.send("ana", "it may have come to wait for mail")
            seen: list[Notice] = []
            async for notice in again.notices():
                seen.append(notice)
                if (notice.run, notice.extra_type) == (run.id, "finished"):
                    break
        assert seen[-1].data["text"] == "done"
        assert [n.data["may_have_run"] for n in seen if n.extra_type == "revived"] == [[]]
        assert [n.extra_type for n in seen if n.extra_type in ("paused", "stopped", "undrained")] == []
        assert not gate.was_cut("x")
