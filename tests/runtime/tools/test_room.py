"""However large a tool's result is, no more of it is written than may be shown, and nobody waits meanwhile."""

import threading
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import pytest

from amrita_fleet.runtime.tools.executor import Executor
from amrita_fleet.runtime.tools.output import ToolContext, ToolOutput
from amrita_fleet.runtime.tools.tool import tool

pytestmark = pytest.mark.anyio


class Tally:
    """Numbers without end, of which it knows how many were taken."""

    def __init__(self) -> None:
        self.taken = 0
        self.threads = set[str]()

    def values(self) -> Iterator[int]:
        for number in count():
            self.taken += 1
            self.threads.add(threading.current_thread().name)
            yield number


class Endless(Sequence[int]):
    """A result that would take for ever to write."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally

    def __iter__(self) -> Iterator[int]:
        return self.tally.values()

    def __len__(self) -> int:
        return 10**12

    def __getitem__(self, index: object) -> Any:  # noqa: ANN401
        raise NotImplementedError


@pytest.mark.parametrize("sync", [True, False], ids=["thread", "loop"])
async def test_of_a_result_without_end_only_what_is_shown_is_written_and_that_elsewhere(
    context: ToolContext, *, sync: bool
) -> None:
    tally = Tally()

    async def on_loop() -> Endless:
        return Endless(tally)

    def in_thread() -> Endless:
        return Endless(tally)

    output = await Executor(output_bytes=1024).run(tool(in_thread if sync else on_loop), "", context)
    assert output.content.startswith("[0,1,2,3,")
    assert output.content.endswith("[... the result goes on, call again for a smaller part to see what follows ...]")
    assert len(output.content.encode()) <= 1024
    assert tally.taken < 10_000
    assert len(tally.threads - {threading.current_thread().name}) == 1


async def test_writing_a_result_counts_as_the_tools_time(context: ToolContext) -> None:
    free = threading.Event()

    class Slow:
        def __str__(self) -> str:
            free.wait()
            return "at last"

    @tool(timeout=0.05)
    def slow() -> object:
        return Slow()

    try:
        assert "slow took longer than 0.05 seconds" in (await Executor().run(slow, "", context)).content
    finally:
        free.set()


async def test_an_output_of_the_tools_own_is_written_elsewhere_too(context: ToolContext) -> None:
    @tool
    async def own() -> ToolOutput:
        return ToolOutput("x" * 10**6, failed=True)

    output = await Executor(output_bytes=1024).run(own, "", context)
    assert output.failed
    assert output.content.startswith("ERROR: xxx")
    assert len(output.content.encode()) <= 1024
    assert "are left out here" in output.content
