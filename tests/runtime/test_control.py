"""What is asked of a stream is asked of the agent whose run it serves, each request once, and never for longer."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.runtime.clock import settle
from amrita_fleet.runtime.control import Control, Relay
from amrita_fleet.runtime.stream_errors import SuspendTimedOut, SuspensionRefused
from amrita_fleet.runtime.suspension import Suspension

pytestmark = pytest.mark.anyio


class Pair:
    """A stream's suspension, and that of the agent to which its requests are carried."""

    def __init__(self) -> None:
        self.agent = Suspension()
        self.relay = Relay()
        self.stream = Suspension(self.relay.take)

    def serve(self) -> None:
        self.relay.serve(Control(self.agent))

    def asked(self, *tags: str) -> "asyncio.Task[str]":
        return asyncio.create_task(self.stream.request(tags))

    def resume(self) -> None:
        self.stream.resume()

    def work(self, tag: str) -> "asyncio.Task[None]":
        return asyncio.create_task(self.agent.point(tag))


async def test_the_agent_stands_for_as_long_as_the_stream_asks() -> None:
    pair = Pair()
    pair.serve()
    asked = pair.asked("tool")
    await settle()
    passed, standing = pair.work("model"), pair.work("tool")
    assert await asked == "tool"
    await settle()
    assert (passed.done(), standing.done()) == (True, False)
    pair.resume()
    await pair.relay.carried
    await standing


async def test_a_request_made_before_there_is_an_agent_is_carried_to_it() -> None:
    pair = Pair()
    asked = pair.asked("model")
    await settle()
    assert not pair.agent.asked
    pair.serve()
    await settle()
    standing = pair.work("model")
    assert await asked == "model"
    pair.resume()
    await standing


async def test_a_producer_that_stands_already_is_not_the_agents_concern() -> None:
    pair = Pair()
    asked = pair.asked()
    await settle()
    standing = asyncio.create_task(pair.stream.point("mine"))
    assert await asked == "mine"
    pair.serve()
    await settle()
    assert not pair.agent.asked
    pair.resume()
    await standing


async def test_who_asked_and_is_gone_leaves_the_agent_alone() -> None:
    pair = Pair()
    pair.serve()
    asked = pair.asked("tool")
    await settle()
    asked.cancel()
    await settle()
    await pair.relay.carried
    assert not pair.agent.asked
    with pytest.raises(SuspendTimedOut):
        await pair.stream.request(("tool",), 0.001)
    await pair.relay.carried
    assert not pair.agent.asked


async def test_a_suspension_of_somebody_else_is_neither_shared_nor_ended() -> None:
    pair = Pair()
    pair.serve()
    other = asyncio.create_task(pair.agent.request())
    await settle()
    with pytest.raises(SuspensionRefused, match="asked for already"):
        await pair.stream.request()
    pair.resume()
    await pair.relay.carried
    standing = pair.work("tool")
    assert await other == "tool"
    pair.resume()
    await settle()
    assert not standing.done()
    pair.agent.resume()
    await standing


async def test_what_no_agent_has_is_refused_to_who_asked() -> None:
    pair = Pair()
    pair.serve()
    with pytest.raises(SuspensionRefused, match="and no 'bounday'"):
        await pair.stream.request(("bounday",))
    await pair.relay.carried


@given(st.lists(st.sampled_from(["ask", "resume", "forget", "work", "wait", "serve"]), max_size=20))
def test_in_whatever_order_the_agent_goes_on_after_the_last_resume(deeds: list[str]) -> None:
    asyncio.run(after_all(deeds))


async def after_all(deeds: list[str]) -> None:
    pair = Pair()
    asked: list[asyncio.Task[str]] = []
    working: list[asyncio.Task[None]] = []
    for deed in deeds:
        match deed:
            case "ask":
                asked.append(pair.asked())
            case "resume":
                pair.resume()
            case "forget" if asked:
                asked[-1].cancel()
            case "work":
                working.append(pair.work("tool"))
            case "serve":
                pair.serve()
            case _:
                await settle()
        await asyncio.sleep(0)
    await settle()
    pair.resume()
    await pair.relay.carried
    async with asyncio.timeout(10):
        await asyncio.gather(*working)
    assert not pair.agent.asked
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(answer, str | SuspensionRefused | asyncio.CancelledError) for answer in answers)
