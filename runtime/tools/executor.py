"""Runs tool calls. Whatever a tool does, its call comes to an output."""

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from contextlib import nullcontext
from functools import partial
from inspect import isawaitable
from typing import Any

from ...protocols.messages import is_failure
from ...protocols.plural import plural
from ..containment import CancelledItself
from ..leash import GRACE, Gave, Late, Leash, Raised
from ..step.raised import sentence
from .arguments import read_arguments
from .loop_time import timed
from .output import ToolContext, ToolOutput
from .room import TooLarge
from .text import cut, shown
from .threads import Threads, name_of
from .tool import Tool

__all__ = ("Executor",)

log = logging.getLogger(__name__)


class Executor:
    """Runs the tool calls of one agent, on one event loop.

    Async tools run on that loop, sync ones in threads. A thread cannot be stopped: past its time it is left behind,
    which the output and the log say. Nor can an async tool that blocks the loop; the log names it afterwards.
    """

    def __init__(
        self,
        *,
        output_bytes: int = 32 * 1024,
        threads: Threads | None = None,
        patience: float = 1.0,
        grace: float = GRACE,
    ) -> None:
        """Make one.

        Args:
            output_bytes: Bytes of UTF-8 one output may have, at least 400.
            threads: Where sync calls run; None: as many as an agent has.
            patience: Seconds an async tool may hold the loop without a word in the log.
            grace: Seconds a cancelled async tool has to put things in order.
        """
        self._output_bytes = output_bytes
        self._patience = patience
        self._grace = grace
        self._threads = threads or Threads()
        self._turns: dict[str, asyncio.Semaphore] = {}

    async def run(self, tool: Tool, arguments: str, context: ToolContext) -> ToolOutput:
        """Run one call. Only the caller's own cancellation comes out of it as an exception.

        Args:
            tool: What to run.
            arguments: JSON text as the model sent it.
            context: For parameters annotated with `ToolContext`.
        """
        try:
            given = read_arguments(tool, arguments)
        except BaseException as error:  # noqa: BLE001  a user's validator may raise anything
            return self._failed(tool, error)
        if isinstance(given, ToolOutput):
            return self.bounded(given)
        return await self._called(tool, given | dict.fromkeys(tool.contexts, context))

    async def _called(self, tool: Tool, given: Mapping[str, Any]) -> ToolOutput:
        """Wait for a turn, then for the output, as long as the tool may take."""
        async with self._turn(tool), nullcontext() if tool.on_loop else self._threads.turn():
            if not tool.on_loop and self._threads.spent:
                return ToolOutput.failure(f"{tool.name} was not run: too many earlier calls never ended.")
            work = self._on_loop(tool, given) if tool.on_loop else self._in_thread(tool, given)
            match await Leash(work, f"The tool {tool.name}", self._grace).within(tool.timeout):
                case Gave(output):
                    return output
                case Raised(error):
                    return self._failed(tool, error)
                case Late() as late:
                    end = late if tool.on_loop else Late.LEFT
                    most = plural(tool.timeout or 0.0, "second")
                    return ToolOutput.failure(f"{tool.name} took longer than {most} and {end}.")

    async def _on_loop(self, tool: Tool, given: Mapping[str, Any]) -> ToolOutput:
        def held(seconds: float) -> None:
            if seconds > self._patience:
                log.warning("Tool %s blocked its agent for %.1f seconds: make it a sync function.", tool.name, seconds)

        return await self._told(tool, await timed(tool.function(**given), held))

    async def _in_thread(self, tool: Tool, given: Mapping[str, Any]) -> ToolOutput:
        def call() -> Awaitable[Any] | ToolOutput:
            value = tool.function(**given)
            return value if isawaitable(value) else self._shown(tool, value)

        try:
            output = await self._threads.run(call, name_of(tool.function))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                log.warning("Tool %s was left behind in its thread, where it may still be running.", tool.name)
            raise
        return output if isinstance(output, ToolOutput) else await self._told(tool, await output)

    def _turn(self, tool: Tool) -> asyncio.Semaphore | nullcontext[None]:
        if tool.concurrency is None:
            return nullcontext()
        return self._turns.setdefault(tool.name, asyncio.Semaphore(tool.concurrency))

    async def _told(self, tool: Tool, value: object) -> ToolOutput:
        """The output for what a tool gave, without holding the loop up."""
        try:
            return self._shown(tool, value, brief=True)
        except TooLarge:
            return await self._threads.run(partial(self._shown, tool, value))

    def _shown(self, tool: Tool, value: object, *, brief: bool = False) -> ToolOutput:
        """The output for what a tool gave. One without a text is its author's error; the tool has run all the same.

        Raises:
            TooLarge: It was to be brief.
        """
        if isinstance(value, ToolOutput):
            return self.bounded(value, brief=brief)
        try:
            text = shown(value, self._output_bytes, brief=brief)
        except (TypeError, ValueError) as error:
            log.warning("A result of the tool %s cannot be shown: %s", tool.name, error)
            log.debug("where a result of %s could not be shown", tool.name, exc_info=error)
            return self.bounded(ToolOutput.failure(f"{tool.name} has run, but its result cannot be shown: {error}."))
        return ToolOutput(text, failed=is_failure(text))

    def _failed(self, tool: Tool, error: BaseException) -> ToolOutput:
        what = f"{tool.name} cancelled itself." if isinstance(error, CancelledItself) else sentence(error)
        log.warning("Tool %s failed: %s", tool.name, what)
        log.debug("where the tool %s failed", tool.name, exc_info=error)
        return self.bounded(ToolOutput.failure(what))

    def bounded(self, output: ToolOutput, *, brief: bool = False) -> ToolOutput:
        """The output as a transcript can hold it.

        Raises:
            TooLarge: It was to be brief.
        """
        content = shown(output.content, self._output_bytes, brief=brief)
        if output.failed and not is_failure(content):
            content = cut(f"ERROR: {content}", self._output_bytes)
        return ToolOutput(content, output.failed, output.wait)
