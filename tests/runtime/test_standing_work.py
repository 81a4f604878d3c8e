"""Work that goes on beside everything else."""

import asyncio

import pytest

from amrita_fleet.runtime.standing_work import StandingWork

pytestmark = pytest.mark.anyio


async def test_what_ends_by_an_error_is_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        raise RuntimeError("a bug")

    standing = StandingWork(work(), "nobody counts any more")
    await asyncio.sleep(0)
    await standing.aclose()
    assert "nobody counts any more" in caplog.text
    assert "a bug" in caplog.text


async def test_what_is_closed_ends_without_a_word_and_may_be_closed_again(caplog: pytest.LogCaptureFixture) -> None:
    ended = False

    async def work() -> None:
        nonlocal ended
        try:
            await asyncio.Event().wait()
        finally:
            ended = True

    standing = StandingWork(work(), "nobody waits any more")
    await asyncio.sleep(0)
    await standing.aclose()
    await standing.aclose()
    assert ended
    assert caplog.text == ""
