import asyncio
import subprocess
import sys
import threading
from contextvars import ContextVar
from functools import partial
from pathlib import Path

import pytest

from amrita_fleet.runtime.tools.threads import Threads

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SOURCE = Path(__file__).resolve().parents[3] / "src"

STUCK = """
import asyncio, threading
from amrita_fleet.runtime.tools.executor import Executor
from amrita_fleet.runtime.tools.tool import tool

@tool(timeout=0.01)
def stuck() -> None:
    threading.Event().wait()

print(asyncio.run(Executor().run(stuck, "", None)).failed)
"""

place: ContextVar[str] = ContextVar("place")


async def test_a_function_sees_the_context_of_who_calls_it() -> None:
    place.set("here")
    assert await Threads().run(place.get) == "here"


async def test_a_thread_is_called_as_its_function_is() -> None:
    def look(place: str) -> str:
        return f"{place} {threading.current_thread().name}"

    assert await Threads().run(partial(look, "here")) == f"here {look.__qualname__}"


@pytest.mark.parametrize("error", [KeyError("x"), SystemExit(3)])
async def test_what_a_function_raises_is_raised(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        await Threads().run(fail)
    assert caught.value is error


async def test_a_call_that_was_left_behind_may_end_when_nobody_waits_any_more() -> None:
    free, ended = threading.Event(), threading.Event()

    def work() -> None:
        free.wait()
        ended.set()

    call = asyncio.create_task(Threads().run(work))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    free.set()
    assert await Threads().run(ended.wait)


async def test_a_turn_that_is_held_too_long_goes_to_the_next() -> None:
    threads = Threads(at_once=1, patience=0.01)
    async with threads.turn(), threads.turn(), threads.turn():
        pass
    async with threads.turn():  # each turn was given back once
        second = asyncio.create_task(threads.turn().__aenter__())
        await asyncio.sleep(0)
        assert not second.done()
        second.cancel()


@pytest.mark.slow
def test_a_stuck_thread_does_not_keep_the_program_from_ending() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STUCK], env={"PYTHONPATH": str(SOURCE)}, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"True\n"), done.stderr.decode()
