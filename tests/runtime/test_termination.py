"""SIGTERM leaves a fleet in good order, then ends its process; a second one does so at once, a third at any rate."""

import asyncio
import signal
import threading
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from amrita_fleet import Fleet
from amrita_fleet.runtime.termination import TERMINATED, Termination, termination

from ..terminated import owner

DESK = str(Path(__file__).parent / "tools" / "mcp" / "desk.py")


@pytest.fixture(autouse=True)
def default_action() -> Generator[None]:
    """The signal ends the process, before and after, whatever handler a Ray of this process has set."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    signal.signal(signal.SIGTERM, before)


@pytest.mark.slow
def test_a_process_that_is_asked_to_end_drains_its_fleet_and_ends_by_the_signal() -> None:
    with owner("local", "works", DESK) as process:
        process.told("works")
        assert process.count() >= 1
        process.signal(signal.SIGTERM)
        assert process.ended() == (-signal.SIGTERM, "leaves\nis over\n", "")
        assert process.left_behind() == []


@pytest.mark.slow
def test_a_second_signal_ends_it_at_once_and_leaves_nothing_behind() -> None:
    with owner("local", "stuck", DESK) as process:
        process.told("works")
        assert process.count() >= 1
        process.signal(signal.SIGTERM)
        process.told("leaves")
        process.signal(signal.SIGTERM)
        status, out, err = process.ended()
        assert (status, out) == (-signal.SIGTERM, "is over\n")
        assert err.startswith("ana is cut off in mid-Step")
        assert process.left_behind() == []


@pytest.mark.slow
def test_a_third_signal_ends_a_process_that_heeds_none() -> None:
    with owner("local", "blocks") as process:
        process.told("works")
        for _ in range(3):
            process.signal(signal.SIGTERM)
            time.sleep(0.1)  # two that come at the same time are one
        assert process.ended() == (-signal.SIGTERM, "", "")


@pytest.mark.slow
def test_a_second_ctrl_c_ends_it_at_once_and_leaves_nothing_behind() -> None:
    with owner("local", "stuck", DESK) as process:
        process.told("works")
        assert process.count() >= 1
        process.signal(signal.SIGINT)
        process.told("leaves")
        process.signal(signal.SIGINT)
        status, out, err = process.ended()
        assert (status, out) == (-signal.SIGINT, "is over\n")
        assert err.endswith("KeyboardInterrupt\n")
        assert process.left_behind() == []


@pytest.mark.slow
def test_a_program_that_handles_the_signal_itself_does_what_it_likes() -> None:
    with owner("local", "handles") as process:
        process.told("works")
        process.signal(signal.SIGTERM)
        assert process.ended() == (0, "leaves\nwas left by itself\nis over\n", "")


@pytest.mark.slow
def test_a_program_that_goes_on_when_it_is_cancelled_ends_by_the_signal_all_the_same() -> None:
    with owner("local", "goes on") as process:
        process.told("works")
        process.signal(signal.SIGTERM)
        assert process.ended() == (-signal.SIGTERM, "leaves\ngoes on\nis over\n", "")


# --- in this process --------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_an_open_fleet_takes_the_signal_and_a_closed_one_gives_it_back() -> None:
    async with Fleet(system="local") as fleet:
        assert signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
        async with Fleet(system="local") as inner:
            await inner.close()
        assert signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
        await fleet.close()
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


@pytest.mark.anyio
async def test_a_fleet_that_cannot_be_opened_gives_the_signal_back(tmp_path: Path) -> None:
    broken = tmp_path / "journal.sqlite"
    broken.write_text("this is no journal, and nobody would take it for one")
    with pytest.raises(Exception, match="journal"):
        await Fleet(system="local", journal=broken).__aenter__()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


@pytest.mark.anyio
async def test_a_handler_of_somebody_elses_stays() -> None:
    def own(_number: int, _frame: object) -> None:
        """The program's own."""

    signal.signal(signal.SIGTERM, own)
    try:
        async with Fleet(system="local"):
            assert signal.getsignal(signal.SIGTERM) is own
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@pytest.mark.anyio
async def test_rays_handler_is_no_wish_of_the_program_and_is_put_back() -> None:
    def rays(_number: int, _frame: object) -> None:
        """As `ray.init` sets it in the main thread."""

    rays.__module__ = "ray._private.worker"
    signal.signal(signal.SIGTERM, rays)
    try:
        async with Fleet(system="local"):
            assert signal.getsignal(signal.SIGTERM) is not rays
        assert signal.getsignal(signal.SIGTERM) is rays
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@pytest.mark.anyio
async def test_a_handler_that_is_set_meanwhile_stays() -> None:
    try:
        async with Fleet(system="local"):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def test_a_fleet_in_another_thread_leaves_the_signal_alone() -> None:
    async def live() -> None:
        async with Fleet(system="local"):
            found.append(signal.getsignal(signal.SIGTERM))

    found: list[object] = []
    thread = threading.Thread(target=lambda: asyncio.run(live()))
    thread.start()
    thread.join()
    assert found == [signal.SIG_DFL]


def test_the_signal_cancels_every_task_that_watches_for_it_and_what_follows_comes_when_all_are_over() -> None:
    async def live(name: str) -> None:
        task = ours.watch()
        try:
            ready.append(name)
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            told.append(name)
            if name == "slow":
                await asyncio.sleep(0.05)
        finally:
            ours.release(task)

    async def main() -> None:
        tasks = [asyncio.create_task(live(name)) for name in ("quick", "slow")]
        await asyncio.sleep(0)
        signal.raise_signal(signal.SIGTERM)
        await asyncio.gather(*tasks)
        await asyncio.sleep(0)
        told.append("all are over")

    told: list[str] = []
    ready: list[str] = []
    ours = Termination(after=lambda: told.append("after"), heard=lambda: told.append("heard"))
    asyncio.run(main())
    assert sorted(told[:4]) == ["heard", "heard", "quick", "slow"]
    assert sorted(told[4:]) == ["after", "all are over"]
    assert ours.received


def test_the_status_is_that_of_a_shell() -> None:
    assert TERMINATED == 143
    assert not termination().received
