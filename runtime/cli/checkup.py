"""One tiny call in each mode an agent may use, on the very way an agent's calls go."""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from ...protocols.errors import AuthRefused, ProviderError, ProviderUnreachable
from ...protocols.messages import Finish, Message, Reply, Role, ToolResult, Turn
from ...protocols.presets import ModelPreset
from ...protocols.providers.base import Delta, Provider, ToolSchema
from ...protocols.providers.connection import connect
from .errors import SUSPECTS, ModelUnusable

__all__ = ("Finding", "examine")

GREETING: Final = Message(Role.USER, "Say the word ready and nothing else.")
ADDING: Final = Message(Role.USER, "Call the tool add with a = 2 and b = 3. Then say the sum it gives.")
ADD: Final = ToolSchema(
    "add",
    "Add two whole numbers.",
    {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
)


@dataclass(frozen=True)
class Finding:
    """What came of one mode.

    Attributes:
        mode: The mode's name.
        problem: Why it does not work; empty when it does.
        error: The error's class; empty when no call failed.
        retryable: The same call may succeed later.
        after: Seconds to wait before that, where the provider said so.
        seconds: How long its calls took.
        tokens: What its answers cost.
        estimated: The provider did not count all of them; the rest is our estimate.
        request_id: That of the last call.
    """

    mode: str
    problem: str = ""
    error: str = ""
    retryable: bool = False
    after: float | None = None
    seconds: float = 0.0
    tokens: int = 0
    estimated: bool = False
    request_id: str = ""

    @property
    def works(self) -> bool:
        """Whether agents can use the mode."""
        return not self.problem


@dataclass(frozen=True)
class Visit:
    """The calls of one mode, each with at most `output` tokens of output, and all that came of them."""

    provider: Provider
    output: int
    deltas: list[Delta] = field(default_factory=list[Delta])
    replies: list[Reply] = field(default_factory=list[Reply])

    async def ask(self, *turns: Turn, tools: tuple[ToolSchema, ...] = ()) -> Reply:
        """Make one call."""
        reply = await self.provider.call(self.provider.draft(turns, tools, None), self.output, self.deltas.append)
        self.replies.append(reply)
        return reply


async def plain(visit: Visit) -> str:
    """A greeting."""
    return missing_text(await visit.ask(GREETING))


async def stream(visit: Visit) -> str:
    """A greeting, piece by piece."""
    problem = missing_text(await visit.ask(GREETING))
    return problem or ("" if visit.deltas else "The answer came as a whole, although a stream was asked for.")


async def tool(visit: Visit) -> str:
    """A request to call a tool."""
    return missing_call(await visit.ask(ADDING, tools=(ADD,)))


async def thinking(visit: Visit) -> str:
    """A call, and its result with the reasoning that led to it."""
    first = await visit.ask(ADDING, tools=(ADD,))
    if problem := missing_call(first):
        return problem
    results = (ToolResult(call.id, call.name, "5") for call in first.message.calls)
    return missing_text(await visit.ask(ADDING, first.message, *results, tools=(ADD,)))


MODES: Final[Mapping[str, Callable[[Visit], Awaitable[str]]]] = {
    "plain": plain,
    "stream": stream,
    "tool": tool,
    "thinking": thinking,
}
"""What each mode tries; it gives what is wrong with the answers, or nothing."""


async def examine(preset: ModelPreset) -> tuple[Finding, ...]:
    """Try every mode that the preset has, one after the other.

    Raises:
        ModelUnusable: None works, and it is the address, the key or the model that is wrong.
        PresetInvalid: The adapter cannot work with the preset.
    """
    thinks = preset.thinking_config.enabled or preset.facts.thinks
    findings: list[Finding] = []
    for mode in MODES:
        if mode != "thinking" or thinks:
            findings.append(await check(preset, mode))
        # Nobody is there, or nobody lets us in: the other modes would meet the same.
        if findings[0].error in {ProviderUnreachable.__name__, AuthRefused.__name__}:
            break
    if all(finding.error in SUSPECTS for finding in findings):
        first = findings[0]
        raise ModelUnusable(suspect=SUSPECTS[first.error], sentence=first.problem, request_id=first.request_id)
    return tuple(findings)


async def check(preset: ModelPreset, mode: str) -> Finding:
    """Try one mode, named as in `MODES`.

    Raises:
        PresetInvalid: The adapter cannot work with the preset.
    """
    if mode in {"plain", "stream"}:
        preset = replace(preset, config=replace(preset.config, stream=mode == "stream"))
    visit = Visit(connect(preset), preset.config.max_tokens)
    problem, error, began = "", None, time.monotonic()
    try:
        problem = await MODES[mode](visit)
    except ProviderError as met:
        problem, error = met.sentence, met
    finally:
        await visit.provider.aclose()
    return Finding(
        mode,
        problem,
        error=type(error).__name__ if error else "",
        retryable=bool(error and error.retryable),
        after=error.after if error else None,
        seconds=time.monotonic() - began,
        tokens=sum(reply.usage.total for reply in visit.replies),
        estimated=any(reply.usage.estimated for reply in visit.replies),
        request_id=error.request_id if error else visit.replies[-1].request_id,
    )


def missing_text(reply: Reply) -> str:
    """What is wrong with an answer that should be a text."""
    if reply.message.content.strip():
        return ""
    if reply.finish is Finish.LENGTH:
        return "The output cap was spent before the model came to its answer: raise ModelConfig.max_tokens."
    return f"The answer holds no text (finish: {reply.finish})."


def missing_call(reply: Reply) -> str:
    """What is wrong with an answer that should call the tool."""
    if reply.finish is Finish.LENGTH:
        return "The output cap was spent before the call was whole: raise ModelConfig.max_tokens."
    if ADD.name in {call.name for call in reply.message.calls}:
        return ""
    return "The model did not call the tool that it was asked to call."
