import asyncio
import logging
import threading
from contextlib import suppress
from typing import Annotated, NoReturn

import anyio
import pytest
from pydantic import AfterValidator

from amrita_fleet.runtime.tools.executor import Executor
from amrita_fleet.runtime.tools.output import ToolContext, ToolOutput, WaitAsked
from amrita_fleet.runtime.tools.threads import Threads
from amrita_fleet.runtime.tools.tool import tool

pytestmark = pytest.mark.anyio


@tool
async def add(a: int, b: int = 1) -> int:
    return a + b


@tool
def thread_name() -> str:
    return threading.current_thread().name


async def test_an_async_tool_runs_on_the_loop(context: ToolContext) -> None:
    assert await Executor().run(add, '{"a": 2}', context) == ToolOutput("3")


async def test_a_sync_tool_runs_in_a_thread(context: ToolContext) -> None:
    output = await Executor().run(thread_name, "", context)
    assert output.content != threading.current_thread().name


async def test_the_context_is_filled_in(context: ToolContext) -> None:
    @tool
    def who(a: str, context: ToolContext, b: str = "!") -> str:
        return f"{a} {context.agent}{b}"

    assert (await Executor().run(who, '{"a": "hi"}', context)).content == "hi ana!"


async def test_a_sync_function_that_gives_an_awaitable_is_awaited(context: ToolContext) -> None:
    @tool
    def hidden(a: int) -> object:
        return add(a)

    assert (await Executor().run(hidden, '{"a": 2}', context)).content == "3"


async def test_wrong_arguments_are_a_failed_output_and_nothing_runs(context: ToolContext) -> None:
    output = await Executor().run(add, '{"a": "two"}', context)
    assert output.failed
    assert output.content.startswith("ERROR: The arguments of add are wrong: 'a' is \"two\"")


async def test_a_tools_own_output_passes_through(context: ToolContext) -> None:
    wait = WaitAsked(seconds=5)

    @tool
    async def own(*, failed: bool) -> ToolOutput:
        return ToolOutput("as said", failed=failed, wait=wait)

    assert await Executor().run(own, '{"failed": false}', context) == ToolOutput("as said", wait=wait)
    assert await Executor().run(own, '{"failed": true}', context) == ToolOutput(
        "ERROR: as said", failed=True, wait=wait
    )


