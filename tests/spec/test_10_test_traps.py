"""Section 10: what hangs or misleads in tests elsewhere is an error at once here, or cannot be written."""

import asyncio
from collections.abc import Mapping
from unittest.mock import AsyncMock, MagicMock, patch

import pytest

from amrita_fleet import (
    Agent,
    Fleet,
    Hooks,
    Notice,
    NumberInvalid,
    StreamExpected,
    StreamMisused,
    SuspendObjectStream,
    SuspendTimedOut,
)
from amrita_fleet.protocols.providers.scripted import call, say, scripted
from amrita_fleet.runtime.step.strategies import BuiltinStrategy

HELLO = Agent(preset=scripted(say("Hello.")))


def test_waiting_for_no_time_at_all_is_refused_and_a_moment_is_enough_to_look() -> None:
    async def look() -> None:
        stream = SuspendObjectStream()
        with pytest.raises(NumberInvalid, match=r"such as 0\.001 seconds"):
            await stream.wait_to_suspend(timeout=0)
        with pytest.raises(SuspendTimedOut):
            await stream.wait_to_suspend(timeout=0.001)
        with pytest.raises(NumberInvalid):
            SuspendObjectStream(queue_timeout=0)

    asyncio.run(look())


def test_a_stream_in_a_second_event_loop_is_an_error_that_says_so() -> None:
    stream = SuspendObjectStream()
    asyncio.run(stream.yield_response("one"))
    with pytest.raises(StreamMisused, match="event loop"):
        asyncio.run(stream.yield_response("two"))
    with pytest.raises(StreamMisused, match="event loop"):
        asyncio.run(stream.send_to_producer("three"))


def test_pushing_and_draining_in_one_loop_works() -> None:
    async def push_and_drain() -> list[object]:
        stream = SuspendObjectStream()
        await stream.yield_response("one")
        stream.set_queue_done()
        return [each async for each in stream.get_response_generator()]

    assert asyncio.run(push_and_drain()) == ["one"]


@pytest.mark.parametrize("fake", [MagicMock(), MagicMock(spec=dict), object()], ids=["mock", "other mock", "object"])
def test_a_mock_in_the_place_of_a_stream_is_refused_instead_of_iterated_for_ever(fake: object) -> None:
    async def start() -> None:
        async with Fleet(system="local") as fleet:
            (ana,) = await fleet.spawn(HELLO, ["ana"])
            with pytest.raises(StreamExpected, match="SuspendObjectStream"):
                await ana.start("Greet.", stream=fake)  # type: ignore[arg-type]

    asyncio.run(start())


def test_notices_are_told_apart_by_two_fields_and_are_all_of_one_class() -> None:
    async def watched() -> list[Notice]:
        async with Fleet(system="local") as fleet:
            (ana,) = await fleet.spawn(HELLO, ["ana"])
            return [notice async for notice in await ana.start("Greet.")]

    notices = asyncio.run(watched())
    assert all(isinstance(notice, Notice) for notice in notices)
    steps = [notice.get("extra_type") for notice in notices if notice.get("type") == "step"]
    assert steps == ["intro", "leave"]
    assert not any(isinstance(notice, Mapping) for notice in notices)


class Watching(Hooks):
    """A hook whose method a test replaces."""


@pytest.mark.parametrize("on_the_class", [True, False], ids=["the class's", "the object's own"])
def test_a_hook_patched_with_an_async_mock_is_awaited_like_any_other(*, on_the_class: bool) -> None:
    hook = Watching()

    async def run() -> None:
        async with Fleet(system="local") as fleet:
            (ana,) = await fleet.spawn(Agent(preset=scripted(say("Hello.")), hooks=(hook,)), ["ana"])
            assert (await ana.run("Greet.")).answered

    with patch.object(Watching if on_the_class else hook, "after_step", new=AsyncMock(return_value=None)) as mock:
        asyncio.run(run())
    mock.assert_awaited_once()


PATCHED = BuiltinStrategy()


def test_a_strategy_patched_with_a_function_that_expects_self_is_passed_over_and_named() -> None:
    async def watched() -> list[Notice]:
        async with Fleet(system="local") as fleet:
            script = scripted(call("list_peers"), say("Nobody is there."))
            (ana,) = await fleet.spawn(Agent(preset=script, strategy=f"{__name__}:PATCHED"), ["ana"])
            return [notice async for notice in await ana.start("Who is there?")]

    def expects_self(_self: object, _window: object) -> bool:
        return True

    with patch.object(BuiltinStrategy, "stalled", new=staticmethod(expects_self)):
        notices = asyncio.run(watched())
    assert notices[-1].get("outcome") == "answered"
    (failed,) = [notice for notice in notices if notice.get("extra_type") == "strategy_failed"]
    assert (failed.get("method"), "TypeError" in failed.text) == ("stalled", True)


def test_no_mock_is_needed_since_models_of_a_script_ship() -> None:
    async def run() -> str:
        async with Fleet(system="local") as fleet:
            script = scripted(call("list_peers"), say("Nobody is there."))
            (ana,) = await fleet.spawn(Agent(preset=script), ["ana"])
            return (await ana.run("Who is there?")).text

    assert asyncio.run(run()) == "Nobody is there."
