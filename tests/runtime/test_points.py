"""Where an agent stands still, and what people are told of it."""

import asyncio

import pytest

from amrita_fleet.protocols.ids import AgentId, RunId
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.lease import TERM, Lease
from amrita_fleet.runtime.points import DRAINED, Points
from amrita_fleet.runtime.run_suspensions import BOUNDARY, MODEL, TOOL, RunSuspensions

pytestmark = pytest.mark.anyio

RUN = RunId("ana.1.1")


async def renewed() -> bool:
    return True


class Standing:
    """The points of an agent, and how often it was told that something stands."""

    def __init__(self, *, leased: bool = False) -> None:
        self.clock = VirtualClock()
        self.told = 0
        self.lease = Lease(AgentId("ana"), renewed, self.clock, lambda: None, lambda _seconds: None)
        self.points = Points(RunSuspensions(lambda _run: True), self.lease if leased else None, self.stands)

    def stands(self) -> None:
        self.told += 1


async def passes(points: Points, tag: str) -> bool:
    """Whether a run does not stand still at this point."""
    going = asyncio.create_task(points.point(RUN, tag))
    await asyncio.wait({going}, timeout=0.02)
    passed = going.done()
    going.cancel()
    await asyncio.gather(going, return_exceptions=True)
    return passed


async def test_nobody_stands_anywhere_without_a_reason() -> None:
    standing = Standing(leased=True)
    assert not standing.points.asked(RUN)
    assert standing.points.note(RUN) == ""
    assert [await passes(standing.points, tag) for tag in (BOUNDARY, MODEL, TOOL)] == [True] * 3
    assert (standing.points.standing, standing.told) == (0, 3)


async def test_who_is_drained_stands_at_a_boundary_alone_and_a_run_says_why() -> None:
    standing = Standing()
    standing.points.draining = True
    assert standing.points.asked(RUN)
    assert (standing.points.note(RUN), standing.points.note(None)) == (DRAINED, "")
    assert [await passes(standing.points, tag) for tag in (BOUNDARY, MODEL, TOOL)] == [False, True, True]
    assert standing.points.standing == 0


async def test_who_is_cut_off_stands_everywhere_but_at_a_tool_and_goes_on_once_the_supervisor_has_answered() -> None:
    standing = Standing(leased=True)
    await standing.clock.advance(TERM)
    assert standing.points.asked(RUN)
    assert standing.points.note(None) == f"cut off from the Supervisor for {TERM:.0f} s"
    assert [await passes(standing.points, tag) for tag in (BOUNDARY, MODEL, TOOL)] == [False, False, True]
    stood = asyncio.create_task(standing.points.point(RUN, BOUNDARY))
    await asyncio.sleep(0)
    assert standing.points.standing == 1
    standing.lease.open()
    async with asyncio.timeout(10):
        await stood
    assert standing.points.standing == 0
    await standing.lease.aclose()