async def test_a_text_that_begins_with_error_is_a_failure(context: ToolContext) -> None:
    @tool
    async def broken() -> str:
        return "ERROR: no such file"

    assert await Executor().run(broken, "", context) == ToolOutput("ERROR: no such file", failed=True)


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "content"),
    [
        (ValueError("no\n  such thing"), "ERROR: ValueError: no such thing"),
        (KeyError(), "ERROR: KeyError"),
        (TimeoutError("the tool's own"), "ERROR: TimeoutError: the tool's own"),
        (KeyboardInterrupt(), "ERROR: KeyboardInterrupt"),
        (SystemExit(3), "ERROR: SystemExit: 3"),
        (GeneratorExit("shut"), "ERROR: GeneratorExit: shut"),
        (asyncio.CancelledError("its own"), "ERROR: CancelledError: its own"),
        (ExceptionGroup("two", [ValueError("x")]), "ERROR: ExceptionGroup: two (1 sub-exception)"),
        (Mute(), "ERROR: Mute: (its message cannot be shown)"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
async def test_whatever_a_tool_raises_is_a_failed_output(
    error: BaseException, content: str, context: ToolContext
) -> None:
    @tool
    def sync_raiser() -> NoReturn:
        raise error

    @tool(timeout=60)
    async def async_raiser() -> NoReturn:
        raise error

    for raiser in (sync_raiser, async_raiser):
        assert await Executor().run(raiser, "", context) == ToolOutput(content, failed=True)


async def test_a_failure_is_one_line_in_the_log_and_its_traceback_is_for_debugging(
    context: ToolContext, caplog: pytest.LogCaptureFixture
) -> None:
    @tool
    async def raiser() -> None:
        raise ValueError("deep inside")

    caplog.set_level(logging.DEBUG, "amrita_fleet")
    await Executor().run(raiser, "", context)
    said, where = [record for record in caplog.records if record.name.startswith("amrita_fleet")]
    assert (said.levelno, said.getMessage()) == (logging.WARNING, "Tool raiser failed: ValueError: deep inside")
    assert said.exc_info is None
    assert where.levelno == logging.DEBUG
    assert where.exc_info is not None and str(where.exc_info[1]) == "deep inside"


async def test_a_result_without_text_tells_the_author(context: ToolContext) -> None:
    @tool
    async def lock() -> object:
        return threading.Lock()

    output = await Executor().run(lock, "", context)
    assert output.failed
    assert "the result holds a _thread.lock" in output.content
    assert " at 0x" not in output.content


async def test_an_async_tool_is_stopped_after_its_time(context: ToolContext) -> None:
    ended = asyncio.Event()

    @tool(timeout=0.01)
    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    output = await Executor().run(endless, "", context)
    assert output == ToolOutput("ERROR: endless took longer than 0.01 seconds and was stopped.", failed=True)
    assert ended.is_set()


async def test_an_async_tool_that_ignores_its_cancellation_is_broken_off(
    context: ToolContext, caplog: pytest.LogCaptureFixture
) -> None:
    @tool(timeout=0.001)
    async def deaf() -> None:
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    output = await Executor(grace=0.001).run(deaf, "", context)
    end = "deaf took longer than 0.001 seconds and was broken off, since it ignored its cancellation."
    assert output == ToolOutput.failure(end)
    assert "The tool deaf ignored its cancellation and was broken off." in caplog.text


async def test_a_validator_that_exits_is_a_failed_output(context: ToolContext) -> None:
    def leave(_: object) -> object:
        raise SystemExit(3)

    @tool
    async def picky(a: Annotated[int, AfterValidator(leave)]) -> int:
        return a

    assert await Executor().run(picky, '{"a": 1}', context) == ToolOutput.failure("SystemExit: 3")


async def test_a_stuck_thread_is_left_behind_and_others_go_on(
    context: ToolContext, caplog: pytest.LogCaptureFixture
) -> None:
    free = threading.Event()

    @tool(timeout=0.01)
    def stuck() -> None:
        free.wait()

    executor = Executor(threads=Threads(at_once=1))
    try:
        output = await executor.run(stuck, "", context)
        assert output.content.endswith("took longer than 0.01 seconds and was left behind: it may still be running.")
        assert "stuck was left behind in its thread" in caplog.text
        assert not (await executor.run(thread_name, "", context)).failed
    finally:
        free.set()


@pytest.mark.parametrize("sync", [True, False], ids=["thread", "loop"])
async def test_cancelling_the_caller_cancels_the_call(context: ToolContext, *, sync: bool) -> None:
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()
    free = threading.Event()

    @tool(timeout=60)
    async def on_loop() -> None:
        begun.set()
        await asyncio.Event().wait()

    @tool
    def in_thread() -> None:
        loop.call_soon_threadsafe(begun.set)
        free.wait()

    task = asyncio.create_task(Executor().run(in_thread if sync else on_loop, "", context))
    try:
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    finally:
        free.set()


async def test_a_cancel_scope_around_the_call_ends_it(context: ToolContext) -> None:
    @tool
    async def endless() -> None:
        await asyncio.Event().wait()

    with anyio.move_on_after(0.01) as scope:
        await Executor().run(endless, "", context)
    assert scope.cancelled_caught


async def test_closing_the_call_is_no_output(context: ToolContext) -> None:
    @tool
    async def endless() -> None:
        await asyncio.sleep(0)

    call = Executor().run(endless, "", context)
    call.send(None)
    call.close()


@pytest.mark.parametrize(("concurrency", "peak"), [(1, 1), (2, 2), (None, 5)])
async def test_a_tool_runs_as_often_at_once_as_it_may(context: ToolContext, concurrency: int | None, peak: int) -> None:
    running = 0
    most = 0

    @tool(concurrency=concurrency)
    async def counted() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    executor = Executor()
    await asyncio.gather(*(executor.run(counted, "", context) for _ in range(5)))
    assert most == peak


async def test_waiting_for_a_turn_does_not_count_as_running(context: ToolContext) -> None:
    first = asyncio.Event()

    @tool(concurrency=1, timeout=0.05)
    async def slow(*, last: bool) -> str:
        if not last:
            await first.wait()
        return "done"

    executor = Executor()
    waiting = asyncio.create_task(executor.run(slow, '{"last": false}', context))
    queued = asyncio.create_task(executor.run(slow, '{"last": true}', context))
    assert (await waiting).failed
    assert (await queued).content == "done"


async def test_a_huge_output_is_cut_and_says_so(context: ToolContext) -> None:
    @tool
    async def log() -> str:
        return "x" * 100_000 + "\ud800 the end"

    content = (await Executor(output_bytes=1024).run(log, "", context)).content
    assert len(content.encode()) <= 1024
    assert "bytes are left out here" in content
    assert content.endswith("the end")


async def test_an_async_tool_that_blocks_the_loop_is_named_in_the_log(
    context: ToolContext, caplog: pytest.LogCaptureFixture
) -> None:
    await Executor().run(add, '{"a": 2}', context)
    assert not caplog.records
    assert await Executor(patience=0).run(add, '{"a": 2}', context) == ToolOutput("3")
    assert caplog.records[0].getMessage().startswith("Tool add blocked its agent for 0.0 seconds")


async def test_a_result_that_cannot_be_shown_says_that_the_tool_has_run(context: ToolContext) -> None:
    @tool
    async def deep() -> object:
        knot: list[object] = []
        knot.append(knot)
        return knot

    output = await Executor().run(deep, "", context)
    assert output.failed
    assert output.content.startswith("ERROR: deep has run, but its result cannot be shown: the result is nested")


async def test_no_call_waits_for_ever_behind_stuck_ones(context: ToolContext) -> None:
    free = threading.Event()

    @tool
    def stuck() -> None:
        free.wait()

    executor = Executor(threads=Threads(at_once=16, patience=0.01))
    first = [asyncio.create_task(executor.run(stuck, "", context)) for _ in range(16)]
    try:
        assert not (await executor.run(thread_name, "", context)).failed
    finally:
        free.set()
    assert [one.content for one in await asyncio.gather(*first)] == ["null"] * 16


async def test_waiting_for_a_thread_does_not_count_as_running(context: ToolContext) -> None:
    free = threading.Event()

    @tool(timeout=0.1)
    def slow(*, last: bool) -> str:
        if not last:
            free.wait()
        return "done"

    executor = Executor(threads=Threads(at_once=1))
    running = asyncio.create_task(executor.run(slow, '{"last": false}', context))
    queued = asyncio.create_task(executor.run(slow, '{"last": true}', context))
    try:
        assert "left behind" in (await running).content
        assert (await queued).content == "done"
    finally:
        free.set()


async def test_when_too_many_threads_never_end_no_more_are_begun(context: ToolContext) -> None:
    free = threading.Event()

    @tool(timeout=0.01)
    def stuck() -> None:
        free.wait()

    executor = Executor(threads=Threads(most=2))
    try:
        for _ in range(2):
            assert "left behind" in (await executor.run(stuck, "", context)).content
        refused = await executor.run(thread_name, "", context)
        assert refused == ToolOutput("ERROR: thread_name was not run: too many earlier calls never ended.", failed=True)
        assert not (await executor.run(add, '{"a": 1}', context)).failed
    finally:
        free.set()
