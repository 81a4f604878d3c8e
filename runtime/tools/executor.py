"""Runs tool calls. Whatever a tool does, its call comes to an output."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from inspect import isawaitable
from typing import Any

from .arguments import read_arguments
from .loop_time import timed
from .output import ToolContext, ToolOutput
from .text import as_text, clean, cut
from .threads import Threads
from .tool import Tool

__all__ = ("Executor", "ends_the_caller", "sentence")

MESSAGE_SHOWN = 2000
"""Characters of an exception's message that the model reads."""

log = logging.getLogger(__name__)


class Executor:
    """Runs the tool calls of one agent, on one event loop.

    Async tools run on that loop, sync ones in threads. A thread cannot be stopped: past its time it is left behind,
    which the output and the log say. Nor can an async tool that blocks the loop; the log names it afterwards.
    """

    def __init__(self, *, output_bytes: int = 32 * 1024, threads: Threads | None = None, patience: float = 1.0) -> None:
        """Make one.

        Args:
            output_bytes: Bytes of UTF-8 one output may have, at least 400.
            threads: Where sync calls run; None: as many as an agent has.
            patience: Seconds an async tool may hold the loop without a word in the log.
        """
        self._output_bytes = output_bytes
        self._patience = patience
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
            if isinstance(given, ToolOutput):
                return self.bounded(given)
            return self.bounded(await self._called(tool, given | dict.fromkeys(tool.contexts, context)))
        # A KeyboardInterrupt or SystemExit that left a coroutine would kill the agent's loop and leave it deaf.
        except BaseException as error:
            if ends_the_caller(error):
                raise
            log.warning("Tool %s failed.", tool.name, exc_info=error)
            return self.bounded(ToolOutput.failure(sentence(error)))

    async def _called(self, tool: Tool, given: Mapping[str, Any]) -> ToolOutput:
        """Wait for a turn, then for the result, as long as the tool may take."""
        async with self._turn(tool), nullcontext() if tool.on_loop else self._threads.turn():
            if not tool.on_loop and self._threads.spent:
                return ToolOutput.failure(f"{tool.name} was not run: too many earlier calls never ended.")
            deadline = asyncio.timeout(tool.timeout)
            try:
                async with deadline:
                    value = await (self._on_loop(tool, given) if tool.on_loop else self._in_thread(tool, given))
                    if isawaitable(value):
                        value = await value
            except TimeoutError:
                if not deadline.expired():  # it is the tool's own
                    raise
                end = "stopped" if tool.on_loop else "left behind: it may still be running"
                return ToolOutput.failure(f"{tool.name} took longer than {tool.timeout:g} seconds and was {end}.")
        return shown(tool, value)

    async def _on_loop(self, tool: Tool, given: Mapping[str, Any]) -> object:
        def held(seconds: float) -> None:
            if seconds > self._patience:
                log.warning("Tool %s blocked its agent for %.1f seconds: make it a sync function.", tool.name, seconds)

        return await timed(tool.function(**given), held)

    async def _in_thread(self, tool: Tool, given: Mapping[str, Any]) -> object:
        try:
            return await self._threads.run(partial(tool.function, **given))
        except asyncio.CancelledError as error:
            if ends_the_caller(error):
                log.warning("Tool %s was left behind in its thread, where it may still be running.", tool.name)
            raise

    def _turn(self, tool: Tool) -> asyncio.Semaphore | nullcontext[None]:
        if tool.concurrency is None:
            return nullcontext()
        return self._turns.setdefault(tool.name, asyncio.Semaphore(tool.concurrency))

    def bounded(self, output: ToolOutput) -> ToolOutput:
        """The output as a transcript can hold it."""
        content = output.content
        if output.failed and not content.startswith("ERROR"):
            content = f"ERROR: {content}"
        return ToolOutput(cut(clean(content), self._output_bytes), output.failed, output.wait)


def told(text: str) -> ToolOutput:
    """A result's text. One that begins `ERROR` is a failure by the convention that tools tell models."""
    return ToolOutput(text, failed=text.startswith("ERROR"))


def shown(tool: Tool, value: object) -> ToolOutput:
    """The output for what a tool gave. One that has no text is the author's error; the tool has run all the same."""
    try:
        return value if isinstance(value, ToolOutput) else told(as_text(value))
    except (TypeError, ValueError) as error:
        log.warning("A result of the tool %s cannot be shown.", tool.name, exc_info=error)
        return ToolOutput.failure(f"{tool.name} has run, but its result cannot be shown: {error}.")


def ends_the_caller(error: BaseException) -> bool:
    """Whether the error is no doing of the tool: someone ends the task, or closes the coroutine, that runs it."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0
    return isinstance(error, GeneratorExit)


def sentence(error: BaseException) -> str:
    """An exception on one line."""
    name = type(error).__name__
    try:
        message = " ".join(str(error).split())
    except Exception:  # noqa: BLE001  a user's `__str__`
        message = "(its message cannot be shown)"
    return f"{name}: {message[:MESSAGE_SHOWN]}" if message else name
