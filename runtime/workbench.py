"""Runs the tool calls of one agent: the hooks before a call, the call, the hooks after it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from ..protocols.messages import Json, ToolCall, is_failure
from .containment import CancelledItself, apart
from .errors import HookFailed
from .hook_chain import HookChain
from .hooks import RefuseCall, ToolAsked, ToolDone
from .step.events import CallFacts
from .step.raised import sentence
from .tools.arguments import read_arguments
from .tools.digest import NO_ARGUMENTS, signature
from .tools.executor import Executor
from .tools.output import ToolContext, ToolOutput
from .tools.registry import Toolbox
from .tools.text import clean, dumps
from .tools.tool import Tool

__all__ = ("Held", "Workbench")


@dataclass(frozen=True, slots=True)
class Held:
    """A call that did not run: a person must allow it first, because of `reason`; `arguments` are those that then run.

    Attributes:
        arguments: JSON text: what the hooks have left, so not always what the model sent.
    """

    reason: str
    arguments: str


class Workbench:
    """What a driver has tool calls run by. It belongs to one event loop."""

    def __init__(self, toolbox: Toolbox, executor: Executor, hooks: HookChain) -> None:
        """Keep the parts."""
        self._toolbox = toolbox
        self._executor = executor
        self._hooks = hooks

    def facts(self, call: ToolCall) -> CallFacts:
        """What the core must know of a call before it is run."""
        tool = self._toolbox.get(call.name)
        if tool is None:
            return CallFacts(signature(call.name, call.arguments))
        known = signature(call.name, call.arguments, tool.labels)
        return CallFacts(known, polling=tool.polling, safe=tool.replay == "safe")

    async def run(self, call: ToolCall, context: ToolContext, *, approved: bool) -> ToolOutput | Held:
        """Run one call. Only the caller's own cancellation comes out of it as an exception.

        Args:
            call: What the model asked for, or what a person has allowed.
            context: Where it is asked for, and what the tool may use.
            approved: A person has allowed just this call. Hooks may still refuse it, and do nothing else to it.
        """
        tool = self._toolbox.get(call.name)
        if tool is None:
            return self._toolbox.missing(call.name)
        try:
            return await apart(self._run(tool, call.arguments, context, approved=approved))
        except CancelledItself:  # only the driver may end a call without an output
            return ToolOutput.failure(f"{tool.name} cancelled itself.")

    async def _run(self, tool: Tool, text: str, context: ToolContext, *, approved: bool) -> ToolOutput | Held:
        if not self._hooks and (approved or not tool.approval):
            return await self._executor.run(tool, text, context)
        given = read(tool, text)
        if isinstance(given, ToolOutput):
            return self._executor.bounded(given)
        asked = ToolAsked(agent=context.agent, run=context.run, step=context.step, tool=tool.name, arguments=given)
        ruled = await self._ruled(tool, asked, approved=approved)
        if not isinstance(ruled, ToolAsked):
            return ruled
        output = await self._executor.run(tool, text if approved else written(ruled.arguments), context)
        return await self._after(ruled, output)

    async def _ruled(self, tool: Tool, asked: ToolAsked, *, approved: bool) -> ToolAsked | ToolOutput | Held:
        """The call as the hooks let it run, or what comes in its place."""
        try:
            ruling = await self._hooks.before_tool(asked, approved=approved)
        except HookFailed as error:
            return self._executor.bounded(ToolOutput.failure(f"{tool.name} was not run. {error}"))
        if isinstance(ruling.against, RefuseCall):
            return self._executor.bounded(ToolOutput(f"Cancelled: {ruling.against.reason}"))
        if ruling.arguments is not None:
            flawed = read(tool, written(ruling.arguments))
            if isinstance(flawed, ToolOutput):
                reason = flawed.content.removeprefix("ERROR: ")
                return self._executor.bounded(ToolOutput.failure(f"A hook rewrote the call. {reason}"))
            asked = replace(asked, arguments=ruling.arguments)
        if approved or not (tool.approval or ruling.against):
            return asked
        reason = ruling.against.reason if ruling.against else f"{tool.name} is marked as needing approval"
        return Held(reason, written(asked.arguments))

    async def _after(self, asked: ToolAsked, output: ToolOutput) -> ToolOutput:
        """The output as the hooks want the model to read it."""
        done = ToolDone(
            agent=asked.agent,
            run=asked.run,
            step=asked.step,
            tool=asked.tool,
            arguments=asked.arguments,
            output=output.content,
            failed=output.failed,
        )
        replaced = await self._hooks.after_tool(done)
        if replaced is None:
            return output
        return self._executor.bounded(ToolOutput(replaced.text, is_failure(replaced.text), output.wait))


def read(tool: Tool, text: str) -> Mapping[str, Json] | ToolOutput:
    """A call's arguments as JSON data, or what the model reads when the tool does not take them."""
    try:
        given = read_arguments(tool, text)
        if isinstance(given, ToolOutput):
            return given
        return cast("dict[str, Json]", json.loads("{}" if text.strip() in NO_ARGUMENTS else text))
    except BaseException as error:  # noqa: BLE001  a user's validator may raise anything; the model reads what
        return ToolOutput.failure(sentence(error))


def written(arguments: Mapping[str, Json]) -> str:
    """Arguments as JSON text: what hooks and people have seen, since readers of JSON differ on a key that comes twice.

    Half a surrogate pair, which neither a record nor a request can carry, is written as an escape.
    """
    text = dumps(dict(arguments))
    return text if clean(text) == text else json.dumps(dict(arguments))
