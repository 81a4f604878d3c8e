"""What goes through a stream, who may read it, and that no wrong use of it ever hangs."""

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from unittest.mock import MagicMock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.ids import RunId
from amrita_fleet.runtime.clock import settle
from amrita_fleet.runtime.errors import NumberInvalid, PeerUnreachable
from amrita_fleet.runtime.stream import SuspendObjectStream, expect_stream
from amrita_fleet.runtime.stream_errors import (
    StreamClosed,
    StreamExpected,
    StreamFull,
    StreamMisused,
    SuspendTimedOut,
    SuspensionRefused,
)
from amrita_fleet.runtime.suspension import Stand

pytestmark = pytest.mark.anyio

SHORT = 0.001
"""Seconds that a wait which is to be in vain takes."""


async def read(objects: AsyncIterator[object]) -> list[object]:
    return [each async for each in objects]


async def test_objects_come_out_in_order_until_the_producer_is_done() -> None:
    stream = SuspendObjectStream()
    reading = asyncio.create_task(read(stream.get_response_generator()))
    for number in range(3):
        await stream.yield_response(number)
    stream.set_queue_done()
    assert await reading == [0, 1, 2]


async def test_an_iteration_that_begins_after_the_end_gives_what_is_there_and_ends() -> None:
    stream = SuspendObjectStream()
    await stream.yield_response("last")
    stream.set_queue_done()
    await stream.send_done_to_producer()
    assert await read(stream.get_response_generator()) == ["last"]
    assert await read(stream.get_producer_input_generator()) == []


async def test_iterations_that_wait_end_when_the_other_side_is_done() -> None:
    stream = SuspendObjectStream()
    objects = asyncio.create_task(read(stream.get_response_generator()))
    texts = asyncio.create_task(read(stream.get_producer_input_generator()))
    await settle()
    stream.set_queue_done()
    assert (await objects, await texts) == ([], [])


async def test_after_the_end_nothing_more_is_taken() -> None:
    stream = SuspendObjectStream()
    stream.set_queue_done()
    stream.set_queue_done()
    with pytest.raises(StreamClosed, match="the producer is done") as caught:
        await stream.yield_response(1)
    assert isinstance(caught.value, RuntimeError)
    with pytest.raises(StreamClosed, match="the producer is done"):
        await stream.send_to_producer("x")
    with pytest.raises(StreamClosed):
        stream.set_callback_func(print)
    with pytest.raises(SuspensionRefused, match="the producer is done"):
        await stream.wait_to_suspend()


async def test_texts_reach_the_producer_until_they_are_said_to_be_all() -> None:
    stream = SuspendObjectStream()
    await stream.send_to_producer("a")
    texts = asyncio.create_task(read(stream.get_producer_input_generator()))
    await settle()
    await stream.send_to_producer("b")
    await stream.send_done_to_producer()
    with pytest.raises(StreamClosed, match=r"send_done_to_producer\(\) was called"):
        await stream.send_to_producer("c")
    assert await texts == ["a", "b"]
    await stream.yield_response("still open the other way")


async def test_what_is_no_text_is_not_sent() -> None:
    with pytest.raises(StreamMisused, match="is a text, not int"):
        await SuspendObjectStream().send_to_producer(1)  # type: ignore[arg-type]
    with pytest.raises(StreamMisused, match="half a surrogate pair"):
        await SuspendObjectStream().send_to_producer("half \ud800")


# --- one reader each way ---


async def test_a_second_iteration_is_refused_at_once() -> None:
    stream = SuspendObjectStream()
    first = stream.get_response_generator()
    with pytest.raises(StreamMisused, match="an iteration reads it already") as caught:
        stream.get_response_generator()
    assert isinstance(caught.value, RuntimeError)
    texts = stream.get_producer_input_generator()
    with pytest.raises(StreamMisused, match="its producer reads it already"):
        stream.get_producer_input_generator()
    stream.set_queue_done()
    assert (await read(first), await read(first), await read(texts)) == ([], [], [])


async def test_a_callback_and_an_iteration_exclude_each_other() -> None:
    called, iterated = SuspendObjectStream(), SuspendObjectStream()
    called.set_callback_func(print)
    with pytest.raises(StreamMisused, match="a callback reads it already"):
        called.get_response_generator()
    with pytest.raises(StreamMisused, match="a callback reads it already"):
        called.set_callback_func(print)
    _ = iterated.get_response_generator()
    with pytest.raises(StreamMisused, match="an iteration reads it already"):
        iterated.set_callback_func(print)


