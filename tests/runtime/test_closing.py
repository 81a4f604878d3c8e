"""A fleet is closed once, in good order, whoever asks, however often, and whoever is cancelled meanwhile."""

import asyncio

import pytest

from amrita_fleet.runtime.closing import Closing

pytestmark = pytest.mark.anyio


class Ends:
    """What a closing ends; the test says when each of it is over."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.drained = asyncio.Event()
        self.ended = asyncio.Event()
        self.ended.set()
        self.given_up = asyncio.Event()
        self.given_up.set()
        self.failure: Exception | None = None
        self.closing = Closing(self.drain, self.end)

    async def drain(self, grace: float) -> None:
        self.told.append(f"drain {grace:g}")
        try:
            await self.drained.wait()
        except asyncio.CancelledError:
            await self.given_up.wait()
            self.told.append("given up")
            raise
        if self.failure is not None:
            raise self.failure

    async def end(self) -> None:
        self.told.append("end")
        await self.ended.wait()
        self.told.append("ended")

    def close(self, grace: float = 10.0, *, cancelled: bool = False) -> "asyncio.Task[None]":
        return asyncio.create_task(self.closing.run(grace, cancelled=cancelled))


async def turns() -> None:
    """Let everybody run until he waits for something."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_agents_drain_before_all_ends_and_that_once() -> None:
    ends = Ends()
    closing = ends.close()
    await turns()
    assert (ends.told, closing.done()) == (["drain 10"], False)
    ends.drained.set()
    await closing
    await ends.close()
    assert ends.told == ["drain 10", "end", "ended"]


async def test_a_drain_that_takes_its_time_to_give_up_is_waited_for() -> None:
    ends = Ends()
    ends.given_up.clear()
    patient = ends.close()
    await turns()
    hasty = ends.close(0.0)
    await turns()
    assert ends.told == ["drain 10", "end", "ended"]
    assert not patient.done() and not hasty.done()
    ends.given_up.set()
    await asyncio.gather(patient, hasty)
    assert ends.told[-1] == "given up"


async def test_without_a_grace_all_ends_at_once() -> None:
    ends = Ends()
    await ends.close(0)
    assert ends.told == ["end", "ended"]


async def test_who_closes_while_another_waits_waits_for_the_end_too() -> None:
    ends = Ends()
    first, second = ends.close(), ends.close(20)
    await turns()
    ends.drained.set()
    ends.ended.clear()
    await turns()
    assert not (first.done() or second.done())
    ends.ended.set()
    await asyncio.gather(first, second)
    assert ends.told == ["drain 10", "drain 20", "end", "ended"]


async def test_the_shortest_grace_counts() -> None:
    ends = Ends()
    first = ends.close()
    await turns()
    await ends.close(0)
    await first
    assert ends.told == ["drain 10", "given up", "end", "ended"]


async def test_the_first_cancellation_waits_for_the_drain_and_the_second_does_not() -> None:
    ends = Ends()
    closing = ends.close()
    await turns()
    closing.cancel()
    await turns()
    assert (ends.told, closing.done()) == (["drain 10"], False)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert ends.told == ["drain 10", "given up", "end", "ended"]


async def test_a_cancellation_that_made_somebody_leave_is_the_first() -> None:
    ends = Ends()
    closing = ends.close(cancelled=True)
    await turns()
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert ends.told == ["drain 10", "given up", "end", "ended"]


async def test_what_made_somebody_leave_is_not_raised_again() -> None:
    ends = Ends()
    ends.drained.set()
    await ends.close(cancelled=True)
    assert ends.told == ["drain 10", "end", "ended"]


async def test_one_cancellation_is_passed_on_when_all_has_ended_in_good_order() -> None:
    ends = Ends()
    closing = ends.close()
    await turns()
    closing.cancel()
    await turns()
    ends.drained.set()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert ends.told == ["drain 10", "end", "ended"]


async def test_what_ends_is_not_cut_by_any_number_of_cancellations() -> None:
    ends = Ends()
    ends.ended.clear()
    closing = ends.close(0)
    for _ in range(3):
        await turns()
        closing.cancel()
    await turns()
    assert not closing.done()
    ends.ended.set()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert ends.told == ["end", "ended"]


async def test_a_drain_that_fails_is_told_once_all_has_ended() -> None:
    ends = Ends()
    ends.failure = ValueError("a bug")
    ends.drained.set()
    with pytest.raises(ValueError, match="a bug"):
        await ends.close()
    assert ends.told == ["drain 10", "end", "ended"]
