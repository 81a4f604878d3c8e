"""A producer stands where it was asked to, as long as it was asked to, and never longer."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet import FleetError
from amrita_fleet.runtime.clock import settle
from amrita_fleet.runtime.errors import NumberInvalid
from amrita_fleet.runtime.stream_errors import SuspendTimedOut, SuspensionRefused
from amrita_fleet.runtime.suspension import Stand, Suspension

pytestmark = pytest.mark.anyio

ROUND = ("boundary", "model", "tool")


class Worker:
    """A producer that goes through its points again and again, and waits after each for the test."""

    def __init__(self, suspension: Suspension, *tags: str) -> None:
        self.passed: list[str] = []
        self._suspension = suspension
        self._task = asyncio.create_task(self._work(tags or ROUND))

    async def _work(self, tags: tuple[str, ...]) -> None:
        for tag in tags:
            await self._suspension.point(tag)
            self.passed.append(tag)

    async def ended(self) -> list[str]:
        await self._task
        return self.passed

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def test_a_point_returns_at_once_when_nobody_asked() -> None:
    step = Suspension().point("model")
    with pytest.raises(StopIteration):
        step.send(None)


@pytest.mark.parametrize("tag", ROUND)
async def test_the_producer_stands_at_the_tag_that_was_asked_for_until_it_is_resumed(tag: str) -> None:
    suspension = Suspension()
    asked = asyncio.create_task(suspension.request((tag,), timeout=10))
    await settle()
    worker = Worker(suspension)
    assert await asked == tag
    await settle()
    assert worker.passed == list(ROUND[: ROUND.index(tag)])
    suspension.resume()
    assert await worker.ended() == list(ROUND)


async def test_without_a_tag_the_next_point_is_the_one() -> None:
    suspension = Suspension()
    asked = asyncio.create_task(suspension.request())
    await settle()
    worker = Worker(suspension, "x", "y")
    assert await asked == "x"
    assert worker.passed == []
    suspension.resume()
    assert await worker.ended() == ["x", "y"]


async def test_all_tasks_of_a_producer_that_come_to_the_point_stand_there() -> None:
    suspension = Suspension()
    asked = asyncio.create_task(suspension.request(("tool",)))
    await settle()
    workers = [Worker(suspension, "tool") for _ in range(3)]
    await asked
    await settle()
    assert [worker.passed for worker in workers] == [[], [], []]
    suspension.resume()
    assert [await worker.ended() for worker in workers] == [["tool"]] * 3


async def test_a_request_that_is_not_met_in_time_is_withdrawn() -> None:
    suspension = Suspension()
    with pytest.raises(SuspendTimedOut, match=r"did not come to model or tool within 0\.001 s") as caught:
        await suspension.request(("model", "tool"), timeout=0.001)
    assert isinstance(caught.value, TimeoutError)
    assert (caught.value.tags, caught.value.seconds) == (("model", "tool"), 0.001)
    assert await Worker(suspension).ended() == list(ROUND)


@pytest.mark.parametrize("seconds", [0, -1, -0.5, float("nan"), True], ids=repr)
async def test_a_time_out_in_which_nothing_can_happen_is_refused(seconds: float) -> None:
    suspension = Suspension()
    with pytest.raises(NumberInvalid, match="nothing can happen in no time") as caught:
        await suspension.request(timeout=seconds)
    assert isinstance(caught.value, ValueError)
    assert suspension.note == ""


async def test_a_second_request_is_refused_and_leaves_the_first_alone() -> None:
    suspension = Suspension()
    first = asyncio.create_task(suspension.request(("tool",)))
    await settle()
    with pytest.raises(SuspensionRefused, match="asked for already") as caught:
        await suspension.request(("model",))
    assert isinstance(caught.value, RuntimeError)
    worker = Worker(suspension)
    assert await first == "tool"
    with pytest.raises(SuspensionRefused):
        await suspension.request()
    suspension.resume()
    await worker.ended()


async def test_resuming_gives_up_a_request_that_was_not_met() -> None:
    suspension = Suspension()
    suspension.resume()
    asked = asyncio.create_task(suspension.request())
    await settle()
    suspension.resume()
    with pytest.raises(SuspensionRefused, match="given up"):
        await asked
    assert await Worker(suspension).ended() == list(ROUND)


async def test_a_request_is_withdrawn_by_its_token_alone_and_the_same_token_is_the_same_request() -> None:
    suspension = Suspension()
    mine = Stand("mine", ("tool",))
    planted = suspension.ask(mine)
    assert suspension.ask(mine) is planted
    with pytest.raises(SuspensionRefused, match="asked for already"):
        suspension.ask(Stand("another"))
    suspension.withdraw("another")
    worker = Worker(suspension)
    assert await suspension.reached(mine, timeout=10) == "tool"
    suspension.withdraw("mine")
    assert await worker.ended() == list(ROUND)


async def test_who_asked_and_went_away_leaves_nobody_standing() -> None:
    suspension = Suspension()
    asked = asyncio.create_task(suspension.request())
    await settle()
    worker = Worker(suspension)
    await asyncio.sleep(0)  # the worker stands, and who asked has not heard it yet
    assert suspension.note == "suspended at boundary"
    asked.cancel()
    assert await worker.ended() == list(ROUND)


async def test_cancelling_the_task_that_stands_ends_the_suspension() -> None:
    suspension = Suspension()
    asked = asyncio.create_task(suspension.request())
    await settle()
    worker = Worker(suspension)
    await asked
    await worker.stop()
    assert suspension.note == ""
    assert await Worker(suspension).ended() == list(ROUND)


async def test_closing_releases_who_stands_and_who_asks_for_good() -> None:
    suspension = Suspension()
    asked = asyncio.create_task(suspension.request(("model",)))
    await settle()
    suspension.close("the agent has stopped")
    with pytest.raises(SuspensionRefused, match="the agent has stopped"):
        await asked
    with pytest.raises(SuspensionRefused, match="the agent has stopped"):
        await suspension.request()
    standing = Suspension()
    asked = asyncio.create_task(standing.request())
    await settle()
    worker = Worker(standing)
    await asked
    standing.close("stopped")
    assert await worker.ended() == list(ROUND)


async def test_the_note_says_where_it_stands_or_shall() -> None:
    suspension = Suspension()
    asked = asyncio.create_task(suspension.request(("model", "tool")))
    await settle()
    assert (suspension.asked, suspension.note) == (True, "to be suspended at model or tool")
    worker = Worker(suspension)
    await asked
    assert suspension.note == "suspended at model"
    suspension.resume()
    assert (suspension.asked, suspension.note) == (False, "")
    await worker.ended()


Deed = st.sampled_from(["ask", "ask tool", "resume", "forget", "work", "kill", "close"])


@given(st.lists(Deed, max_size=20))
def test_whatever_is_asked_in_whatever_order_nobody_stands_after_a_resume(deeds: list[str]) -> None:
    asyncio.run(after_all(deeds))


async def after_all(deeds: list[str]) -> None:
    suspension = Suspension()
    asked: list[asyncio.Task[str]] = []
    workers: list[Worker] = []
    for deed in deeds:
        match deed:
            case "ask" | "ask tool":
                tags = ("tool",) if "tool" in deed else ()
                asked.append(asyncio.create_task(suspension.request(tags)))
            case "resume":
                suspension.resume()
            case "forget" if asked:
                asked[-1].cancel()
            case "work":
                workers.append(Worker(suspension))
            case "kill" if workers:
                await workers.pop().stop()
            case "close":
                suspension.close("closed")
            case _:
                pass
        await asyncio.sleep(0)
    await settle()
    suspension.resume()
    for worker in workers:
        assert await worker.ended() == list(ROUND)
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(answer, str | FleetError | asyncio.CancelledError) for answer in answers)