async def test_a_callback_is_called_with_each_object_one_after_the_other() -> None:
    plain, waiting = SuspendObjectStream(), SuspendObjectStream()
    seen: list[object] = []

    async def take(given: object) -> None:
        seen.append(("begun", given))
        await asyncio.sleep(0)
        seen.append(("ended", given))

    plain.set_callback_func(seen.append)
    await plain.yield_response(0)
    waiting.set_callback_func(take)
    await asyncio.gather(waiting.yield_response(1), waiting.yield_response(2))
    assert seen == [0, ("begun", 1), ("ended", 1), ("begun", 2), ("ended", 2)]


async def test_what_a_callback_raises_comes_to_the_producer() -> None:
    stream = SuspendObjectStream()

    def fail(_: object) -> None:
        raise ValueError("no such object")

    stream.set_callback_func(fail)
    with pytest.raises(ValueError, match="no such object"):
        await stream.yield_response(1)


async def test_a_callback_that_comes_too_late_or_is_none_is_refused() -> None:
    stream = SuspendObjectStream()
    with pytest.raises(StreamMisused, match="a callback is a function, not str"):
        stream.set_callback_func("print")  # type: ignore[arg-type]
    await stream.yield_response(1)
    with pytest.raises(StreamMisused, match="set a callback before the producer begins"):
        stream.set_callback_func(print)
    stream.set_queue_done()
    assert await read(stream.get_response_generator()) == [1]


# --- readers that do not read ---


async def test_objects_that_nobody_reads_in_time_make_room_oldest_first(caplog: pytest.LogCaptureFixture) -> None:
    stream = SuspendObjectStream(queue_size=2, queue_timeout=SHORT)
    with caplog.at_level(logging.WARNING):
        for number in range(5):
            await stream.yield_response(number)
    assert [record.message for record in caplog.records] == [
        "objects of a stream are dropped: nobody reads them, the oldest first"
    ]
    stream.set_queue_done()
    assert await read(stream.get_response_generator()) == [3, 4]
    assert stream.dropped == 3


async def test_a_producer_waits_for_a_reader_that_is_slow() -> None:
    stream = SuspendObjectStream(queue_size=1, queue_timeout=10)
    objects = stream.get_response_generator()
    await stream.yield_response(1)
    putting = asyncio.create_task(stream.yield_response(2))
    await settle()
    assert not putting.done()
    assert await anext(objects) == 1
    await putting
    assert (await anext(objects), stream.dropped) == (2, 0)


async def test_a_reader_that_leaves_does_not_hold_up_the_producer(caplog: pytest.LogCaptureFixture) -> None:
    stream = SuspendObjectStream(queue_size=1, queue_timeout=60)
    await stream.yield_response(1)
    async for _ in stream.get_response_generator():
        break
    gc.collect()
    with caplog.at_level(logging.WARNING):
        for number in range(3):
            await stream.yield_response(number)
    assert [record.message for record in caplog.records] == [
        "objects of a stream are dropped: the reader has gone, these first"
    ]
    assert stream.dropped == 3


async def test_a_producer_that_waits_for_room_goes_on_when_the_reader_leaves() -> None:
    stream = SuspendObjectStream(queue_size=1, queue_timeout=60)
    objects = stream.get_response_generator()
    await stream.yield_response(1)
    putting = asyncio.create_task(stream.yield_response(2))
    await settle()
    del objects
    gc.collect()
    await putting
    assert stream.dropped == 1


async def test_texts_that_the_producer_does_not_take_are_refused_and_none_is_lost() -> None:
    stream = SuspendObjectStream(queue_size=1, queue_timeout=SHORT)
    await stream.send_to_producer("kept")
    with pytest.raises(StreamFull, match=r"took nothing for 0\.001 s") as caught:
        await stream.send_to_producer("refused")
    assert isinstance(caught.value, TimeoutError)
    stream.set_queue_done()
    assert await read(stream.get_producer_input_generator()) == ["kept"]


async def test_a_text_that_waits_for_room_is_refused_when_the_producer_ends() -> None:
    stream = SuspendObjectStream(queue_size=1, queue_timeout=60)
    await stream.send_to_producer("kept")
    sending = asyncio.create_task(stream.send_to_producer("late"))
    await settle()
    stream.set_queue_done()
    with pytest.raises(StreamClosed):
        await sending


