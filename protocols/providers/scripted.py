"""A model that answers by itself, in this process, from a script in its preset: for tests, demos and dry runs.

agent = create_agent(preset=scripted(call("word_count", path="a.txt"), say("It has 12 words.")))
"""

import asyncio
from dataclasses import dataclass, replace
from typing import cast

from ..errors import PresetInvalid
from ..messages import Finish, Message, Reply, Role, Turn, Usage
from ..presets import ModelPreset
from .base import Delta, Draft, Provider, ToolSchema, Watcher
from .openai_chat import OpenAIChat
from .script import Fail, Move, Say, Script, call, calls, fail, repeat, say

__all__ = ("Scripted", "ScriptedProvider", "call", "calls", "fail", "repeat", "say", "scripted")

BYTES_PER_TOKEN = 4


def scripted(*moves: Move, model: str = "scripted") -> ModelPreset:
    """A preset whose model makes these moves; see `script` for what a move is.

    Raises:
        PresetInvalid: One is none; its number is named.
    """
    for given in cast("tuple[object, ...]", moves):
        if not isinstance(given, dict):
            reason = f"scripted takes moves, as in scripted(call('add', a=1), say('It is 1.')), not {given!r:.100}."
            raise PresetInvalid(field="extra_body.script", reason=reason)
    Script.read(list(moves))
    return ModelPreset(model=model, protocol="scripted", extra_body={"script": list(moves)})


@dataclass(frozen=True)
class Scripted(OpenAIChat):
    """The protocol `scripted`: requests are written as for chat completions, answers come from the script."""

    @staticmethod
    def get_adapter_protocol() -> tuple[str, ...]:
        """The one name of the protocol."""
        return ("scripted",)

    @classmethod
    def direct(cls, preset: ModelPreset) -> Provider:
        """A provider that begins the script.

        Raises:
            PresetInvalid: A move is none; its number is named.
        """
        return ScriptedProvider(preset)


class ScriptedProvider:
    """Makes the moves of one script, in order.

    Attributes:
        requests: What was asked so far, oldest first, refused requests included.
    """

    def __init__(self, preset: ModelPreset) -> None:
        """Read the script.

        Raises:
            PresetInvalid: A move is none; its number is named.
        """
        body = dict(preset.extra_body)
        self._script = Script.read(body.pop("script", []))
        self._writer = OpenAIChat(replace(preset, extra_body=body))
        self.requests: list[Draft] = []

    def draft(self, turns: tuple[Turn, ...], tools: tuple[ToolSchema, ...], before: Draft | None) -> Draft:
        """Write the request, so that it has a size; nothing is added to it unseen."""
        return replace(self._writer.draft(turns, tools, before), hidden_prompt=0)

    async def call(self, draft: Draft, output: int, watch: Watcher | None = None) -> Reply:
        """Make the next move.

        A reply that is longer than `output` is cut as a provider would cut it, unless the move names its own usage.

        Raises:
            ProviderError: The move says so.
        """
        number = len(self.requests)
        self.requests.append(draft)
        await asyncio.sleep(0)  # a real call lets others run
        move = self._script.move(number)
        if isinstance(move, Fail):
            raise move.error()
        reply = answer(move, number, asked=len(draft.body(output)), output=output)
        if watch:
            show(reply.message, watch)
        return reply

    async def aclose(self) -> None:
        """There is nothing to close."""


def answer(move: Say, number: int, *, asked: int, output: int) -> Reply:
    """The reply to request `number`, which has `asked` bytes."""
    usage = move.usage
    finish = move.finish or (Finish.CALLS if move.calls else Finish.STOP)
    if usage is None:
        completion = tokens(size(move))
        if completion > output:
            move, finish, completion = cut(move, output), Finish.LENGTH, output
        usage = Usage(tokens(asked), completion)
    numbered = tuple(replace(each, id=f"call_{number}_{place}") for place, each in enumerate(move.calls))
    message = Message(Role.ASSISTANT, move.text, calls=numbered, reasoning_content=move.reasoning)
    return Reply(message, usage, finish, f"scripted-{number}")


def tokens(size_bytes: int) -> int:
    """Tokens of so many bytes."""
    return size_bytes // BYTES_PER_TOKEN + 1


def size(move: Say) -> int:
    """Bytes of all that a move says."""
    said = [move.text, move.reasoning or "", *(part for each in move.calls for part in (each.name, each.arguments))]
    return sum(len(part.encode()) for part in said)


def cut(move: Say, output: int) -> Say:
    """What of a move fits into `output` tokens: reasoning, then text; calls come last, so they are lost."""
    room = (output - 1) * BYTES_PER_TOKEN
    reasoning = None if move.reasoning is None else clip(move.reasoning, room)
    return Say(clip(move.text, room - len((reasoning or "").encode())), reasoning=reasoning)


def clip(told: str, size_bytes: int) -> str:
    """The beginning of a text, at most so many bytes."""
    return told.encode()[: max(size_bytes, 0)].decode("utf-8", "ignore")


def show(message: Message, watch: Watcher) -> None:
    """Let a watcher see what is said."""
    if message.reasoning_content:
        watch(Delta(message.reasoning_content, reasoning=True))
    if message.content:
        watch(Delta(message.content))
