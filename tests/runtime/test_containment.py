"""A loop outlives what its tasks raise."""

import asyncio

import pytest

from amrita_fleet.runtime.containment import CancelledItself, TaskLeft, apart, contained


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_a_loop_outlives_an_exit_that_a_task_raises(kind: type[BaseException]) -> None:
    async def leave() -> None:
        raise kind

    async def live() -> str:
        asyncio.get_running_loop().set_task_factory(contained)
        with pytest.raises(TaskLeft, match=kind.__name__):
            await asyncio.create_task(leave())
        return "lives"

    assert asyncio.run(live()) == "lives"


def test_results_errors_and_cancellation_come_through() -> None:
    async def fail() -> None:
        raise ValueError("no")

    async def live() -> None:
        asyncio.get_running_loop().set_task_factory(contained)
        assert await asyncio.create_task(asyncio.sleep(0, "yes")) == "yes"
        with pytest.raises(ValueError, match="no"):
            await asyncio.create_task(fail())
        sleeper = asyncio.create_task(asyncio.sleep(60), name="sleeper")
        await asyncio.sleep(0)
        sleeper.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sleeper
        assert sleeper.cancelled()
        assert sleeper.get_name() == "sleeper"

    asyncio.run(live())


def test_work_that_is_done_apart_can_end_neither_its_caller_nor_the_loop() -> None:
    async def give_up() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    async def leave() -> None:
        raise SystemExit

    async def live() -> str:
        with pytest.raises(CancelledItself):
            await apart(give_up())
        with pytest.raises(TaskLeft, match="SystemExit"):
            await apart(leave())
        return await apart(asyncio.sleep(0, "lives"))

    assert asyncio.run(live()) == "lives"


@pytest.mark.parametrize("begun", [True, False], ids=["begun", "not begun"])
def test_who_cancels_the_caller_cancels_the_work_that_is_done_apart(begun: bool) -> None:
    seen: list[str] = []

    async def work(started: asyncio.Event) -> None:
        seen.append("begun")
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            seen.append("ended")

    async def live() -> None:
        started = asyncio.Event()
        caller = asyncio.create_task(apart(work(started)))
        await (started.wait() if begun else asyncio.sleep(0))
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller

    asyncio.run(live())
    assert seen == (["begun", "ended"] if begun else [])