async def test_a_producer_that_reads_no_more_says_so() -> None:
    stream = SuspendObjectStream()
    texts = stream.get_producer_input_generator()
    del texts
    gc.collect()
    with pytest.raises(StreamClosed, match="the producer reads no more"):
        await stream.send_to_producer("x")


async def test_looking_for_an_object_in_little_time_loses_none() -> None:
    stream = SuspendObjectStream()
    objects = stream.get_response_generator()
    for _ in range(3):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(objects), SHORT)
    await stream.yield_response(1)
    assert await asyncio.wait_for(anext(objects), 10) == 1


async def test_an_object_that_comes_as_the_wait_for_it_is_cancelled_is_not_lost() -> None:
    stream = SuspendObjectStream()
    objects = stream.get_response_generator()
    looking = asyncio.ensure_future(anext(objects))
    await settle()
    await stream.yield_response(1)
    looking.cancel()
    await asyncio.gather(looking, return_exceptions=True)
    assert await asyncio.wait_for(anext(objects), 10) == 1


# --- wrong uses that must not hang ---


@pytest.mark.parametrize("size", [0, -1, 1.5, True], ids=repr)
def test_a_queue_that_holds_nothing_is_refused(size: int) -> None:
    with pytest.raises(NumberInvalid, match="a queue holds at least one object"):
        SuspendObjectStream(queue_size=size)


@pytest.mark.parametrize("seconds", [0, -1, float("nan")], ids=repr)
async def test_no_time_is_refused_with_the_reason(seconds: float) -> None:
    with pytest.raises(NumberInvalid, match=r"queue_timeout=.*nothing can happen in no time"):
        SuspendObjectStream(queue_timeout=seconds)
    with pytest.raises(NumberInvalid, match="queue_timeout=None"):
        SuspendObjectStream(queue_timeout=None)  # type: ignore[arg-type]
    with pytest.raises(NumberInvalid, match=r"timeout=.*nothing can happen in no time"):
        await SuspendObjectStream().wait_to_suspend("tool", timeout=seconds)


def test_a_second_event_loop_is_refused_at_every_door() -> None:
    stream = SuspendObjectStream()

    async def first() -> tuple[AsyncIterator[object], AsyncIterator[str]]:
        await stream.yield_response(1)
        await stream.send_to_producer("x")
        return stream.get_response_generator(), stream.get_producer_input_generator()

    async def second() -> None:
        doors: tuple[Callable[[], Awaitable[object]], ...] = (
            lambda: stream.yield_response(2),
            lambda: stream.send_to_producer("y"),
            stream.send_done_to_producer,
            lambda: anext(objects),
            lambda: anext(texts),
            stream.wait_to_suspend,
            lambda: stream.point("tool"),
        )
        for door in doors:
            with pytest.raises(StreamMisused, match="make a stream inside each"):
                await door()

    objects, texts = asyncio.run(first())
    asyncio.run(second())
    readers = (stream.get_response_generator, stream.get_producer_input_generator)
    for door in (*readers, stream.set_queue_done, stream.resume, lambda: stream.set_callback_func(print)):
        with pytest.raises(StreamMisused, match="make a stream inside each"):
            door()


def test_nobody_resumes_without_an_event_loop() -> None:
    with pytest.raises(StreamMisused, match="no event loop runs here: call this in a coroutine"):
        SuspendObjectStream().resume()


def test_a_stream_made_before_any_loop_runs_can_be_used_in_one() -> None:
    stream = SuspendObjectStream()
    stream.set_callback_func(print)

    async def use() -> None:
        await stream.send_to_producer("x")
        stream.set_queue_done()

    asyncio.run(use())


@pytest.mark.parametrize(
    "given", [MagicMock(), MagicMock(spec=object), "stream", None], ids=["mock", "spec", "text", "none"]
)
def test_what_is_no_stream_is_refused(given: object) -> None:
    with pytest.raises(StreamExpected, match="must be a SuspendObjectStream, not") as caught:
        expect_stream(given)
    assert isinstance(caught.value, TypeError)


# --- suspension ---


async def produce(stream: SuspendObjectStream) -> None:
    for number in range(3):
        await stream.point("before")
        await stream.yield_response(number)
        await stream.point("after")
    stream.set_queue_done()


