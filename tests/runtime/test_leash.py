"""Work has its time and no more, and whatever it raises is its own."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from amrita_fleet.runtime.containment import CancelledItself
from amrita_fleet.runtime.leash import Gave, Late, Leash, Raised

pytestmark = pytest.mark.anyio


async def stubborn() -> None:
    """Goes on when it is cancelled."""
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue


async def sore() -> None:
    """Goes on when it is cancelled, and fails when it is closed."""
    try:
        await stubborn()
    finally:
        raise ValueError


async def test_work_that_ends_in_time_gave_its_value() -> None:
    assert await Leash(asyncio.sleep(0, "yes"), "It").within(60) == Gave("yes")
    assert await Leash(asyncio.sleep(0, "yes"), "It").within(None) == Gave("yes")


@pytest.mark.parametrize("kind", [ValueError, SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError])
async def test_whatever_work_raises_is_told_and_ends_nobody_else(kind: type[BaseException]) -> None:
    error = kind("its own")

    async def fail() -> None:
        raise error

    assert await Leash(fail(), "It").within(60) == Raised(error)


async def test_work_that_cancels_its_own_task_is_told_so() -> None:
    async def give_up() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    end = await Leash(give_up(), "It").within(60)
    assert isinstance(end, Raised)
    assert isinstance(end.error, CancelledItself)


async def test_late_work_is_cancelled_and_has_time_to_put_things_in_order() -> None:
    seen: list[str] = []

    async def tidy() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.001)
            seen.append("tidy")

    assert await Leash(tidy(), "It").within(0.001) is Late.STOPPED
    assert seen == ["tidy"]


async def test_what_late_work_makes_of_its_cancellation_counts() -> None:
    async def rescue(end: Callable[[], Any]) -> object:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return end()
        return None

    def fail() -> None:
        raise error

    error = ValueError("half")
    assert await Leash(rescue(lambda: "half"), "It").within(0.001) == Gave("half")
    assert await Leash(rescue(fail), "It").within(0.001) == Raised(error)


async def test_work_that_ignores_its_cancellation_is_broken_off_and_the_log_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    others = asyncio.all_tasks()
    assert await Leash(stubborn(), "The tool x", grace=0.001).within(0.001) is Late.BROKEN
    assert "The tool x ignored its cancellation and was broken off." in caplog.text
    assert asyncio.all_tasks() == others


async def test_a_task_of_the_works_own_that_goes_on_is_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    over = asyncio.Event()

    async def child() -> None:
        while not over.is_set():
            try:
                await over.wait()
            except asyncio.CancelledError:
                continue

    async def parent() -> None:
        await asyncio.gather(child())

    assert await Leash(parent(), "The tool x", grace=0.001).within(0.001) is Late.LEFT
    assert "The tool x left a task behind" in caplog.text
    over.set()


async def test_who_cancels_the_caller_waits_for_no_work_that_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    others = asyncio.all_tasks()
    caller = asyncio.create_task(Leash(stubborn(), "It", grace=0.001).within(None))
    await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert "It ignored its cancellation" in caplog.text
    assert asyncio.all_tasks() == others


async def test_who_cancels_the_caller_twice_does_not_wait_at_all() -> None:
    caller = asyncio.create_task(Leash(stubborn(), "It", grace=3600).within(None))
    for _ in range(2):
        for _ in range(3):
            await asyncio.sleep(0)
        caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller


async def test_work_that_was_cancelled_before_it_began_never_begins() -> None:
    async def work() -> None:
        raise AssertionError

    others = asyncio.all_tasks()
    leash = Leash(work(), "It")
    (held,) = asyncio.all_tasks() - others
    held.cancel()
    end = await leash.within(None)
    assert isinstance(end, Raised)
    assert isinstance(end.error, asyncio.CancelledError)


async def test_work_that_fails_when_it_is_broken_off_is_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    assert await Leash(sore(), "It", grace=0.001).within(0.001) is Late.BROKEN
    assert "It failed when it was broken off." in caplog.text
