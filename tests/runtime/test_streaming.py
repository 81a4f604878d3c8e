"""What joins a stream to a run, where the contract of both systems does not look."""

import asyncio
import logging
from unittest.mock import MagicMock

import pytest

from amrita_fleet import (
    Agent,
    AgentUnknown,
    Fleet,
    FleetClosed,
    FleetError,
    MailConfig,
    NameInvalid,
    Notice,
    Outcome,
    PeerUnreachable,
    Receipt,
    Refusal,
    StreamClosed,
    StreamExpected,
    StreamMisused,
    SuspendObjectStream,
    SuspensionRefused,
    TaskInvalid,
)
from amrita_fleet.protocols.mail import BODY_LIMIT
from amrita_fleet.protocols.providers.scripted import call, say, scripted
from amrita_fleet.runtime.clock import settle
from amrita_fleet.runtime.config import AmritaConfig
from amrita_fleet.runtime.local import LocalSystem
from amrita_fleet.runtime.tools.tool import Tool, tool

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


class Held:
    """A tool that waits until the test lets it go on."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()

    @property
    def tool(self) -> Tool:
        @tool
        async def hold() -> str:
            """Wait for the test."""
            self.begun.set()
            await self.go.wait()
            return "held"

        return hold


async def read(stream: SuspendObjectStream) -> list[object]:
    async with asyncio.timeout(10):
        return [each async for each in stream.get_response_generator()]


@pytest.mark.parametrize("given", [MagicMock(), MagicMock(spec=SuspendObjectStream.send_to_producer), "stream", 0])
async def test_what_is_no_stream_is_refused_before_anything_runs(given: object) -> None:
    async with Fleet(system="local") as fleet:
        (ana,) = await fleet.spawn(Agent(preset=scripted(say("x"))), ["ana"])
        with pytest.raises(StreamExpected, match="must be a SuspendObjectStream"):
            await ana.start("go", stream=given)  # type: ignore[arg-type]
        assert (await fleet.statuses())[0].step == 0


async def test_a_stream_whose_texts_have_a_reader_is_refused_before_anything_runs() -> None:
    stream = SuspendObjectStream()
    texts = stream.get_producer_input_generator()
    async with Fleet(system="local") as fleet:
        (ana,) = await fleet.spawn(Agent(preset=scripted(say("x"))), ["ana"])
        with pytest.raises(StreamMisused, match="its producer reads it already"):
            await ana.start("go", stream=stream)
        assert (await fleet.statuses())[0].step == 0
    await stream.send_to_producer("still open")
    assert await anext(texts) == "still open"


async def test_a_stream_whose_run_could_not_begin_is_closed_whatever_the_reason(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def unreachable(_self: LocalSystem, _after: int, _wait: float) -> tuple[Notice, ...]:
        raise PeerUnreachable(agent="supervisor", reason="it is away")

    async with Fleet(system="local") as fleet:
        await fleet.spawn(Agent(preset=scripted(say("x"))), ["ana"])
        await refused(fleet, AgentUnknown, "nobody")
        await refused(fleet, NameInvalid, 5)
        await refused(fleet, TaskInvalid, "ana", 5)
        await refused(fleet, TaskInvalid, "ana", "go", -1)
        with monkeypatch.context() as patched:
            patched.setattr(LocalSystem, "notices", unreachable)
            await refused(fleet, PeerUnreachable, "ana")
        assert (await fleet.statuses())[0].step == 0
    await refused(fleet, FleetClosed, "ana")
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def refused(fleet: Fleet, error: type[FleetError], agent: object, *given: object) -> None:
    """Start a run that cannot begin, and see that nobody waits for it on its stream."""
    stream = SuspendObjectStream()
    reading = asyncio.create_task(read(stream))
    asked = asyncio.create_task(stream.wait_to_suspend())
    await settle()
    with pytest.raises(error):
        await fleet.start(agent, *(given or ("go",)), stream=stream)  # type: ignore[arg-type]
    assert await reading == []
    with pytest.raises(StreamClosed):
        await stream.send_to_producer("too late")
    with pytest.raises(SuspensionRefused, match="the producer is done"):
        await asked


async def test_a_stream_that_is_done_serves_no_run() -> None:
    stream = SuspendObjectStream()
    stream.set_queue_done()
    async with Fleet(system="local") as fleet:
        (ana,) = await fleet.spawn(Agent(preset=scripted(say("x"))), ["ana"])
        with pytest.raises(StreamClosed, match="the producer is done"):
            await ana.start("go", stream=stream)
        assert (await fleet.statuses())[0].step == 0


async def test_who_learns_that_the_run_is_over_finds_the_stream_closed() -> None:
    stream = SuspendObjectStream()
    async with Fleet(system="local") as fleet:
        (ana,) = await fleet.spawn(Agent(preset=scripted(say("x"))), ["ana"])
        await (await ana.start("go", stream=stream)).outcome()
        with pytest.raises(StreamClosed, match="its run is over"):
            await stream.send_to_producer("too late")


async def test_a_callback_gets_all_and_the_outcome_last() -> None:
    stream, seen = SuspendObjectStream(), list[object]()
    over = asyncio.Event()

    async def take(given: object) -> None:
        seen.append(given)
        if isinstance(given, Outcome):
            over.set()

    async with Fleet(system="local") as fleet:
        (ana,) = await fleet.spawn(Agent(preset=scripted(say("x"))), ["ana"])
        await ana.start("go", stream=stream)
        stream.set_callback_func(take)
        async with asyncio.timeout(10):
            await over.wait()
    assert all(isinstance(each, Notice) for each in seen[:-1])
    assert isinstance(seen[-1], Outcome) and seen[-1].text == "x"


async def test_a_callback_that_fails_ends_its_stream_and_not_the_run(caplog: pytest.LogCaptureFixture) -> None:
    stream, held = SuspendObjectStream(), Held()
    failed = asyncio.Event()

    def fail(_: object) -> None:
        failed.set()
        raise ValueError("cannot show this")

    stream.set_callback_func(fail)
    async with Fleet(system="local") as fleet:
        (ana,) = await fleet.spawn(Agent(preset=scripted(call("hold"), say("x")), tools=(held.tool,)), ["ana"])
        with caplog.at_level(logging.ERROR):
            run = await ana.start("go", stream=stream)
            await failed.wait()
            held.go.set()
            assert (await run.outcome()).text == "x"
        with pytest.raises(StreamClosed):
            await stream.send_to_producer("x")
    (record,) = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert record.message == "a stream was closed before its run was over"
    assert record.exc_info is not None and isinstance(record.exc_info[1], ValueError)


async def test_a_text_that_cannot_be_mail_comes_back_and_later_ones_arrive() -> None:
    stream, held = SuspendObjectStream(), Held()
    async with Fleet(system="local") as fleet:
        (ana,) = await fleet.spawn(Agent(preset=scripted(call("hold"), say("x")), tools=(held.tool,)), ["ana"])
        await ana.start("go", stream=stream)
        await held.begun.wait()
        await stream.send_to_producer("x" * (BODY_LIMIT + 1))
        await stream.send_to_producer("fine")
        async with asyncio.timeout(10):
            while not (await fleet.statuses())[0].waiting:  # noqa: ASYNC110  nothing tells when mail has come
                await asyncio.sleep(0)
        held.go.set()
        objects = await read(stream)
    assert [each.refusal for each in objects if isinstance(each, Receipt)] == [Refusal.TOO_LARGE]
    assert "consumed" in [each.extra_type for each in objects if isinstance(each, Notice)]


async def test_an_agent_that_takes_no_mail_says_so_through_the_stream() -> None:
    stream, held = SuspendObjectStream(), Held()
    described = Agent(
        preset=scripted(call("hold"), say("x")),
        tools=(held.tool,),
        config=AmritaConfig(mail=MailConfig(on_mail="refuse")),
    )
    async with Fleet(system="local") as fleet:
        (ana,) = await fleet.spawn(described, ["ana"])
        await ana.start("go", stream=stream)
        await held.begun.wait()
        await stream.send_to_producer("hello")
        held.go.set()
        objects = await read(stream)
    assert [each.refusal for each in objects if isinstance(each, Receipt)] == [Refusal.CLOSED]


async def test_a_stream_that_nobody_reads_does_not_hold_up_the_run() -> None:
    stream = SuspendObjectStream(queue_size=1, queue_timeout=0.001)
    async with Fleet(system="local") as fleet:
        (ana,) = await fleet.spawn(Agent(preset=scripted(say("x"))), ["ana"])
        run = await ana.start("go", stream=stream)
        outcome = await run.outcome()
        async with asyncio.timeout(10):
            while stream.dropped < 3:  # noqa: ASYNC110  nothing tells when one is dropped
                await asyncio.sleep(0)
        assert (await read(stream))[-1] == outcome