async def test_the_producer_stands_at_its_point_until_resumed() -> None:
    stream = SuspendObjectStream()
    objects = stream.get_response_generator()
    asked = asyncio.create_task(stream.wait_to_suspend("after", timeout=10))
    await settle()
    producing = asyncio.create_task(produce(stream))
    assert await asked == "after"
    await settle()
    assert await anext(objects) == 0
    with pytest.raises(SuspensionRefused, match="asked for already"):
        await stream.wait_to_suspend()
    await stream.resume()
    assert await read(objects) == [1, 2]
    await producing


async def test_a_suspension_can_be_asked_for_right_after_a_resume_that_nobody_awaited() -> None:
    stream = SuspendObjectStream(queue_size=9)
    asked = asyncio.create_task(stream.wait_to_suspend("before"))
    await settle()
    producing = asyncio.create_task(produce(stream))
    await asked
    for tag in ("after", "before", "after"):
        stream.resume()
        assert await stream.wait_to_suspend(tag, timeout=10) == tag
    stream.resume()
    await producing


async def test_a_suspension_that_is_not_reached_in_time_leaves_the_producer_alone() -> None:
    stream = SuspendObjectStream()
    with pytest.raises(SuspendTimedOut):
        await stream.wait_to_suspend("before", timeout=SHORT)
    await produce(stream)


async def test_who_waits_for_a_suspension_is_told_that_the_producer_is_done() -> None:
    stream = SuspendObjectStream()
    asked = asyncio.create_task(stream.wait_to_suspend("nowhere"))
    await settle()
    await produce(stream)
    with pytest.raises(SuspensionRefused, match="the producer is done"):
        await asked
    await stream.resume()


class Deaf:
    """The way to an agent whose points nobody reaches."""

    async def suspend(self, run: RunId, stand: Stand, timeout: float | None) -> str:  # noqa: ASYNC109
        raise PeerUnreachable(agent="ana", reason=f"nobody stands for {run} at {stand.tags} in {timeout}")

    async def resume_point(self, token: str) -> None:
        raise PeerUnreachable(agent="ana", reason=f"nobody heard that {token} is over")


async def test_who_takes_back_what_was_asked_of_an_agent_learns_that_it_was_not_told() -> None:
    stream = SuspendObjectStream()
    asked = asyncio.create_task(stream.wait_to_suspend("tool"))
    await settle()
    texts = stream.get_producer_input_generator()
    _, stand = texts.begin(Deaf())
    assert stand is not None and stand.tags == ("tool",)
    given_up = stream.resume()
    with pytest.raises(SuspensionRefused, match="given up"):
        await asked
    texts.serve(RunId("ana.1.1"))
    with pytest.raises(PeerUnreachable, match=f"nobody heard that {stand.token} is over"):
        await given_up
    with pytest.raises(PeerUnreachable, match=r"nobody stands for ana\.1\.1"):
        await stream.wait_to_suspend("tool")


async def test_a_tag_is_a_text() -> None:
    with pytest.raises(SuspensionRefused, match="a tag is a text, not list"):
        await SuspendObjectStream().wait_to_suspend(["tool"])  # type: ignore[arg-type]
    with pytest.raises(StreamMisused, match="a tag is a text, not list"):
        await SuspendObjectStream().point(["tool"])  # type: ignore[arg-type]


@given(st.lists(st.sampled_from(["yield", "read", "peek", "race"]), max_size=30), st.integers(1, 4))
def test_every_object_is_read_once_in_order_or_counted_as_dropped(deeds: list[str], size: int) -> None:
    asyncio.run(deeds_done(deeds, size))


async def deeds_done(deeds: list[str], size: int) -> None:
    stream = SuspendObjectStream(queue_size=size, queue_timeout=SHORT)
    objects = stream.get_response_generator()
    given, seen = 0, list[object]()
    for deed in deeds:
        if deed == "yield":
            await stream.yield_response(given)
            given += 1
        elif deed == "race":
            looking = asyncio.ensure_future(anext(objects))
            await settle()
            await stream.yield_response(given)
            given += 1
            looking.cancel()
            seen.extend(each for each in await asyncio.gather(looking, return_exceptions=True) if isinstance(each, int))
        elif given > len(seen) + stream.dropped:
            seen.append(await anext(objects))
        elif deed == "peek":
            looking = asyncio.ensure_future(anext(objects))
            await asyncio.sleep(0)
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
    stream.set_queue_done()
    seen.extend(await read(objects))
    assert len(seen) + stream.dropped == given
    assert seen == [number for number in range(given) if number in seen]
