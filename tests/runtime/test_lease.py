"""A life goes on only while its Supervisor has answered not long ago, and knows no newer one."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet import AgentUnknown, PeerUnreachable
from amrita_fleet.protocols.checkin import DEAD, RESTARTING, STOPPED, AgentStatus
from amrita_fleet.protocols.ids import AgentId, Incarnation
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.lease import RENEWAL, RETRY, TERM, Lease, Term, is_latest

pytestmark = pytest.mark.anyio

ANA = AgentId("ana")


class Desk:
    """Where a lease is renewed: it can be silent, parked, or know better."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.asked: list[float] = []
        self.silent = False
        self.latest = True
        self.known = True
        self.bug = False
        self.answers = asyncio.Event()
        self.answers.set()
        self.over = 0
        self.back: list[float] = []

    async def renew(self) -> bool:
        self.asked.append(self.clock.monotonic())
        await self.answers.wait()
        if self.bug:
            raise ValueError("no number")
        if self.silent:
            raise PeerUnreachable(agent="supervisor", reason="the line is cut")
        if not self.known:
            raise AgentUnknown(name=ANA)
        return self.latest

    def ended(self) -> None:
        self.over += 1

    @asynccontextmanager
    async def lease(self) -> AsyncGenerator[Lease]:
        lease = Lease(ANA, self.renew, self.clock, self.ended, self.back.append)
        lease.open()
        try:
            yield lease
        finally:
            await lease.aclose()


@given(renewed=st.floats(0, 1e6), passed=st.floats(0, 1e3))
def test_a_term_is_over_as_long_after_it_was_asked_for_as_it_lasts(renewed: float, passed: float) -> None:
    term = Term(renewed)
    away = term.away(renewed + passed)
    assert (away > 0) is ((renewed + passed) - renewed >= TERM)
    assert 0 <= term.pause(renewed + passed, answered=True) <= RENEWAL
    assert term.pause(renewed + passed, answered=False) == RETRY


def test_a_term_survives_two_renewals_that_are_lost() -> None:
    assert 2 * RENEWAL + RETRY < TERM


async def test_a_lease_that_a_bug_ends_says_so_loudly(caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk()
    async with desk.lease() as lease:
        await desk.clock.advance(RENEWAL - 1.0)
        desk.bug = True
        await desk.clock.advance(TERM)
        assert lease.away > 0
    [record] = caplog.records
    assert record.levelname == "ERROR"
    assert record.message == "nobody renews the lease of ana any more: it will stand still"
    assert "no number" in caplog.text


async def test_a_lease_is_renewed_in_turns_and_holds() -> None:
    desk = Desk()
    async with desk.lease() as lease:
        await desk.clock.advance(100.0)
        assert (lease.away, lease.note) == (0.0, "")
    assert desk.asked == [turn * RENEWAL for turn in range(21)]
    assert desk.back == []


async def test_a_lease_that_is_not_renewed_is_over_and_says_for_how_long_and_is_asked_for_until_it_is_renewed() -> None:
    desk = Desk()
    async with desk.lease() as lease:
        await desk.clock.advance(1.0)
        desk.silent = True
        await desk.clock.advance(13.9)
        assert lease.note == ""
        await desk.clock.advance(2.1)
        assert (lease.away, lease.note) == (17.0, "cut off from the Supervisor for 17 s")
        desk.silent = False
        await desk.clock.advance(RETRY)
        assert (lease.away, lease.note) == (0.0, "")
    assert desk.back == [pytest.approx(17.0, abs=RETRY)]


async def test_an_answer_that_comes_late_renews_only_from_when_it_was_asked_for() -> None:
    desk = Desk()
    async with desk.lease() as lease:
        await desk.clock.advance(1.0)
        desk.answers.clear()
        await desk.clock.advance(29.0)
        assert lease.away == 30.0
        assert desk.asked == [0.0, RENEWAL]
        desk.answers.set()
        await desk.clock.advance(0.001)
        assert lease.away == 0.0
    assert desk.asked == [0.0, RENEWAL, 30.0]
    assert desk.back == [25.0], "the question of second 5 was answered, if late"


async def test_who_waits_for_the_supervisor_goes_on_once_it_has_answered_again() -> None:
    desk = Desk()
    async with desk.lease() as lease:
        await desk.clock.advance(1.0)
        desk.silent = True
        regained = asyncio.create_task(lease.regained())
        await desk.clock.advance(TERM)
        assert not regained.done()
        desk.silent = False
        await desk.clock.advance(RETRY)
        assert regained.done()


@pytest.mark.parametrize("how", ["latest", "known"])
async def test_a_life_that_is_over_hears_it_once_at_the_next_renewal(how: str) -> None:
    desk = Desk()
    async with desk.lease():
        await desk.clock.advance(1.0)
        setattr(desk, how, False)
        await desk.clock.advance(RENEWAL)
        assert desk.over == 1
        await desk.clock.advance(100.0)
    assert desk.over == 1
    assert len(desk.asked) == 2


@pytest.mark.parametrize(
    ("incarnation", "phase", "latest"),
    [(2, "idle", True), (2, STOPPED, True), (3, "idle", False), (2, DEAD, False), (2, RESTARTING, False)],
    ids=["lives", "stopped", "newer", "dead", "restarting"],
)
def test_a_life_is_the_latest_unless_the_supervisor_knows_a_newer_one_or_its_end(
    incarnation: int, phase: str, latest: bool
) -> None:
    assert is_latest(AgentStatus(ANA, Incarnation(incarnation), phase, 0.0), Incarnation(2)) is latest
