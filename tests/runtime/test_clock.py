"""The real clock, and the one whose time passes only when it is told to."""

import asyncio
import time

import pytest

from amrita_fleet.runtime.clock import SystemClock, VirtualClock


@pytest.mark.anyio
async def test_the_system_clock_is_the_machines_time() -> None:
    clock = SystemClock()
    before = time.time(), time.monotonic()
    await clock.sleep(0)
    now, monotonic = clock.now(), clock.monotonic()
    assert before <= (now, monotonic)
    assert now <= time.time()
    assert monotonic <= time.monotonic()


@pytest.mark.anyio
async def test_virtual_time_stands_still_until_it_is_advanced() -> None:
    clock = VirtualClock(now=1_000.0)
    assert (clock.now(), clock.monotonic()) == (1_000.0, 0.0)
    await clock.advance(2.5)
    assert (clock.now(), clock.monotonic()) == (1_002.5, 2.5)


@pytest.mark.anyio
async def test_sleepers_wake_at_their_own_moments_the_earliest_first() -> None:
    clock = VirtualClock()
    woken: list[tuple[str, float]] = []

    async def sleep(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.monotonic()))

    async with asyncio.TaskGroup() as tasks:
        for name, seconds in [("late", 9.0), ("first", 1.0), ("second", 1.0), ("next", 4.0)]:
            tasks.create_task(sleep(name, seconds))
        await clock.advance(4.0)
        assert woken == [("first", 1.0), ("second", 1.0), ("next", 4.0)]
        await clock.advance(5.0)
    assert woken[-1] == ("late", 9.0)


@pytest.mark.anyio
async def test_a_sleep_that_begins_while_time_passes_counts_from_there() -> None:
    clock = VirtualClock()
    ticks: list[float] = []

    async def tick() -> None:
        while True:
            await clock.sleep(1.0)
            ticks.append(clock.monotonic())

    ticking = asyncio.create_task(tick())
    await clock.advance(3.5)
    ticking.cancel()
    assert ticks == [1.0, 2.0, 3.0]


@pytest.mark.anyio
async def test_a_cancelled_sleep_is_passed_over() -> None:
    clock = VirtualClock()
    sleeping = asyncio.create_task(clock.sleep(1.0))
    await clock.advance(0.5)
    sleeping.cancel()
    await clock.advance(1.0)
    assert sleeping.cancelled()
    assert clock.monotonic() == 1.5


@pytest.mark.anyio
async def test_no_time_at_all_is_only_a_turn_for_others() -> None:
    clock = VirtualClock()
    await clock.sleep(0)
    await clock.sleep(-1.0)
    assert clock.monotonic() == 0.0


@pytest.mark.anyio
async def test_time_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="does not go back"):
        await VirtualClock().advance(-1.0)
